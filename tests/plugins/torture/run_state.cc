#include "tests/plugins/torture/run_state.h"

#include <cstdio>

namespace opyard::torture {

void Failures::add(const std::string& text) {
  if (count_.fetch_add(1) >= 20) return;
  const std::lock_guard lock(mutex_);
  std::printf("FAILED seed=%llu steps=%llu/%llu/%llu: %s\n", static_cast<unsigned long long>(seed_),
              static_cast<unsigned long long>(steps[0].load()),
              static_cast<unsigned long long>(steps[1].load()),
              static_cast<unsigned long long>(steps[2].load()), text.c_str());
  std::fflush(stdout);
}

void Gate::pass() {
  if (!is_closed()) return;
  std::unique_lock lock(mutex_);
  ++waiting_;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !is_closed(); });
  --waiting_;
}

void Gate::leave() {
  const std::lock_guard lock(mutex_);
  ++waiting_;
  changed_.notify_all();
}

void Gate::close(size_t threads) {
  std::unique_lock lock(mutex_);
  closed_ = true;
  changed_.wait(lock, [&] { return waiting_ == threads; });
}

void Gate::open() {
  const std::lock_guard lock(mutex_);
  closed_ = false;
  changed_.notify_all();
}

}  // namespace opyard::torture
