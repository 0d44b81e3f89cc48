// What may be freed: the queue step by step, the protocol in all interleavings of a small model of
// a machine with store buffers, and the order between readers and the reclaimer on the real one.

#include "opyard/base/reclaim.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <set>
#include <thread>
#include <vector>

namespace opyard::epoch {
namespace {

using Epochs = std::vector<uint64_t>;

struct NoLock {
  bool locked = true;
  void lock() { locked = true; }
  void unlock() { locked = false; }
};

void look(RetiredQueue& queue, uint64_t oldest_pin) {
  NoLock lock;
  queue.look(lock, [&] {
    EXPECT_FALSE(lock.locked);
    return oldest_pin;
  });
  EXPECT_TRUE(lock.locked);
}

Epochs take_all(RetiredQueue& queue) {
  Epochs epochs;
  for (Retired item{}; queue.take(&item); queue.done()) epochs.push_back(item.epoch);
  return epochs;
}

RetiredQueue queue_of(std::initializer_list<uint64_t> epochs) {
  RetiredQueue queue;
  for (const uint64_t epoch : epochs) queue.push({nullptr, nullptr, 0, epoch});
  return queue;
}

TEST(RetiredQueue, APinHoldsBackWhatWasRetiredInLaterEpochs) {
  struct Row {
    uint64_t oldest_pin;
    Epochs freed;
  };
  for (const Row& row : {Row{0, {}}, Row{4, {}}, Row{5, {5}}, Row{6, {5}}, Row{7, {5, 7, 7}},
                         Row{8, {5, 7, 7}}, Row{9, {5, 7, 7, 9}}, Row{UINT64_MAX, {5, 7, 7, 9}}}) {
    RetiredQueue queue = queue_of({5, 7, 7, 9});
    look(queue, row.oldest_pin);
    EXPECT_EQ(take_all(queue), row.freed) << "oldest pin " << row.oldest_pin;
    EXPECT_EQ(queue.unfreed(), 4 - row.freed.size());
  }
}

// A look that meets no pin frees what was there before it: not what is retired while it goes on,
// nor afterwards, as a reader may have pinned in between.
TEST(RetiredQueue, ALookSaysNothingOfWhatIsRetiredAfterItBegan) {
  RetiredQueue queue = queue_of({2});
  NoLock lock;
  queue.look(lock, [&] {
    queue.push({nullptr, nullptr, 0, 3});
    return UINT64_MAX;
  });
  queue.push({nullptr, nullptr, 0, 4});
  EXPECT_EQ(take_all(queue), Epochs{2});
  EXPECT_EQ(take_all(queue), Epochs{});
  look(queue, UINT64_MAX);
  EXPECT_EQ(take_all(queue), (Epochs{3, 4}));
}

TEST(RetiredQueue, WithoutALookNothingIsFreed) {
  RetiredQueue queue = queue_of({2, 3});
  EXPECT_EQ(take_all(queue), Epochs{});
  look(queue, UINT64_MAX);
  EXPECT_EQ(take_all(queue), (Epochs{2, 3}));
  queue.push({nullptr, nullptr, 0, 4});
  EXPECT_EQ(take_all(queue), Epochs{});
}

TEST(RetiredQueue, AnObjectCountsUntilItsFreeFunctionHasReturned) {
  RetiredQueue queue = queue_of({2, 5});
  EXPECT_EQ(queue.oldest_unfreed(), 2u);
  look(queue, UINT64_MAX);
  Retired item{};
  ASSERT_TRUE(queue.take(&item));
  EXPECT_EQ(queue.oldest_unfreed(), 2u);
  EXPECT_EQ(queue.unfreed(), 2u);
  queue.done();
  EXPECT_EQ(queue.oldest_unfreed(), 5u);
  ASSERT_TRUE(queue.take(&item));
  queue.done();
  EXPECT_EQ(queue.oldest_unfreed(), UINT64_MAX);
}

// Ways to get it wrong, which the model has to find: otherwise it proves nothing.
enum class Mistake {
  kNone,
  kLooksBeforeTheLine,     // what is retired after the look is freed by it
  kReadersUnordered,       // no barrier: a pin may still be in its processor's store buffer
  kUnpinsBeforeUse,        // the reader lets go, then reads
  kStampsTheOldEpoch,      // a reader pinned in the epoch of the object may hold it
  kRetiresBeforeUnpublish  // new readers still find it
};

// One reader that pins twice, one writer that publishes twice, the reclaimer. Object 0 is published
// at first, then 1, then 2. The reader's stores to its slot pass through a store buffer.
struct Machine {
  Mistake mistake;
  uint64_t now = 1;
  int root = 0;
  uint64_t slot = 0;
  std::vector<uint64_t> buffer{};
  unsigned freed = 0;  // a bit per object
  bool violated = false;
  int reader = 0, writer = 0, reclaimer = 0;  // how far each has come
  uint64_t loaded = 0, oldest_pin = 0;
  int held = 0;
  RetiredQueue queue{};
  size_t line = 0;

