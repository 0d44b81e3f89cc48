#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "opyard/runtime/budget.h"
#include "opyard/runtime/ids.h"

namespace opyard::runtime {

// What the frames of one stream share: its number, which ids and sequence numbers are used, its
// table of operator names. Used by tasks of its session only.
class Stream {
 public:
  // The table of names is charged to `budget`.
  explicit Stream(uint32_t number, IntrusivePtr<SessionBudget> budget = nullptr)
      : number_(number), ids_(number, number == 0), names_charge_(std::move(budget)) {}

  uint32_t number() const { return number_; }
  IdGate& ids() { return ids_; }
  uint64_t last_seq() const { return last_seq_; }
  // Takes a sequence number. Those of a stream grow (ALREADY_EXISTS otherwise); unary calls are
  // independent of each other, and any number will do.
  void take_seq(uint64_t seq);

  // The full name that `name` and `index` stand for; an index with a name enters it.
  //   INVALID_ARGUMENT  no name and no index, too long a name, an index that skips a free place
  //   NOT_FOUND         an index without a name   ALREADY_EXISTS  an index that has another name
  //   RESOURCE_EXHAUSTED  the table or the session's quota is full
  std::string_view resolve_name(std::string_view name, uint32_t index);
  // For a unary call: the table lives as long as the frame.
  void forget_names();

 private:
  const uint32_t number_;
  IdGate ids_;
  uint64_t last_seq_ = 0;
  std::deque<std::string> names_;  // entries keep their place in memory
  Charge names_charge_;
};

}  // namespace opyard::runtime
