#pragma once

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "opyard/dispatch/resolve.h"
#include "opyard/dispatch/schema.h"
#include "opyard/dispatch/signature.h"

namespace opyard {

class Dispatcher;

// One operator of one dispatcher. Never freed before its dispatcher, so that handles need no check;
// when its last definition and kernel go, its table raises and the entry waits for the same schema
// to come back.
class OperatorEntry {
 public:
  OperatorEntry(Dispatcher& dispatcher, std::string name, uint32_t index)
      : dispatcher_(dispatcher), name_(std::move(name)), index_(index) {}
  ~OperatorEntry();
  OperatorEntry(const OperatorEntry&) = delete;
  OperatorEntry& operator=(const OperatorEntry&) = delete;

  Dispatcher& dispatcher() const noexcept { return dispatcher_; }
  const std::string& name() const noexcept { return name_; }
  uint32_t index() const noexcept { return index_; }
  // Null until the operator is defined for the first time; then never again. Any thread.
  const FunctionSchema* schema() const noexcept { return schema_.load(std::memory_order_acquire); }
  // For PinnedRoot.
  const char* holder() const noexcept { return name_.c_str(); }
  uint64_t key_positions() const noexcept { return key_positions_.load(std::memory_order_acquire); }

 private:
  friend class Registry;

  Dispatcher& dispatcher_;
  const std::string name_;
  const uint32_t index_;
  std::atomic<const FunctionSchema*> schema_{nullptr};
  std::atomic<uint64_t> key_positions_{0};

  // Below: guarded by the registry's mutex.
  int definitions_ = 0;
  std::string definition_place_;
  Registrations registrations_;
  SignatureInfo signature_{};
  std::string signature_name_;  // owns signature_.mangled
  std::string signature_place_;
  bool bound_ = false;  // a static handle or a structured form relies on the signature
  struct Form {
    OperatorEntry* public_op;
    SignatureInfo signature;
    const void* wrapper;
  };
  std::vector<Form> forms_;             // an internal operator's public forms
  OperatorEntry* kernel_op_ = nullptr;  // a public form's internal operator
};

// A caller's reference to an operator: one pointer, valid as long as the dispatcher.
class OperatorHandle {
 public:
  explicit OperatorHandle(const OperatorEntry* entry) noexcept : entry_(entry) {}
  const OperatorEntry& entry() const noexcept { return *entry_; }
  const std::string& name() const noexcept { return entry_->name(); }
  // Raises FAILED_PRECONDITION when there are kernels but no definition.
  const FunctionSchema& schema() const;
  friend bool operator==(OperatorHandle, OperatorHandle) noexcept = default;

 private:
  const OperatorEntry* entry_;
};

}  // namespace opyard