  static constexpr int kReaderSteps = 2 * 5, kWriterSteps = 2 * 2, kReclaimerSteps = 3 * 4;

  auto key() const {
    return std::tuple(now, root, slot, buffer, freed, reader, writer, reclaimer, loaded, oldest_pin,
                      held, queue.unfreed(), line);
  }

  void use() { violated |= (freed >> held) & 1; }
  void step_reader() {
    const bool early = mistake == Mistake::kUnpinsBeforeUse;
    switch (reader++ % 5) {
      case 0:
        loaded = now;
        return;
      case 1:
        return buffer.push_back(loaded);
      case 2:
        held = root;
        return;
      case 3:
        return early ? buffer.push_back(0) : use();
      default:
        return early ? use() : buffer.push_back(0);
    }
  }
  void step_buffer() {
    slot = buffer.front();
    buffer.erase(buffer.begin());
  }
  void step_writer() {
    const int publication = writer / 2;
    const bool first = writer++ % 2 == 0;
    if (first != (mistake == Mistake::kRetiresBeforeUnpublish)) {
      root = publication + 1;
      return;
    }
    ++now;
    const uint64_t stamp = mistake == Mistake::kStampsTheOldEpoch ? now - 1 : now;
    queue.push({nullptr, nullptr, static_cast<size_t>(publication), stamp});
  }
  void step_reclaimer() {
    switch (reclaimer++ % 4) {
      case 0:
        line = queue.unfreed();
        return;
      case 1:
        while (mistake != Mistake::kReadersUnordered && !buffer.empty()) step_buffer();
        return;
      case 2:
        oldest_pin = slot == 0 ? UINT64_MAX : slot;
        return;
      default:
        free_all();
    }
  }
  // RetiredQueue draws its line itself, but its look is one step: here the line is the model's.
  void free_all() {
    if (mistake == Mistake::kLooksBeforeTheLine) line = queue.unfreed();
    look(queue, oldest_pin);
    for (Retired item{}; line > 0 && queue.take(&item); queue.done(), --line) {
      freed |= 1u << item.bytes;
    }
    line = 0;
  }
};

struct Outcome {
  bool violated = false;
  bool kept = false;  // something was never freed
  size_t states = 0;
};

Outcome explore(Mistake mistake) {
  Outcome outcome;
  std::set<decltype(std::declval<Machine>().key())> seen;
  std::vector<Machine> open = {Machine{mistake}};
  const auto go = [&](const Machine& from, void (Machine::*step)()) {
    Machine next = from;
    (next.*step)();
    outcome.violated |= next.violated;
    if (seen.insert(next.key()).second) open.push_back(std::move(next));
  };
  while (!open.empty()) {
    const Machine machine = std::move(open.back());
    open.pop_back();
    if (machine.reader < Machine::kReaderSteps) go(machine, &Machine::step_reader);
    if (!machine.buffer.empty()) go(machine, &Machine::step_buffer);
    if (machine.writer < Machine::kWriterSteps) go(machine, &Machine::step_writer);
    if (machine.reclaimer < Machine::kReclaimerSteps) go(machine, &Machine::step_reclaimer);
    if (machine.reader < Machine::kReaderSteps || machine.writer < Machine::kWriterSteps) continue;
    Machine last = machine;
    while (!last.buffer.empty()) last.step_buffer();
    while (last.reclaimer % 4 != 0) last.step_reclaimer();
    for (int i = 0; i < 4; ++i) last.step_reclaimer();
    outcome.kept |= last.freed != 3;
  }
  outcome.states = seen.size();
  return outcome;
}

TEST(Reclamation, NoInterleavingFreesWhatAReaderHolds) {
  const Outcome outcome = explore(Mistake::kNone);
  EXPECT_FALSE(outcome.violated);
  EXPECT_FALSE(outcome.kept);
  EXPECT_GT(outcome.states, 1000u);
}

TEST(Reclamation, TheModelFindsEveryMistake) {
  for (const Mistake mistake :
       {Mistake::kLooksBeforeTheLine, Mistake::kReadersUnordered, Mistake::kUnpinsBeforeUse,
        Mistake::kStampsTheOldEpoch, Mistake::kRetiresBeforeUnpublish}) {
    EXPECT_TRUE(explore(mistake).violated) << "mistake " << static_cast<int>(mistake);
  }
}

// The two sides on the real machine, without the reclaimer's thread in between. Cold stores keep
// the reader's pin in its store buffer: without a barrier in look_at_pins(), most rounds in which
// both threads run at the same time go wrong. On a busy machine there may be none.
struct Duel {
  std::atomic<int> shared{0};
  std::atomic<bool> over{false};
  alignas(64) std::atomic<int> started{0};
  alignas(64) std::atomic<int> read{0};
  alignas(64) std::atomic<int> looked{0};
  alignas(64) std::atomic<int> ended{0};
  int got = 0;
  int delay = 0;  // of the writer; chases the moment of the reader's read
  int raced = 0;  // rounds in which the reader got the old object
  int wrong = 0;  // … although it might be freed

