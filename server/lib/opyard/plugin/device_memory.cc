#include "opyard/plugin/device_memory.h"

#include "opyard/base/check.h"
#include "opyard/base/log.h"
#include "opyard/core/thread_state.h"
#include "opyard/plugin/device_family.h"
#include "opyard/plugin/device_runtime.h"

namespace opyard::plugin {

DeviceMemory::DeviceMemory(DeviceRuntime& server)
    : owner_(server.described()), backend_(server.backend()), server_(&server) {}

void* DeviceMemory::allocate(size_t bytes, Device device) {
  DeviceRuntime* server = nullptr;
  {
    const MutexLock lock(mutex_);
    check_kept();
    server = server_;
    server->leases().acquire(LeaseKind::kStorage);
  }
  try {
    const uint32_t number = server->number_of(device);
    if (bytes == 0) {
      server->leases().release(LeaseKind::kStorage);
      return nullptr;
    }
    void* data = allocate_from(*server, bytes, number);
    references_.fetch_add(1, std::memory_order_relaxed);
    return data;
  } catch (...) {
    server->leases().release(LeaseKind::kStorage);
    throw;
  }
}

void* DeviceMemory::allocate_from(DeviceRuntime& server, uint64_t bytes, uint32_t device) {
  const DeviceCalls& calls = server.calls();
  void* data = calls.allocate(device, bytes);
  bool is_ours = !has_block(data);
  if (!is_ours) raise_given_twice(server);
  try {
    if (thread_state.flags & kThreadZeroMemory) calls.clear(device, data, bytes);
    server.end_work(device);
    is_ours = keep_block(server, data, {bytes, device});
  } catch (...) {
    calls.free(device, data, bytes);
    throw;
  }
  if (!is_ours) raise_given_twice(server);
  return data;
}

bool DeviceMemory::has_block(void* data) const {
  const MutexLock lock(mutex_);
  return blocks_.contains(data);
}

// A block that has an owner is left to that one: neither cleared nor freed.
void DeviceMemory::raise_given_twice(const DeviceRuntime& server) {
  const std::string what = str_cat("the plugin '", server.calls().plugin(),
                                   "' gave out a block of memory that is in use");
  log(LogLevel::kError, what);
  raise(Code::kInternal, what);
}

// False when the block has an owner.
bool DeviceMemory::keep_block(DeviceRuntime& server, void* data, Block block) {
  const MutexLock lock(mutex_);
  check_kept();
  if (!blocks_.emplace(data, block).second) return false;
  bytes_ += block.bytes;
  if (server_ == &server) return true;
  // Another took over while the block was made.
  server_->leases().acquire(LeaseKind::kStorage);
  server.leases().release(LeaseKind::kStorage);
  return true;
}

void DeviceMemory::free(void* data, size_t, Device) noexcept {
  DeviceRuntime* server = nullptr;
  Block block{};
  {
    const MutexLock lock(mutex_);
    const auto found = blocks_.find(data);
    if (found != blocks_.end()) {  // else it was given up
      block = found->second;
      server = server_;
      bytes_ -= block.bytes;
      blocks_.erase(found);
    }
  }
  if (server) {
    server->calls().free(block.device, data, block.bytes);
    server->leases().release(LeaseKind::kStorage);
  }
  drop_reference();
}

void DeviceMemory::check_usable() const {
  check_kept();
  DeviceFamily& family = DeviceFamily::of(backend_);
  if (!family.is_mixed()) return;
  const MemoryUse use(*this);
  family.wait_for_others(use.server(), false);
}

void DeviceMemory::check_kept() const {
  if (given_up_.load(std::memory_order_acquire)) raise_given_up();
}

void DeviceMemory::raise_given_up() const {
  raise(Code::kFailedPrecondition,
        str_cat("the tensor's memory is gone: it belonged to ", owner_,
                ", which was taken away with the tensor policy 'fail'; make the tensor anew"));
}

void DeviceMemory::copy(void* to, const void* from, size_t bytes, Device device) {
  const MemoryUse use(*this);
  DeviceRuntime& server = use.server();
  const uint32_t number = server.number_of(device);
  server.begin_work();
  server.calls().copy_within(number, to, from, bytes);
  server.end_work(number);
}

uint64_t DeviceMemory::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

void DeviceMemory::serve_by(DeviceRuntime& server) {
  const MutexLock lock(mutex_);
  if (server_ == &server) return;
  for (size_t i = 0; i < blocks_.size(); ++i) server.leases().acquire(LeaseKind::kStorage);
  for (size_t i = 0; i < blocks_.size(); ++i) server_->leases().release(LeaseKind::kStorage);
  server_ = &server;
}

void DeviceMemory::give_up() {
  const MutexLock lock(mutex_);
  given_up_.store(true, std::memory_order_release);
}

void DeviceMemory::free_all() noexcept {
  DeviceRuntime* server = nullptr;
  std::unordered_map<void*, Block> blocks;
  {
    const MutexLock lock(mutex_);
    server = server_;
    blocks.swap(blocks_);
    bytes_ = 0;
  }
  for (const auto& [data, block] : blocks) {
    server->calls().free(block.device, data, block.bytes);
    server->leases().release(LeaseKind::kStorage);
  }
}

void DeviceMemory::drop_reference() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

MemoryUse::MemoryUse(const DeviceMemory& memory, LeaseKind kind) : kind_(kind) {
  const MutexLock lock(memory.mutex_);
  memory.check_kept();
  server_ = memory.server_;
  server_->leases().acquire(kind);
}

MemoryUse::~MemoryUse() {
  if (server_) server_->leases().release(kind_);
}

}  // namespace opyard::plugin
