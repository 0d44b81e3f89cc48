#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "client/local/dispatch_case.h"
#include "opyard/dispatch/dispatcher.h"

namespace opyard::client {

// Test kernels: each records its label and gives back its first tensor (or a new one), or sends the
// call on below itself. Equal labels are the same function. Not thread-safe; must outlive the
// dispatchers that it registers with.
class LabelKernels {
 public:
  // Adds the kernel to a block, for one operator or, with an empty name, as a fallback. With `form`
  // it is a typed kernel of that signature.
  void add(Library& block, const std::string& op, const CaseKernel& kernel,
           const struct TypedForm* form);
  // The labels recorded since the last take().
  std::vector<std::string> take_trail();

 private:
  struct Spec {
    LabelKernels* owner;
    std::string label;
    bool redispatch;
  };
  friend struct LabelCalls;
  const Spec& spec_for(const CaseKernel& kernel);

  std::deque<Spec> specs_;
  std::vector<std::string> trail_;
};

// How an operator of one of the supported signatures is called typed.
struct TypedForm {
  std::vector<std::string> arguments;  // "Tensor", "Tensor?", …
  void (*add)(Library& block, const std::string& op, bool redispatch);
  void (*call)(const Dispatcher& dispatcher, OperatorHandle op, const Stack& arguments);
  void (*redispatch)(const Dispatcher& dispatcher, OperatorHandle op, KeySet keys,
                     const Stack& arguments);
};

// The form of a schema; null when it is none of: up to four Tensor; Tensor?, Tensor[] or Tensor?[]
// alone or after one Tensor; each with one Tensor as the result.
const TypedForm* typed_form(const FunctionSchema& schema);

// While it lives, typed kernels on this thread record their labels with `kernels`.
class LabelScope {
 public:
  explicit LabelScope(LabelKernels& kernels);
  ~LabelScope();
  LabelScope(const LabelScope&) = delete;
  LabelScope& operator=(const LabelScope&) = delete;
};

}  // namespace opyard::client
