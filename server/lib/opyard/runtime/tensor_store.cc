#include "opyard/runtime/tensor_store.h"

#include <utility>

#include "opyard/base/check.h"

namespace opyard::runtime {
namespace {

std::string cause_text(const Cause& cause) {
  std::string text = str_cat("first cause: ", cause.op.empty() ? "upload" : cause.op);
  if (cause.seq != 0) text += str_cat(" (seq ", cause.seq, ", stream ", cause.stream, ")");
  if (!cause.site.empty()) text += str_cat(" at ", cause.site);
  return str_cat(text, ": ", code_name(cause.code), ": ", cause.message);
}

}  // namespace

void TensorStore::check_room(uint64_t count) const {
  OPYARD_CHECK(count <= max_handles_ && slots_.size() <= max_handles_ - count, kResourceExhausted,
               "the session holds ", slots_.size(), " of ", max_handles_,
               " values and has no room for ", count, " more; release some first");
}

void TensorStore::set(Id id, Slot slot) {
  if (const auto found = slots_.find(id); found != slots_.end()) {
    found->second = std::move(slot);
    return;
  }
  charge_.add(kHandleBytes);
  slots_.emplace(id, std::move(slot));
}

void TensorStore::bind(Id id, IValue value) { set(id, {std::move(value), nullptr}); }

void TensorStore::poison(Id id, std::shared_ptr<const Cause> cause) {
  if (slots_.size() >= max_handles_ && !slots_.contains(id)) return;
  try {
    set(id, {IValue(), std::move(cause)});
  } catch (const Error&) {
    // The quota is full, too.
  }
}

const IValue& TensorStore::at(Id id) const {
  const auto found = slots_.find(id);
  if (found == slots_.end()) {
    throw CallError(Code::kNotFound,
                    str_cat("no value with the id ", id,
                            " is alive in this session: it was released, never made, or belongs to "
                            "another session"),
                    "UNKNOWN_ID");
  }
  const Slot& slot = found->second;
  if (slot.cause) {
    throw CallError(
        Code::kFailedPrecondition,
        str_cat("the value with the id ", id, " was never made; ", cause_text(*slot.cause)),
        "POISONED")
        .with_cause(slot.cause);
  }
  return slot.value;
}

Tensor TensorStore::tensor_at(Id id) const {
  const IValue& value = at(id);
  OPYARD_CHECK(value.is(Tag::kTensor), kInvalidArgument, "the id ", id, " holds ", describe(value),
               ", not a tensor");
  return value.to_tensor();
}

bool TensorStore::release(Id id) {
  if (slots_.erase(id) == 0) return false;
  charge_.pay_back(kHandleBytes);
  return true;
}

void TensorStore::clear() {
  slots_.clear();
  charge_.pay_back(charge_.bytes());
}

}  // namespace opyard::runtime
