#include "opyard/runtime/ids.h"

#include "opyard/base/check.h"

namespace opyard::runtime {

void IdGate::take(Id id) {
  OPYARD_CHECK(stream_of(id) == stream_, kInvalidArgument, "the result id ", id,
               " carries the stream number ", stream_of(id), " in its high 16 bits, but this is ",
               stream_ == 0 ? "no stream (number 0)" : str_cat("stream ", stream_));
  const uint64_t number = id - make_id(stream_, 0);
  OPYARD_CHECK(number != 0, kInvalidArgument, "the result id ", id,
               " has the number 0; numbers start at 1");
  if (number > highest_) {
    if (reorder_) {
      const uint64_t step = number - highest_;
      used_ = step < used_.size() ? used_ << step : std::bitset<kLimits.reorder_window>();
      used_.set(0);
    }
    highest_ = number;
    return;
  }
  const uint64_t below = highest_ - number;
  OPYARD_CHECK(reorder_ && below < used_.size() && !used_.test(below), kAlreadyExists,
               "the result id ", id, " is used up: the highest so far is ",
               make_id(stream_, highest_), ", choose a higher one");
  used_.set(below);
}

}  // namespace opyard::runtime
