#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/local/label_kernels.h"

namespace opyard::client {

// One dispatcher with what a case registers, piece by piece.
class CaseYard {
 public:
  // `typed`: kernels have the form of the operator's signature instead of the boxed one.
  CaseYard(const DispatchCase& written, bool typed);

  // What the steps of a registration are: the definition, then fallbacks, then kernels by their
  // index.
  static constexpr size_t kDefinition = ~size_t{0};
  void define();
  void add_fallbacks();
  void add(size_t kernel);
  void remove(size_t kernel) { registrations_[kernel].reset(); }

  // The stored table in one text: key, kernel and reason of every slot. Empty for an operator that
  // nobody knows.
  std::string stored_table() const;
  uint64_t table_hash() const;
  // The same, and what is registered: equal before and after a step that failed.
  std::string state() const;
  std::map<std::string, TableRow> rows() const;
  void check_invariants() const { dispatcher_.check_invariants(); }
  void run(const CaseCall& call);

  const Dispatcher& dispatcher() const noexcept { return dispatcher_; }
  bool can_call_typed() const noexcept { return form_ != nullptr; }

 private:
  Stack arguments_of(const CaseCall& call, const FunctionSchema& schema) const;
  void run_via(const CaseCall& call, OperatorHandle op, bool typed, const std::string& how);

  const DispatchCase& case_;
  std::string name_;  // full name of the operator
  std::string name_space_;
  const TypedForm* form_ = nullptr;
  const bool typed_;
  LabelKernels kernels_;
  Dispatcher dispatcher_;
  Registration definition_;
  std::vector<Registration> fallbacks_;
  std::vector<Registration> registrations_;
};

// Raises a CaseFailure for the first row that differs.
void compare_rows(const CaseYard& yard, const std::vector<CaseRow>& table,
                  const std::vector<CaseRow>& reasons);

}  // namespace opyard::client
