#include "opyard/core/storage.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "opyard/base/check.h"
#include "opyard/base/no_destructor.h"
#include "opyard/core/thread_state.h"

namespace opyard {

// The root of Dispatcher::global(), of a floor above; a pin without it would be none for the calls
// within.
extern std::atomic<const Root*> global_root;

namespace {

constexpr size_t kHostAlignment = 64;

// Marks the thread for the reclaimer where it is not marked yet, so that no generation of a plugin
// ends between the look-up of its allocator and the lease that the allocator takes. The allocator
// may call operators: these run in the root that is read here.
class PinnedHere {
 public:
  PinnedHere() : outermost_(!is_pinned()) {
    if (!outermost_) return;
    EpochSlot* slot = thread_state.slot;
    if (!slot) slot = epoch::acquire_slot(&thread_state.slot);
    slot->holder.store("an allocation", std::memory_order_relaxed);
    epoch::pin(*slot, epoch_domain.attention.load(std::memory_order_relaxed));
    thread_state.root = global_root.load(std::memory_order_acquire);
  }
  ~PinnedHere() {
    if (outermost_) epoch::unpin(*thread_state.slot);
  }
  PinnedHere(const PinnedHere&) = delete;
  PinnedHere& operator=(const PinnedHere&) = delete;

 private:
  const bool outermost_;
};

class HostAllocator final : public Allocator {
 public:
  void* allocate(size_t bytes, Device) override {
    if (bytes == 0) return nullptr;
    OPYARD_CHECK(bytes <= SIZE_MAX / 2, kResourceExhausted, "cannot allocate ", bytes, " bytes");
    const size_t rounded = (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment;
    void* data = std::aligned_alloc(kHostAlignment, rounded);
    OPYARD_CHECK(data != nullptr, kResourceExhausted, "the host has no memory left for ", bytes,
                 " bytes");
    if (thread_state.flags & kThreadZeroMemory) std::memset(data, 0, rounded);
    return data;
  }
  void free(void* data, size_t, Device) noexcept override { std::free(data); }
};

std::array<std::atomic<Allocator*>, kNumBackends + 1>& allocators() {
  static std::array<std::atomic<Allocator*>, kNumBackends + 1> table{};
  return table;
}

}  // namespace

void Allocator::check_usable() const {}

void Allocator::copy(void*, const void*, size_t, Device device) {
  raise(Code::kUnimplemented,
        str_cat("memory on '", to_string(device), "' cannot be copied by its allocator"));
}

Allocator& host_allocator() noexcept {
  static NoDestructor<HostAllocator> allocator;
  return *allocator;
}

Allocator& allocator_for(Backend backend) {
  if (backend == Backend::kCPU) return host_allocator();
  Allocator* allocator = allocators()[static_cast<size_t>(backend)].load();
  OPYARD_CHECK(allocator != nullptr, kFailedPrecondition,
               "no plugin provides memory for the device '", to_string(Device(backend)),
               "'; load the plugin of that device first");
  return *allocator;
}

void set_allocator(Backend backend, Allocator* allocator) noexcept {
  allocators()[static_cast<size_t>(backend)].store(allocator);
}

Storage make_storage(size_t nbytes, Device device) {
  Storage storage = Storage::adopt(new StorageImpl);
  storage->device_ = device;
  if (AllocationBudget* budget = thread_state.budget) {
    budget->charge(nbytes);
    storage->budget_ = IntrusivePtr<AllocationBudget>::share(budget);
  }
  storage->nbytes_ = nbytes;  // from here on the end of the storage pays back
  if (device.is_meta()) return storage;
  const auto fill_from = [&](Allocator& allocator) {
    storage->data_ = allocator.allocate(nbytes, device);
    // Without memory there is no lease, so nothing of a plugin may be kept.
    if (storage->data_ || device.is_cpu()) storage->allocator_ = &allocator;
  };
  if (device.is_cpu()) {
    fill_from(host_allocator());
  } else {
    const PinnedHere pin;
    fill_from(allocator_for(device.type));
  }
  return storage;
}

Storage wrap_memory(void* data, size_t nbytes, Device device, void (*free)(void* context),
                    void* context) {
  auto* storage = new StorageImpl;
  storage->data_ = data;
  storage->nbytes_ = nbytes;
  storage->device_ = device;
  storage->free_ = free;
  storage->context_ = context;
  return Storage::adopt(storage);
}

void StorageImpl::resize(size_t nbytes) {
  const bool on_plugin_device = !device_.is_cpu() && !device_.is_meta();
  if (on_plugin_device && !data_ && !free_) return resize_anew(nbytes);
  OPYARD_CHECK(allocator_ != nullptr || device_.is_meta(), kFailedPrecondition,
               "this storage wraps memory of somebody else and cannot be resized");
  check_usable();
  if (budget_) budget_->charge(nbytes);  // for a while both blocks are there
  if (!device_.is_meta()) {
    void* bigger = nullptr;
    try {
      bigger = allocator_->allocate(nbytes, device_);
      const size_t kept = nbytes < nbytes_ ? nbytes : nbytes_;
      if (kept > 0 && device_.is_cpu()) std::memcpy(bigger, data_, kept);
      if (kept > 0 && !device_.is_cpu()) allocator_->copy(bigger, data_, kept, device_);
    } catch (...) {
      if (bigger) allocator_->free(bigger, nbytes, device_);
      if (budget_) budget_->pay_back(nbytes);
      throw;
    }
    if (data_) allocator_->free(data_, nbytes_, device_);
    data_ = bigger;
  }
  if (budget_) budget_->pay_back(nbytes_);
  nbytes_ = nbytes;
  if (on_plugin_device && !data_) allocator_ = nullptr;
}

// Memory for a storage on a plugin's device that has none.
void StorageImpl::resize_anew(size_t nbytes) {
  if (budget_) budget_->charge(nbytes);
  try {
    const PinnedHere pin;
    Allocator& allocator = allocator_for(device_.type);
    data_ = allocator.allocate(nbytes, device_);
    if (data_) allocator_ = &allocator;
  } catch (...) {
    if (budget_) budget_->pay_back(nbytes);
    throw;
  }
  if (budget_) budget_->pay_back(nbytes_);
  nbytes_ = nbytes;
}

void StorageImpl::destroy(StorageImpl* storage) noexcept {
  if (storage->allocator_ && storage->data_) {
    storage->allocator_->free(storage->data_, storage->nbytes_, storage->device_);
  } else if (storage->free_) {
    storage->free_(storage->context_);
  }
  if (storage->budget_) storage->budget_->pay_back(storage->nbytes_);
  delete storage;
}

}  // namespace opyard
