#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "opyard/dispatch/dispatcher.h"

// What the torture test's threads share: the operators, kernels that know what they are, and the
// books that must balance at the end.

namespace opyard::torture {

enum class Does { kAnswer, kThrow, kGoDown, kGoDownByHandle, kCallShadowed, kCallKept, kCallPair };

class World;

// What a boxed kernel carries in `self`. Retired after its registration has gone; the memory stays
// until the world ends, so that a stale call finds the poison instead of somebody else's memory.
struct Self {
  static constexpr uint64_t kAlive = 0x600dba5eba11;
  static constexpr uint64_t kDead = 0xdeadbeefdead;
  std::atomic<uint64_t> state{kAlive};
  std::atomic<uint64_t> removed_at{0};  // by the world's clock, once no new call may reach it
  World* world;
  int64_t generation;
  Does does;
  bool everywhere;  // a fallback, or at an alias key: serves other keys than `key`
  DispatchKey key;
};

// A registration with what its kernels carry.
struct Held {
  Registration registration;
  std::vector<Self*> selves;
};

// What the calls of this thread must be consistent with.
struct CallContext {
  uint64_t started_at = 0;  // by the world's clock; what was removed before must not answer
  int direct = 0;           // calls through kernel handles: no table leads to the kernel
  int depth = 0;
};
extern thread_local CallContext context;

constexpr int64_t kTypedAnswer = -1;
constexpr int64_t kTypedAliasAnswer = -2;

class World {
 public:
  explicit World(Dispatcher& dispatcher);
  ~World();

  Dispatcher& dispatcher;
  // Nested calls of the global dispatcher see the snapshot of their frame; others the newest.
  const bool is_global;
  std::atomic<uint64_t> clock{1};
  std::atomic<int64_t> changes{0}, refused_changes{0};
  std::atomic<int64_t> started{0}, answered{0}, raised{0}, threads{0}, synchronized{0}, watched{0};
  std::atomic<int64_t> retired{0}, freed{0}, generations{0};

  BoxedKernel boxed(Held& held, Does does, DispatchKey key, bool everywhere = false);
  void drop(Held& held);
  void wrong(const std::string& what);
  std::vector<std::string> complaints();
  // One generation of kernels for t::p and t::q, in one block.
  void replace_pair();
  int64_t call(OperatorHandle op);
  void check_answer(int64_t answer);
  void check_pair();

  void keep(KernelHandle handle);
  std::optional<KernelHandle> kept(uint64_t pick);

  Held permanent;  // defines:
  const OperatorHandle p, q, k, s;

 private:
  std::mutex mutex_;  // guards what follows
  Held pair_;
  std::vector<std::string> complaints_;
  std::vector<Self*> all_;
  std::vector<KernelHandle> kept_;
};

// One random call (torture_calls.cc) or change (torture_changes.cc). Every call is counted.
void call_something(World& world, std::mt19937_64& random, std::vector<OperatorHandle>& known);
void change_something(World& world, std::mt19937_64& random, std::vector<Held>& slots);
// Listeners and observers come and go; tables are explained, dumped and checked.
void watch_something(World& world, std::mt19937_64& random);

}  // namespace opyard::torture
