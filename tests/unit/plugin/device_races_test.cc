// Threads that make, copy, resize and free tensors of a device while its generations change.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "opyard/dispatch/pin.h"
#include "opyard/plugin/backend_claims.h"
#include "opyard/plugin/device_runtime.h"

namespace opyard::plugin {
namespace {

// A device that any thread may use, and that tells when it is used after its end.
struct Instance {
  std::atomic<bool> ended{false};
  std::atomic<uint64_t> blocks{0};
};
std::atomic<uint64_t> used_after_end{0};

Instance& of(void* self) {
  auto& instance = *static_cast<Instance*>(self);
  if (instance.ended) ++used_after_end;
  return instance;
}
constexpr opyard_address kMark = opyard_address{1} << 54;
void* pointer(opyard_address address) { return reinterpret_cast<void*>(address & ~kMark); }

opyard_device_ext table() {
  opyard_device_ext made{};
  made.struct_size = sizeof(made);
  made.flags = OPYARD_DEVICE_SHARES_MEMORY;
  made.device_count = [](void*, uint32_t* count, opyard_status*) {
    *count = 1;
    return 0;
  };
  made.alloc = [](void* self, uint32_t, uint64_t bytes, opyard_stream, opyard_address* memory,
                  opyard_status*) {
    ++of(self).blocks;
    void* data = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    *memory = reinterpret_cast<opyard_address>(data) | kMark;
    return 0;
  };
  made.free = [](void* self, uint32_t, opyard_address memory, uint64_t, opyard_stream,
                 opyard_status*) {
    --of(self).blocks;
    std::free(pointer(memory));
    return 0;
  };
  made.copy_h2d = [](void* self, uint32_t, opyard_address to, const void* from, uint64_t bytes,
                     opyard_stream, opyard_status*) {
    of(self);
    std::memcpy(pointer(to), from, bytes);
    return 0;
  };
  made.copy_d2h = [](void* self, uint32_t, void* to, opyard_address from, uint64_t bytes,
                     opyard_stream, opyard_status*) {
    of(self);
    std::memcpy(to, pointer(from), bytes);
    return 0;
  };
  made.copy_d2d = [](void* self, uint32_t, opyard_address to, opyard_address from, uint64_t bytes,
                     opyard_stream, opyard_status*) {
    of(self);
    std::memcpy(pointer(to), pointer(from), bytes);
    return 0;
  };
  made.stream_synchronise = [](void* self, uint32_t, opyard_stream, opyard_status*) {
    of(self);
    return 0;
  };
  return made;
}

struct Generation {
  Generation(Backend backend, uint64_t number)
      : runtime(&extension, &instance, backend, leases, "racer", number) {}
  // As the host ends one: after the grace period, when no lease is left.
  void end() {
    runtime.withdraw();
    epoch::retire(new char, [](void* mark) { delete static_cast<char*>(mark); });
    epoch::synchronize();
    while (leases.total() > 0) std::this_thread::yield();
    instance.ended = true;
  }
  const opyard_device_ext extension = table();
  Instance instance;
  Leases leases;
  DeviceRuntime runtime;
};

enum class Policy { kKeep, kShare, kFail };

class DeviceRaces : public ::testing::TestWithParam<Policy> {};

TEST_P(DeviceRaces, NothingIsUsedAfterItsEnd) {
  constexpr int kThreads = 4;
  constexpr uint64_t kSwaps = 60;
  const BackendClaim claim("racer");
  const Device device(claim.backend());
  std::vector<std::unique_ptr<Generation>> generations;
  generations.push_back(std::make_unique<Generation>(claim.backend(), 1));
  generations.back()->runtime.publish();
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> refused{0};
  std::atomic<uint64_t> unexpected{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<uint32_t>(t));
      std::vector<Tensor> held;
      while (!stop) {
        try {
          const PinnedRoot call;
          held.push_back(
              make_tensor({static_cast<int64_t>(random() % 64)}, ScalarType::kInt32, device));
          const Tensor& any = held[random() % held.size()];
          any.storage()->check_usable();
          if (random() % 4 == 0) any.unsafe_impl()->resize_contiguous({128});
          if (Allocator* allocator = any.storage()->allocator()) {
            const Tensor other = make_tensor(any.sizes(), ScalarType::kInt32, device);
            if (other.raw_data() && any.raw_data()) {
              allocator->copy(any.raw_data(), any.raw_data(), 4, device);
            }
          }
        } catch (const Error& error) {
          ++(error.code() == Code::kFailedPrecondition ? refused : unexpected);
        }
        if (held.size() > 16) held.erase(held.begin() + random() % held.size());
        if (random() % 64 == 0) held.clear();
      }
    });
  }
  for (uint64_t number = 2; number < kSwaps; ++number) {
    generations.push_back(std::make_unique<Generation>(claim.backend(), number));
    Generation& next = *generations.back();
    Generation& old = **(generations.end() - 2);
    next.runtime.publish();
    epoch::retire(new char, [](void* mark) { delete static_cast<char*>(mark); });
    epoch::synchronize();
    old.runtime.settle();
    if (GetParam() == Policy::kShare) old.runtime.hand_over(next.runtime);
    if (GetParam() == Policy::kFail) old.runtime.fail_storages();
    old.end();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  generations.back()->end();
  EXPECT_EQ(used_after_end, 0u);
  EXPECT_EQ(unexpected, 0u);
  if (GetParam() != Policy::kFail) {
    EXPECT_EQ(refused, 0u);
  }
  int64_t blocks = 0;
  for (const auto& generation : generations) {
    blocks += static_cast<int64_t>(generation->instance.blocks.load());
  }
  EXPECT_EQ(blocks, 0);
}

INSTANTIATE_TEST_SUITE_P(Policies, DeviceRaces,
                         ::testing::Values(Policy::kKeep, Policy::kShare, Policy::kFail));

}  // namespace
}  // namespace opyard::plugin