  static void await(const std::atomic<int>& stage, int round) {
    for (int i = 0; stage.load(std::memory_order_acquire) < round; ++i) {
      if (i > 2000) std::this_thread::yield();
    }
  }

  void read_all_rounds() {
    std::vector<std::atomic<int>> cold(size_t{1} << 22);
    static thread_local EpochSlot* slot = nullptr;
    acquire_slot(&slot);
    uint32_t random = 1;
    for (int round = 1; !over; ++round) {
      await(started, round);
      for (int i = 0; i < 4; ++i) {
        random = random * 1664525 + 1013904223;
        cold[random >> 10].store(i, std::memory_order_relaxed);
      }
      pin(*slot, epoch_domain.attention.load(std::memory_order_relaxed));
      got = shared.load(std::memory_order_acquire);
      read.store(round, std::memory_order_release);
      await(looked, round);
      unpin(*slot);
      ended.store(round, std::memory_order_release);
    }
  }

  void write_one_round(int round) {
    started.store(round, std::memory_order_release);
    for (int i = 0; i < delay; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
    shared.exchange(round);
    const uint64_t epoch = epoch_domain.now.fetch_add(1) + 1;
    const bool may_free = look_at_pins() >= epoch;
    await(read, round);
    const bool has_old = got == round - 1;
    raced += has_old;
    wrong += has_old && may_free;
    delay = std::clamp(delay + (has_old ? -20 : 20), 0, 20000);
  }
  void end_round(int round, bool last) {
    over = last;
    looked.store(round, std::memory_order_release);
    await(ended, round);
  }
};

TEST(Reclamation, AReaderShowsItsPinOrSeesTheNewObject) {
  Duel duel;
  std::thread reader([&] { duel.read_all_rounds(); });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  for (int round = 1; !duel.over; ++round) {
    duel.write_one_round(round);
    duel.end_round(round, duel.raced == 300 || std::chrono::steady_clock::now() > end);
  }
  reader.join();
  std::printf("the reader got the old object in %d rounds\n", duel.raced);
  EXPECT_EQ(duel.wrong, 0);
}

}  // namespace
}  // namespace opyard::epoch
