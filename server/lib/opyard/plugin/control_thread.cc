#include "opyard/plugin/control_thread.h"

#include <utility>

#include "opyard/base/check.h"

namespace opyard::plugin {

ControlThread::ControlThread(std::string_view name, std::function<void()> on_done)
    : on_done_(std::move(on_done)), thread_(name, [this] { loop(); }) {}

ControlThread::~ControlThread() {
  if (!ended()) thread_.join();
}

bool ControlThread::ended() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  return thread_.try_join();
}

void ControlThread::start(std::function<void()> step) {
  {
    const std::lock_guard lock(mutex_);
    OPYARD_CHECK(!busy_, kInternal, "a step of this plugin is under way already");
    step_ = std::move(step);
    busy_ = true;
    error_.reset();
  }
  changed_.notify_all();
}

bool ControlThread::run(std::function<void()> step, Clock::time_point deadline) {
  start(std::move(step));
  std::unique_lock lock(mutex_);
  if (!changed_.wait_until(lock, deadline, [this] { return !busy_; })) return false;
  if (error_) throw Error(*std::exchange(error_, std::nullopt));
  return true;
}

bool ControlThread::busy() const {
  const std::lock_guard lock(mutex_);
  return busy_;
}

std::optional<Error> ControlThread::take_error() {
  const std::lock_guard lock(mutex_);
  return std::exchange(error_, std::nullopt);
}

void ControlThread::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || step_; });
    if (!step_) return;
    std::function<void()> step = std::exchange(step_, nullptr);
    lock.unlock();
    std::optional<Error> error;
    try {
      step();
    } catch (...) {
      error = current_error();
    }
    step = nullptr;
    lock.lock();
    error_ = std::move(error);
    busy_ = false;
    lock.unlock();
    changed_.notify_all();
    on_done_();
    lock.lock();
  }
}

}  // namespace opyard::plugin
