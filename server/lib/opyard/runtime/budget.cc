#include "opyard/runtime/budget.h"

#include "opyard/base/check.h"

namespace opyard::runtime {

bool Ledger::try_charge(uint64_t bytes) noexcept {
  uint64_t used = used_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_ || used > limit_ - bytes) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return true;
}

void Ledger::pay_back(uint64_t bytes) noexcept {
  used_.fetch_sub(bytes, std::memory_order_relaxed);
}

void SessionBudget::charge(size_t bytes) {
  OPYARD_CHECK(own_.try_charge(bytes), kResourceExhausted, "the session's quota of ", own_.limit(),
               " bytes has no room for ", bytes, " more (", own_.used(),
               " are in use); release tensors first");
  if (yard_->try_charge(bytes)) return;
  own_.pay_back(bytes);
  raise(Code::kResourceExhausted, str_cat("the daemon's ceiling of ", yard_->limit(),
                                          " bytes for all sessions has no room for ", bytes,
                                          " more; release tensors or try again later"));
}

void SessionBudget::pay_back(size_t bytes) noexcept {
  own_.pay_back(bytes);
  yard_->pay_back(bytes);
}

void Charge::add(size_t bytes) {
  if (budget_) budget_->charge(bytes);
  bytes_ += bytes;
}

void Charge::pay_back(size_t bytes) noexcept {
  if (budget_) budget_->pay_back(bytes);
  bytes_ -= bytes;
}

}  // namespace opyard::runtime
