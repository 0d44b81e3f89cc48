#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "opyard/core/allocator.h"

namespace opyard::runtime {

// Bytes that all sessions of one yard hold together. Any thread.
class Ledger {
 public:
  explicit Ledger(uint64_t limit) : limit_(limit) {}

  bool try_charge(uint64_t bytes) noexcept;
  void pay_back(uint64_t bytes) noexcept;
  uint64_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  uint64_t limit() const noexcept { return limit_; }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> used_{0};
};

// One session's share: charged before storage is made, paid back when it is freed, which may be
// after the session is gone. Refuses with RESOURCE_EXHAUSTED, naming the quota that is full. Any
// thread.
class SessionBudget final : public AllocationBudget {
 public:
  SessionBudget(std::shared_ptr<Ledger> yard, uint64_t limit)
      : yard_(std::move(yard)), own_(limit) {}

  void charge(size_t bytes) override;
  void pay_back(size_t bytes) noexcept override;
  uint64_t used() const noexcept { return own_.used(); }
  uint64_t limit() const noexcept { return own_.limit(); }

 private:
  const std::shared_ptr<Ledger> yard_;
  Ledger own_;
};

// What one owner has charged for things other than storage, paid back when it goes. Used by one
// thread at a time.
class Charge {
 public:
  // Without a budget nothing is charged.
  explicit Charge(IntrusivePtr<SessionBudget> budget) : budget_(std::move(budget)) {}
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;
  ~Charge() { pay_back(bytes_); }

  // RESOURCE_EXHAUSTED by quota.
  void add(size_t bytes);
  void pay_back(size_t bytes) noexcept;
  size_t bytes() const noexcept { return bytes_; }

 private:
  const IntrusivePtr<SessionBudget> budget_;
  size_t bytes_ = 0;
};

}  // namespace opyard::runtime
