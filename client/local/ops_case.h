#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/cpp/client.h"
#include "client/local/yaml_cases.h"

namespace opyard::client {

// Builds the operands of one case in the session and drops them at its end.
class CaseInputs {
 public:
  CaseInputs(Client& yard, std::string device, Report& report)
      : yard_(yard), device_(std::move(device)), report_(report) {}
  ~CaseInputs();
  CaseInputs(const CaseInputs&) = delete;
  CaseInputs& operator=(const CaseInputs&) = delete;

  // An argument as a case writes it. Tensors are uploaded and their views made.
  Value build(const YAML::Node& node);
  std::vector<Value> build_all(const YAML::Node& nodes);

 private:
  Value build_tensor(const YAML::Node& node);
  Value build_list(const YAML::Node& node);
  Id make_views(const YAML::Node& node, Id id);
  Id keep(Id id);

  Client& yard_;
  const std::string device_;
  Report& report_;
  std::vector<Value> built_;  // positional arguments so far, for same_as
  std::vector<Id> ids_;
};

// A tensor as a case writes it, without its views.
HostTensor read_tensor(const YAML::Node& node);
// A plain value; words stay texts.
Value read_scalar(const YAML::Node& node);

struct Tolerance {
  std::optional<double> rtol, atol;  // absent: the default of the dtype
};
// Ends the case where a result is not as `wanted` says; `what` names it.
void compare_tensor(const YAML::Node& wanted, const HostTensor& got, const TensorMeta& meta,
                    const Tolerance& tolerance, const std::string& what);
void compare_output(const YAML::Node& wanted, const Output& got, const Tolerance& tolerance,
                    const std::string& what);

}  // namespace opyard::client
