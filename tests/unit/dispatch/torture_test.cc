// Calls of the same operators race with their registration, overriding, removal and redefinition,
// with threads that are born and die, and with synchronize(). Two seconds by default, shared by all
// seeds; OPYARD_TORTURE_SECONDS sets another length, OPYARD_TORTURE_SEED one seed of one's own.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "torture_world.h"

namespace opyard::torture {
namespace {

using Clock = std::chrono::steady_clock;

double seconds() {
  const char* wish = std::getenv("OPYARD_TORTURE_SECONDS");
  return wish ? std::atof(wish) : 2;
}

std::vector<uint64_t> seeds() {
  if (const char* wish = std::getenv("OPYARD_TORTURE_SEED")) {
    return {std::strtoull(wish, nullptr, 0)};
  }
  return {1, 20240229, 0xfeedface};
}

// The threads of one run; each has its own stream of random numbers.
class Threads {
 public:
  Threads(World& world, uint64_t seed) : world_(world), seed_(seed) {}
  ~Threads() { stop(); }

  template <typename Step>
  void add(Step step) {
    const uint64_t seed = seed_ + 1000 * (threads_.size() + 1);
    threads_.emplace_back([this, step = std::move(step), seed]() mutable {
      std::mt19937_64 random(seed);
      while (!stop_.load(std::memory_order_relaxed)) step(random);
    });
  }
  void stop() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  void add_all() {
    for (int i = 0; i < 2; ++i) {
      add([this, known = std::vector<OperatorHandle>()](std::mt19937_64& random) mutable {
        call_something(world_, random, known);
      });
    }
    add([this](std::mt19937_64& random) { be_born_and_die(random()); });
    add([this](std::mt19937_64& random) {
      watch_something(world_, random);
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    });
    add([this](std::mt19937_64&) { synchronize(); });
    add([this, slots = std::vector<Held>(2)](std::mt19937_64& random) mutable {
      change_something(world_, random, slots);
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      if (stop_) {
        for (Held& slot : slots) world_.drop(slot);
      }
    });
  }

 private:
  void be_born_and_die(uint64_t seed) {
    ++world_.threads;
    std::thread([this, seed] {
      std::mt19937_64 random(seed);
      std::vector<OperatorHandle> known;
      for (int i = 0; i < 5; ++i) call_something(world_, random, known);
    }).join();
  }
  // Everything retired before it has been freed when synchronize() returns.
  void synchronize() {
    const int64_t retired = world_.retired;
    world_.dispatcher.synchronize();
    ++world_.synchronized;
    if (world_.freed < retired) world_.wrong("synchronize() returned too early");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  World& world_;
  const uint64_t seed_;
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

// Runs until the time is over and enough has happened to mean something.
void torture(Dispatcher& dispatcher, uint64_t seed, std::chrono::duration<double> length) {
  World world(dispatcher);
  Threads threads(world, seed);
  threads.add_all();
  std::mt19937_64 random(seed);
  std::vector<Held> slots(8);
  const auto end = Clock::now() + length;
  while (Clock::now() < end || world.changes < 500 || world.answered < 200 || world.raised < 20) {
    change_something(world, random, slots);
    if (Clock::now() > end + std::chrono::minutes(2)) break;
  }
  threads.stop();
  for (Held& slot : slots) world.drop(slot);
  world.dispatcher.check_invariants();
  world.dispatcher.synchronize();
  std::printf(
      "seed %llu, %s: %lld changes (%lld refused), %lld calls = %lld answered + %lld raised, %lld "
      "threads, %lld synchronize(), %lld events watched, %zu wrong\n",
      static_cast<unsigned long long>(seed), world.is_global ? "global" : "own",
      static_cast<long long>(world.changes), static_cast<long long>(world.refused_changes),
      static_cast<long long>(world.started), static_cast<long long>(world.answered),
      static_cast<long long>(world.raised), static_cast<long long>(world.threads),
      static_cast<long long>(world.synchronized), static_cast<long long>(world.watched),
      world.complaints().size());
  EXPECT_EQ(world.complaints(), std::vector<std::string>{});
  EXPECT_EQ(world.started, world.answered + world.raised);
  EXPECT_GE(world.answered, 200);
  EXPECT_GE(world.raised, 20);
  EXPECT_GE(world.changes, 500);
  EXPECT_EQ(world.retired, world.freed);
  EXPECT_FALSE(dispatcher.find_op("t::f"));
}

void expect_nothing_remains(const Dispatcher& dispatcher) {
  epoch::synchronize();
  EXPECT_EQ(dispatcher.list("t::"), std::vector<std::string>{});
  for (const char* name : {"t::f", "t::p", "t::k", "t::s"}) {
    EXPECT_FALSE(dispatcher.find_op(name)) << name;
    EXPECT_EQ(dispatcher.dump_state(name), "");
  }
  EXPECT_EQ(epoch::pending(), 0u);
  EXPECT_EQ(epoch::retired_bytes(), 0u);
}

TEST(Torture, CallsRaceWithEveryChange) {
  const std::chrono::duration<double> each(seconds() / (2.0 * static_cast<double>(seeds().size())));
  for (const uint64_t seed : seeds()) {
    {
      Dispatcher own;
      torture(own, seed, each);
      expect_nothing_remains(own);
    }
    torture(Dispatcher::global(), seed, each);
    expect_nothing_remains(Dispatcher::global());
    if (::testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace opyard::torture
