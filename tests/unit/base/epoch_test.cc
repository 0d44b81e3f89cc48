#include "opyard/base/epoch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "opyard/base/error.h"

namespace opyard {
namespace {

std::atomic<int> freed{0};
void count_free(void*) { ++freed; }

thread_local EpochSlot* my_slot = nullptr;
EpochSlot& slot() {
  if (!my_slot) epoch::acquire_slot(&my_slot);
  return *my_slot;
}

TEST(Epoch, FreesOnlyAfterThePinThatCameBefore) {
  freed = 0;
  std::atomic<int> stage{0};
  std::thread reader([&] {
    epoch::pin(slot(), epoch_domain.attention);
    stage = 1;
    while (stage != 2) std::this_thread::yield();
    epoch::unpin(slot());
  });
  while (stage != 1) std::this_thread::yield();
  epoch::retire(nullptr, &count_free);
  for (int i = 0; i < 50; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_EQ(freed, 0);
  }
  ASSERT_FALSE(epoch::pinned_threads().empty());
  stage = 2;
  reader.join();
  epoch::synchronize();
  EXPECT_EQ(freed, 1);
  EXPECT_EQ(epoch::pending(), 0u);
}

TEST(Epoch, SynchronizeOnAPinnedThreadIsRefused) {
  epoch::pin(slot(), epoch_domain.attention);
  EXPECT_THROW(epoch::synchronize(), Error);
  epoch::unpin(slot());
  epoch::synchronize();
}

TEST(Epoch, AThreadThatEndsGivesItsSlotBack) {
  EpochSlot* first = nullptr;
  std::thread([&] { first = &slot(); }).join();
  EXPECT_EQ(first->thread_id.load(), 0);
  EpochSlot* second = nullptr;
  std::thread([&] { second = &slot(); }).join();
  EXPECT_EQ(first, second);
}

// Readers check that what they found through the pointer is alive while they are pinned.
TEST(Epoch, ReadersNeverSeeFreedObjects) {
  struct Node {
    std::atomic<int> alive{1};
  };
  std::atomic<Node*> shared{new Node};
  std::atomic<bool> stop{false};
  std::atomic<int> dead_reads{0};
  const auto read = [&] {
    while (!stop) {
      epoch::pin(slot(), epoch_domain.attention);
      if (shared.load(std::memory_order_acquire)->alive.load() != 1) ++dead_reads;
      epoch::unpin(slot());
    }
  };
  std::thread one(read);
  std::thread two(read);
  for (int i = 0; i < 3000; ++i) {
    Node* old = shared.exchange(new Node, std::memory_order_acq_rel);
    epoch::retire(old, [](void* node) {
      static_cast<Node*>(node)->alive = 0;
      delete static_cast<Node*>(node);
    });
  }
  stop = true;
  one.join();
  two.join();
  epoch::synchronize();
  EXPECT_EQ(dead_reads, 0);
  delete shared.load();
}

}  // namespace
}  // namespace opyard
