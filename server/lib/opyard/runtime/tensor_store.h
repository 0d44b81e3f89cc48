#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

#include "opyard/runtime/budget.h"
#include "opyard/runtime/frame.h"

namespace opyard::runtime {

// The values of one session by their ids; or, in a value's place, why there is none. Each id costs
// the budget kHandleBytes until it goes. Used by one thread at a time.
class TensorStore {
 public:
  explicit TensorStore(uint64_t max_handles, IntrusivePtr<SessionBudget> budget = nullptr)
      : max_handles_(max_handles), charge_(std::move(budget)) {}

  // RESOURCE_EXHAUSTED unless `count` more ids fit.
  void check_room(uint64_t count) const;

  // Binds an id that is new: IdGate has seen to that. RESOURCE_EXHAUSTED by the quota of bytes.
  void bind(Id id, IValue value);
  // Notes why there is no value; does nothing when the store is full, so that failing calls cannot
  // fill memory.
  void poison(Id id, std::shared_ptr<const Cause> cause);

  // CallError NOT_FOUND for an id that is not alive in this session, FAILED_PRECONDITION with the
  // first cause for a poisoned one. The reference holds until the next change.
  const IValue& at(Id id) const;
  // The same; INVALID_ARGUMENT when the value is not a tensor.
  Tensor tensor_at(Id id) const;

  // False when the id was not alive.
  bool release(Id id);
  uint64_t size() const { return slots_.size(); }
  // What the ids cost besides their storages.
  uint64_t charged_bytes() const { return charge_.bytes(); }
  void clear();

 private:
  struct Slot {
    IValue value;
    std::shared_ptr<const Cause> cause;  // not null: poisoned
  };
  void set(Id id, Slot slot);

  const uint64_t max_handles_;
  std::unordered_map<Id, Slot> slots_;
  Charge charge_;
};

}  // namespace opyard::runtime
