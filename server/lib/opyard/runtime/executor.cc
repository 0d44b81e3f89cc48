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
    const std::lock_guard lock(mutex_);
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
  int free = permits_.load(std::memory_order_relaxed);
  while (free > 0) {
    if (permits_.compare_exchange_weak(free, free - 1, std::memory_order_acquire)) return true;
  }
  return false;
}

void Executor::give_permit_back() noexcept { permits_.fetch_add(1, std::memory_order_release); }

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
  if (here) {
    task();
    state->executor.give_permit_back();
    const std::lock_guard lock(state->mutex);
    if (state->waiting.empty()) {
      state->running = false;
      return;
    }
  }
  state->executor.post([state] { drain(state); });
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
  {
    const std::lock_guard lock(state->mutex);
    if (state->waiting.empty()) {
      state->running = false;
      return;
    }
  }
  state->executor.post([state] { drain(state); });
}

}  // namespace opyard::runtime
