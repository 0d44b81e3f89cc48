#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/local/yaml_cases.h"
#include "opyard/core/dispatch_key_set.h"

namespace opyard::client {

// A kernel as a case writes it.
struct CaseKernel {
  std::string key;  // as written: the name decides
  std::string label;
  bool redispatch = false;
  bool is_fallthrough() const noexcept { return label == "fallthrough"; }
};

// The keys of one Tensor argument, or of a list of tensors; `absent` for None.
struct CaseTensor {
  bool absent = false;
  bool is_list = false;
  KeySet keys;
  std::vector<CaseTensor> list;
};

enum class Via : uint8_t { kBoth, kUnboxed, kBoxed, kRedispatch };

struct CaseCall {
  std::vector<CaseTensor> tensors;
  KeySet include, exclude, unexclude;
  Via via = Via::kBoth;
  KeySet keys;                                    // of a redispatch
  std::optional<std::vector<std::string>> trail;  // beside an error only when it is written
  WantedError error;
  std::string text;  // for messages
};

struct CaseRow {
  std::string key;
  std::string value;
};

// One dispatcher scenario. The fields are those of client/local/README.md.
struct DispatchCase {
  std::string op;  // schema, or name
  bool define = true;
  bool defaults = true;
  bool permute = true;
  std::vector<CaseKernel> kernels;
  std::vector<CaseKernel> fallbacks;
  std::vector<CaseRow> table, reason, table_after;
  std::vector<CaseCall> calls, calls_after;
  std::vector<size_t> remove;
  WantedError error;  // of the registration
};

// Ends the case for what cannot be understood; keys that are not known are noted.
DispatchCase read_dispatch_case(const YAML::Node& node, Report& report);

}  // namespace opyard::client
