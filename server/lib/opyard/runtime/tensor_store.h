#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "opyard/runtime/frame.h"

namespace opyard::runtime {

// The values of one session by their ids; or, in a value's place, why there is none. Used by one
// thread at a time.
class TensorStore {
 public:
  explicit TensorStore(uint64_t max_handles) : max_handles_(max_handles) {}

  // RESOURCE_EXHAUSTED unless `count` more ids fit.
  void check_room(uint64_t count) const;

  // Binds an id that is new: IdGate has seen to that.
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
  void clear() { slots_.clear(); }

 private:
  struct Slot {
    IValue value;
    std::shared_ptr<const Cause> cause;  // not null: poisoned
  };
  const uint64_t max_handles_;
  std::unordered_map<Id, Slot> slots_;
};

}  // namespace opyard::runtime
