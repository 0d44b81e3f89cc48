#include "opyard/runtime/stream.h"

#include <algorithm>

#include "opyard/base/check.h"
#include "opyard/runtime/limits.h"

namespace opyard::runtime {

void Stream::take_seq(uint64_t seq) {
  if (number_ == 0) {
    last_seq_ = std::max(last_seq_, seq);
    return;
  }
  OPYARD_CHECK(seq > last_seq_, kAlreadyExists, "the sequence number ", seq,
               " does not grow: the last one on this stream was ", last_seq_);
  last_seq_ = seq;
}

std::string_view Stream::resolve_name(std::string_view name, uint32_t index) {
  OPYARD_CHECK(name.size() <= kLimits.op_name_bytes, kInvalidArgument,
               "an operator's name has at most ", kLimits.op_name_bytes, " bytes, got ",
               name.size());
  if (index == 0) {
    OPYARD_CHECK(!name.empty(), kInvalidArgument,
                 "the call names no operator: give its full name or its place in the table");
    return name;
  }
  if (name.empty()) {
    OPYARD_CHECK(index <= names_.size(), kNotFound, "the place ", index,
                 " of this stream's table of operator names is empty; it has ", names_.size(),
                 " names, send the name along once");
    return names_[index - 1];
  }
  if (index <= names_.size()) {
    OPYARD_CHECK(names_[index - 1] == name, kAlreadyExists, "the place ", index,
                 " of this stream's table holds '", names_[index - 1], "', not '", name, "'");
    return names_[index - 1];
  }
  OPYARD_CHECK(index <= kLimits.interned_ops, kResourceExhausted, "the place ", index,
               " is beyond the ", kLimits.interned_ops, " that a stream's table of names has");
  OPYARD_CHECK(index == names_.size() + 1, kInvalidArgument, "the place ", index,
               " skips some: the next free one of this stream's table is ", names_.size() + 1);
  names_charge_.add(kNameBytes + name.size());
  return names_.emplace_back(name);
}

void Stream::forget_names() {
  names_.clear();
  names_charge_.pay_back(names_charge_.bytes());
}

}  // namespace opyard::runtime
