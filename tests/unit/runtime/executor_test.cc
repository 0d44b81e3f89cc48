#include "opyard/runtime/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <set>

#include "opyard/base/error.h"

namespace opyard::runtime {
namespace {

TEST(SerialQueueTest, RunsAtOnceOnTheCallersThread) {
  Executor executor(1);
  SerialQueue queue(executor, 4);
  std::thread::id where;
  queue.run([&] { where = std::this_thread::get_id(); });
  EXPECT_EQ(where, std::this_thread::get_id());
  EXPECT_FALSE(queue.busy());
}

TEST(SerialQueueTest, OneAtATimeAndInOrder) {
  Executor executor(4);
  SerialQueue queue(executor, 1000);
  std::vector<int> order;
  int running = 0;
  int most = 0;
  std::promise<void> last;
  std::promise<void> gate;
  std::thread first([&] { queue.run([&] { gate.get_future().wait(); }); });
  while (!queue.busy()) std::this_thread::yield();
  for (int i = 0; i < 200; ++i) {
    queue.run([&, i] {
      most = std::max(most, ++running);
      order.push_back(i);
      --running;
      if (i == 199) last.set_value();
    });
  }
  gate.set_value();
  last.get_future().wait();
  first.join();
  EXPECT_EQ(most, 1);
  ASSERT_EQ(order.size(), 200u);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(SerialQueueTest, ALongTaskLeavesOtherCallersFree) {
  Executor executor(2);
  SerialQueue slow(executor, 4);
  SerialQueue quick(executor, 4);
  std::promise<void> gate;
  std::thread holder([&] { slow.run([&] { gate.get_future().wait(); }); });
  while (!slow.busy()) std::this_thread::yield();
  // The one permit is taken, so this task goes to the executor and the caller returns at once.
  std::promise<std::thread::id> where;
  quick.run([&] { where.set_value(std::this_thread::get_id()); });
  EXPECT_NE(where.get_future().get(), std::this_thread::get_id());
  gate.set_value();
  holder.join();
}

TEST(SerialQueueTest, WaitingTasksAreBounded) {
  Executor executor(1);
  SerialQueue queue(executor, 2);
  std::promise<void> gate;
  int ran = 0;
  std::thread holder([&] { queue.run([&] { gate.get_future().wait(); }); });
  while (!queue.busy()) std::this_thread::yield();
  queue.run([&] { ++ran; });
  queue.run([&] { ++ran; });
  EXPECT_THROW(queue.run([&] { ++ran; }), Error);
  std::promise<void> done;
  queue.run_last([&] { done.set_value(); });
  gate.set_value();
  done.get_future().wait();
  holder.join();
  EXPECT_EQ(ran, 2);
}

TEST(SerialQueueTest, ATaskMayDestroyItsQueue) {
  Executor executor(1);
  auto queue = std::make_unique<SerialQueue>(executor, 2);
  SerialQueue* raw = queue.get();
  raw->run([&] { queue.reset(); });
  EXPECT_EQ(queue, nullptr);
}

TEST(ExecutorTest, FinishesWhatIsQueued) {
  std::atomic<int> ran{0};
  {
    Executor executor(2);
    for (int i = 0; i < 100; ++i) executor.post([&] { ++ran; });
  }
  EXPECT_EQ(ran, 100);
}

TEST(ExecutorTest, WaitsForATaskOnACallersThreadAndForWhatIsQueuedBehindIt) {
  auto executor = std::make_unique<Executor>(1);
  SerialQueue queue(*executor, 4);
  std::promise<void> gate;
  std::atomic<int> ran{0};
  std::thread holder([&] {
    queue.run([&] {
      gate.get_future().wait();
      ++ran;
    });
  });
  while (!queue.busy()) std::this_thread::yield();
  queue.run([&] { ++ran; });
  queue.run([&] { ++ran; });
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    gate.set_value();
  });
  executor.reset();
  EXPECT_EQ(ran, 3);
  holder.join();
  opener.join();
}

}  // namespace
}  // namespace opyard::runtime
