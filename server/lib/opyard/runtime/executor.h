#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace opyard::runtime {

using Task = std::function<void()>;

// The threads that carry out frames.
//
// A caller's thread (one that serves the network) may carry out a task itself, which saves two
// thread switches, but only `inline_permits` of them at a time: the others stay free to serve the
// network while a long task runs.
class Executor {
 public:
  explicit Executor(int threads, int inline_permits = 1);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  // Waits for the tasks on callers' threads, carries out what is queued, then joins. Not from a
  // task.
  ~Executor();

  // Queues a task; it must not throw. Any thread.
  void post(Task task);

  // The executor lives at least until the permit is given back, so that comes last.
  bool try_take_permit() noexcept;
  void give_permit_back() noexcept;

 private:
  void loop();

  std::mutex mutex_;
  std::condition_variable ready_;
  std::condition_variable permit_back_;
  std::deque<Task> tasks_;  // guarded by mutex_
  bool stopping_ = false;   // guarded by mutex_
  int permits_taken_ = 0;   // guarded by mutex_
  const int permits_;
  std::vector<std::thread> threads_;
};

// Tasks that run one at a time, in their order. It owns its state jointly with the tasks under way,
// so it may be destroyed while some are waiting; they still run.
class SerialQueue {
 public:
  // The executor must outlive the last task.
  SerialQueue(Executor& executor, size_t max_waiting);

  // Runs the task on this thread at once when nothing waits or runs and a permit is free, else
  // queues it. RESOURCE_EXHAUSTED when max_waiting tasks wait already. The task must not throw.
  void run(Task task);

  // The same without the limit: for the work that ends things.
  void run_last(Task task);

  // True while a task runs or waits.
  bool busy() const;

 private:
  struct State;
  static void start(std::shared_ptr<State> state, Task task, bool limited);
  static void drain(const std::shared_ptr<State>& state);
  static void go_on(const std::shared_ptr<State>& state);
  std::shared_ptr<State> state_;
};

}  // namespace opyard::runtime
