#include "opyard/base/epoch.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "opyard/base/error.h"

namespace opyard {
namespace {

using std::chrono::milliseconds;

std::atomic<int> freed{0};
void count_free(void*) { ++freed; }

thread_local EpochSlot* my_slot = nullptr;
EpochSlot& slot() {
  if (!my_slot) epoch::acquire_slot(&my_slot);
  return *my_slot;
}
void pin() { epoch::pin(slot(), epoch_domain.attention); }
void unpin() { epoch::unpin(slot()); }

// Stages that two threads pass in turn.
struct Stages {
  std::atomic<int> now{0};
  void reach(int stage) { now = stage; }
  void await(int stage) const {
    while (now < stage) std::this_thread::yield();
  }
};

// Patient enough for a sanitizer on a busy machine; the condition is what is tested, not the time.
bool comes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 20000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return false;
}

struct EpochTest : ::testing::Test {
  void SetUp() override {
    epoch::synchronize();
    freed = 0;
  }
};

TEST_F(EpochTest, FreesOnlyAfterThePinThatCameBefore) {
  Stages stages;
  std::thread reader([&] {
    pin();
    stages.reach(1);
    stages.await(2);
    unpin();
  });
  stages.await(1);
  epoch::retire(nullptr, &count_free);
  for (int i = 0; i < 50 && freed == 0; ++i) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(freed, 0);
  stages.reach(2);
  reader.join();
  epoch::synchronize();
  EXPECT_EQ(freed, 1);
  EXPECT_EQ(epoch::pending(), 0u);
}

TEST_F(EpochTest, APinTakenAfterwardsHoldsNothingBack) {
  pin();
  epoch::retire(nullptr, &count_free);
  unpin();
  pin();  // in the epoch of the retired object itself
  EXPECT_TRUE(comes_true([] { return freed == 1; }));
  unpin();
}

// A reader pins after the reclaimer has looked at the pins; what is unpublished under it then, in
// the same round, must wait for the next look. The free function makes the order certain.
TEST_F(EpochTest, WhatIsRetiredDuringARoundWaitsForALookOfItsOwn) {
  static Stages stages;
  static std::atomic<int> shared_alive{1};
  std::thread reader([&] {
    stages.await(1);  // the reclaimer is freeing something else: it has looked
    pin();
    stages.reach(2);
    stages.await(4);
    EXPECT_EQ(shared_alive, 1) << "freed under a reader";
    unpin();
  });
  epoch::retire(nullptr, [](void*) {
    stages.reach(1);
    stages.await(2);
    epoch::retire(nullptr, [](void*) { shared_alive = 0; });
    stages.reach(3);
  });
  stages.await(3);
  std::this_thread::sleep_for(milliseconds(30));  // the rest of that round
  stages.reach(4);
  reader.join();
  epoch::synchronize();
  EXPECT_EQ(shared_alive, 0);
}

TEST_F(EpochTest, SynchronizeIsRefusedWhereItWouldWaitForItself) {
  pin();
  EXPECT_THROW(epoch::synchronize(), Error);
  unpin();
  epoch::synchronize();
  epoch::retire(nullptr, [](void*) {
    try {
      epoch::synchronize();
    } catch (const Error& error) {
      freed += error.code() == Code::kFailedPrecondition;
    }
  });
  epoch::synchronize();
  EXPECT_EQ(freed, 1);
}

TEST_F(EpochTest, SynchronizeReturnsWhileOthersGoOnRetiring) {
  std::atomic<bool> stop{false};
  std::thread storm([&] {
    while (!stop) {
      if (epoch::pending() > 500) {
        std::this_thread::yield();
        continue;
      }
      epoch::retire(nullptr,
                    [](void*) { std::this_thread::sleep_for(std::chrono::microseconds(20)); });
    }
  });
  for (int i = 0; i < 10; ++i) {
    epoch::retire(nullptr, &count_free);
    epoch::synchronize();
    EXPECT_EQ(freed, i + 1);
  }
  stop = true;
  storm.join();
}

TEST_F(EpochTest, BytesAreCountedUntilTheyAreFreed) {
  const size_t before = epoch::retired_bytes();
  pin();
  epoch::retire(nullptr, &count_free, 1000);
  epoch::retire(nullptr, &count_free, 24);
  EXPECT_EQ(epoch::retired_bytes(), before + 1024);
  EXPECT_EQ(epoch::pending(), 2u);
  unpin();
  epoch::synchronize();
  EXPECT_EQ(epoch::retired_bytes(), before);
}

epoch::Blame blame_of(int64_t thread_id) {
  for (const epoch::Blame& blame : epoch::pinned_threads()) {
    if (blame.thread_id == thread_id) return blame;
  }
  return {0, nullptr, 0, 0};
}

TEST_F(EpochTest, TheReportTellsWhoHoldsThingsBackAndForHowLong) {
  const int64_t self = syscall(SYS_gettid);
  const char* const marker = "what it is in";
  slot().holder = marker;
  pin();
  EXPECT_EQ(blame_of(self).epochs_behind, 0u);
  epoch::retire(nullptr, &count_free);
  EXPECT_EQ(blame_of(self).epochs_behind, 1u);
  EXPECT_EQ(blame_of(self).holder, marker);
  EXPECT_TRUE(comes_true([&] { return blame_of(self).age_ns > 20000000; }));
  Stages stages;
  std::thread later([&] {
    pin();
    stages.reach(1);
    stages.await(2);
    unpin();
  });
  stages.await(1);
  const auto pinned = epoch::pinned_threads();
  EXPECT_EQ(pinned.size(), 2u);
  EXPECT_EQ(pinned.front().thread_id, self);
  EXPECT_EQ(pinned.back().epochs_behind, 0u);
  stages.reach(2);
  later.join();
  unpin();
  EXPECT_EQ(blame_of(self).thread_id, 0);
  slot().holder = nullptr;
}

// Two pins of one thread in one epoch: the second is not blamed for the time of the first.
TEST_F(EpochTest, TheAgeIsThatOfThisPin) {
  Stages stages;
  std::thread holds_back([&] {
    pin();
    stages.reach(1);
    stages.await(2);
    unpin();
  });
  stages.await(1);
  epoch::retire(nullptr, &count_free);  // the reclaimer goes on looking
  pin();
  std::this_thread::sleep_for(milliseconds(200));
  unpin();
  const auto start = std::chrono::steady_clock::now();
  pin();
  epoch::retire(nullptr, &count_free);
  std::this_thread::sleep_for(milliseconds(20));
  const epoch::Blame blame = blame_of(syscall(SYS_gettid));
  const auto age = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(blame.epochs_behind, 1u);
  EXPECT_LE(blame.age_ns, static_cast<uint64_t>(age.count()));
  unpin();
  stages.reach(2);
  holds_back.join();
}

TEST_F(EpochTest, AThreadThatEndsGivesItsSlotBack) {
  EpochSlot* first = nullptr;
  std::thread([&] { first = &slot(); }).join();
  EXPECT_EQ(first->thread_id.load(), 0);
  EpochSlot* second = nullptr;
  std::thread([&] { second = &slot(); }).join();
  EXPECT_EQ(first, second);
}

// Destructors of thread-specific data run in the order of their keys: this one comes after ours.
TEST_F(EpochTest, ACallFromALateThreadDestructorIsSafe) {
  slot();  // makes our key, so that it is the earlier one
  static EpochSlot* used = nullptr;
  static EpochSlot* cache = nullptr;
  pthread_key_t key{};
  ASSERT_EQ(0, pthread_key_create(&key, [](void*) {
              EXPECT_EQ(cache, nullptr) << "the slot was given back before";
              used = epoch::acquire_slot(&cache);
              epoch::pin(*used, epoch_domain.attention);
              epoch::unpin(*used);
            }));
  std::thread([&] {
    epoch::acquire_slot(&cache);
    pthread_setspecific(key, &key);
  }).join();
  ASSERT_NE(used, nullptr);
  EXPECT_EQ(used->thread_id.load(), 0) << "given back again";
  EXPECT_EQ(cache, nullptr);
  pthread_key_delete(key);
}

// Readers check that what they found through the pointer is alive while they are pinned; threads
// come and go meanwhile.
TEST_F(EpochTest, ReadersNeverSeeFreedObjects) {
  struct Node {
    std::atomic<int> alive{1};
  };
  std::atomic<Node*> shared{new Node};
  std::atomic<bool> stop{false};
  std::atomic<int> dead_reads{0};
  const auto read = [&] {
    pin();
    if (shared.load(std::memory_order_acquire)->alive.load() != 1) ++dead_reads;
    unpin();
  };
  std::thread steady([&] {
    while (!stop) read();
  });
  std::thread births([&] {
    while (!stop) std::thread(read).join();
  });
  for (int i = 0; i < 3000; ++i) {
    Node* old = shared.exchange(new Node, std::memory_order_acq_rel);
    epoch::retire(old, [](void* node) {
      static_cast<Node*>(node)->alive = 0;
      delete static_cast<Node*>(node);
    });
  }
  stop = true;
  steady.join();
  births.join();
  epoch::synchronize();
  EXPECT_EQ(dead_reads, 0);
  delete shared.load();
}

}  // namespace
}  // namespace opyard
