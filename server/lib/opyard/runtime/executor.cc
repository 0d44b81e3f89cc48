#include "opyard/runtime/executor.h"

#include <utility>

#include "opyard/base/check.h"

namespace opyard::runtime {

Executor::Executor(int threads, int inline_permits) : permits_(inline_permits) {
  OPYARD_CHECK(threads >= 1, kInvalidArgument, "an executor needs a thread, got ", threads);
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { loop(); });
}

Executor::~Executor() {
  {
    std::unique_lock lock(mutex_);
    permit_back_.wait(lock, [this] { return permits_taken_ == 0; });
    stopping_ = true;
  }
  ready_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Executor::post(Task task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  ready_.notify_one();
}

bool Executor::try_take_permit() noexcept {
  const std::lock_guard lock(mutex_);
  if (stopping_ || permits_taken_ == permits_) return false;
  ++permits_taken_;
  return true;
}

// Notifies under the lock: the destructor may end as soon as it is free.
void Executor::give_permit_back() noexcept {
  const std::lock_guard lock(mutex_);
  --permits_taken_;
  permit_back_.notify_all();
}

void Executor::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    ready_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // what it holds is freed outside the lock
    lock.lock();
  }
}

struct SerialQueue::State {
  State(Executor& e, size_t n) : executor(e), max_waiting(n) {}
  Executor& executor;
  const size_t max_waiting;
  std::mutex mutex;
  std::deque<Task> waiting;  // guarded by mutex
  bool running = false;      // guarded by mutex
};

SerialQueue::SerialQueue(Executor& executor, size_t max_waiting)
    : state_(std::make_shared<State>(executor, max_waiting)) {}

void SerialQueue::run(Task task) { start(state_, std::move(task), true); }

void SerialQueue::run_last(Task task) { start(state_, std::move(task), false); }

// The executor is still there: its caller runs on one of its threads or holds a permit.
void SerialQueue::go_on(const std::shared_ptr<State>& state) {
  {
    const std::lock_guard lock(state->mutex);
    if (state->waiting.empty()) {
      state->running = false;
      return;
    }
  }
  state->executor.post([state] { drain(state); });
}

// The state is held by value here: the task may destroy the queue.
void SerialQueue::start(std::shared_ptr<State> state, Task task, bool limited) {
  bool here = false;
  {
    const std::lock_guard lock(state->mutex);
    if (state->running) {
      OPYARD_CHECK(!limited || state->waiting.size() < state->max_waiting, kResourceExhausted,
                   state->waiting.size(),
                   " frames of this session wait already; wait for answers before sending more");
      state->waiting.push_back(std::move(task));
      return;
    }
    state->running = true;
    here = state->executor.try_take_permit();
    if (!here) state->waiting.push_back(std::move(task));
  }
  if (!here) return state->executor.post([state] { drain(state); });
  task();
  task = nullptr;
  go_on(state);
  state->executor.give_permit_back();
}

bool SerialQueue::busy() const {
  const std::lock_guard lock(state_->mutex);
  return state_->running;
}

// One task, then back to the end of the executor's queue: sessions take turns.
void SerialQueue::drain(const std::shared_ptr<State>& state) {
  Task task;
  {
    const std::lock_guard lock(state->mutex);
    task = std::move(state->waiting.front());
    state->waiting.pop_front();
  }
  task();
  task = nullptr;
  go_on(state);
}

}  // namespace opyard::runtime
