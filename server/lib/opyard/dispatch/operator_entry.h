#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "opyard/dispatch/attributes.h"
#include "opyard/dispatch/name_index.h"
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
  OperatorEntry(const OperatorEntry&) = delete;
  OperatorEntry& operator=(const OperatorEntry&) = delete;

  Dispatcher& dispatcher() const noexcept { return dispatcher_; }
  const std::string& name() const noexcept { return name_; }
  uint32_t index() const noexcept { return index_; }
  // Null until the operator is defined for the first time; then never again. Any thread.
  const FunctionSchema* schema() const noexcept { return schema_.load(std::memory_order_acquire); }
  // For PinnedRoot.
  const char* holder() const noexcept { return name_.c_str(); }
  // Of the newest definition; null until the first. What it points to lives as long as the
  // dispatcher. Any thread.
  const Attributes* attributes() const noexcept {
    return attributes_.load(std::memory_order_acquire);
  }

 private:
  friend class Registry;

  // A registration that defines the operator.
  struct Owner {
    uint64_t id;
    std::string plugin;
    std::string place;
  };
  // What registration changes, and puts back as a whole.
  struct State {
    std::vector<Owner> owners;  // plugins that define the operator alike share it
    std::shared_ptr<const FunctionSchema> schema;
    const Attributes* attributes = nullptr;
    Registrations kernels;

    bool is_defined() const noexcept { return !owners.empty(); }
    bool is_gone() const noexcept { return owners.empty() && kernels.empty(); }
  };
  // All entries that a name ever meant, one for each schema, and the one that it means now.
  struct Name {
    OperatorEntry* current = nullptr;
    std::vector<OperatorEntry*> entries{};
    NameIndex::Item published{};  // as the root has it
  };
  struct Form {
    OperatorEntry* public_op;
    SignatureInfo signature;
    const void* wrapper;
    std::string schema;  // of the signature
  };

  Dispatcher& dispatcher_;
  const std::string name_;
  const uint32_t index_;
  std::atomic<const FunctionSchema*> schema_{nullptr};
  std::atomic<const Attributes*> attributes_{nullptr};

  // Below: guarded by the registry's mutex.
  State state_;
  Name* names_ = nullptr;
  uint64_t saved_by_ = 0;  // the number of the last change that saved the state
  // A list without memory of its own: what has changed since the last publication.
  OperatorEntry* next_dirty_ = nullptr;
  bool is_dirty_ = false;
  SignatureInfo bound_{};  // what a static handle or a structured form calls the operator with
  std::string bound_at_;
  std::vector<Form> forms_;             // an internal operator's public forms
  OperatorEntry* kernel_op_ = nullptr;  // a public form's internal operator
};

// A caller's reference to an operator: one pointer, valid as long as the dispatcher.
class OperatorHandle {
 public:
  explicit OperatorHandle(const OperatorEntry* entry) noexcept : entry_(entry) {}
  const OperatorEntry& entry() const noexcept { return *entry_; }
  const std::string& name() const noexcept { return entry_->name(); }
  // Both raise FAILED_PRECONDITION when there are kernels but no definition.
  const FunctionSchema& schema() const;
  const Attributes& attributes() const;
  friend bool operator==(OperatorHandle, OperatorHandle) noexcept = default;

 private:
  const OperatorEntry* entry_;
};

}  // namespace opyard
