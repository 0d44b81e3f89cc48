#include "opyard/plugin/device_runtime.h"

#include "opyard/base/check.h"
#include "opyard/base/epoch.h"
#include "opyard/plugin/device_family.h"

namespace opyard::plugin {
namespace {

// Copies that may be under way while nobody waits for one.
constexpr size_t kMostCopies = 256;
constexpr uint64_t kMostBytes = uint64_t{1} << 28;

// Until every call that has begun before is over.
void wait_for_calls() {
  epoch::retire(new char, [](void* mark) { delete static_cast<char*>(mark); });
  epoch::synchronize();
}

}  // namespace

DeviceRuntime::DeviceRuntime(const void* extension, void* instance, Backend backend, Leases& leases,
                             std::string plugin, uint64_t generation)
    : calls_(extension, instance, std::move(plugin)),
      backend_(backend),
      leases_(leases),
      generation_(generation),
      own_(new DeviceMemory(*this)) {}

DeviceRuntime::~DeviceRuntime() {
  withdraw();
  DeviceFamily::of(backend_).remove(*this);
  std::deque<CopyUnderWay> left;
  std::vector<DeviceMemory*> adopted;
  {
    const MutexLock lock(mutex_);
    left.swap(under_way_);
    adopted.swap(adopted_);
  }
  for (const CopyUnderWay& copy : left) calls_.destroy(copy.device, copy.event);
  own_->leave();
  for (DeviceMemory* memory : adopted) memory->leave();
}

std::string DeviceRuntime::described() const {
  return str_cat("generation ", generation_, " of the plugin '", calls_.plugin(), "'");
}

std::vector<DeviceFacts> DeviceRuntime::facts() const {
  std::vector<DeviceFacts> all(count());
  for (uint32_t device = 0; device < count(); ++device) {
    DeviceFacts& facts = all[device];
    facts.product = calls_.product(device);
    calls_.memory(device, &facts.free_bytes, &facts.total_bytes);
  }
  return all;
}

uint32_t DeviceRuntime::number_of(Device device) const {
  const auto number = static_cast<uint32_t>(device.index < 0 ? 0 : device.index);
  OPYARD_CHECK(number < count(), kInvalidArgument, "there is no device '", to_string(device),
               "'; the plugin '", calls_.plugin(), "' has ", count(), ", counted from 0");
  return number;
}

void DeviceRuntime::publish() {
  DeviceFamily::of(backend_).publish(*this);
  set_allocator(backend_, own_);
}

void DeviceRuntime::withdraw() noexcept {
  if (is_published()) set_allocator(backend_, nullptr);
  DeviceFamily::of(backend_).withdraw(*this);
}

void DeviceRuntime::begin_work() const {
  DeviceFamily& family = DeviceFamily::of(backend_);
  if (family.is_mixed() || !is_published()) family.wait_for_others(*this, true);
}

void DeviceRuntime::end_work(uint32_t device) const {
  if (!is_published() || DeviceFamily::of(backend_).is_mixed()) calls_.wait(device);
}

void DeviceRuntime::wait_for_devices() const {
  for (uint32_t device = 0; device < count(); ++device) calls_.wait_all(device);
}

uint64_t DeviceRuntime::bytes_held() const {
  const MutexLock lock(mutex_);
  uint64_t bytes = handed_over_ ? 0 : own_->bytes();
  for (const DeviceMemory* memory : adopted_) bytes += memory->bytes();
  return bytes;
}

void DeviceRuntime::settle() {
  const uint64_t last = last_copy();
  try {
    wait_for_devices();
  } catch (...) {
    DeviceFamily::of(backend_).settled(*this);
    throw;
  }
  DeviceFamily::of(backend_).settled(*this);
  const std::lock_guard asking(asking_);
  let_go(last, std::nullopt);
}

void DeviceRuntime::hand_over(DeviceRuntime& to) {
  for (const DeviceRuntime* each : {static_cast<const DeviceRuntime*>(this), &std::as_const(to)}) {
    OPYARD_CHECK(each->calls_.shares_memory(), kFailedPrecondition, each->described(),
                 " does not say that it shares memory with others of its kind "
                 "(OPYARD_DEVICE_SHARES_MEMORY); use the tensor policy 'keep' or 'fail'");
  }
  OPYARD_CHECK(to.backend_ == backend_ && &to != this, kInvalidArgument, to.described(),
               " is not another generation of the same device");
  settle();
  std::vector<DeviceMemory*> handed;
  {
    const MutexLock lock(mutex_);
    handed.swap(adopted_);
    if (!handed_over_) handed.push_back(&own_->share());
    handed_over_ = true;
  }
  for (DeviceMemory* memory : handed) memory->serve_by(to);
  const MutexLock lock(to.mutex_);
  to.adopted_.insert(to.adopted_.end(), handed.begin(), handed.end());
}

void DeviceRuntime::fail_storages() {
  std::vector<DeviceMemory*> all;
  {
    const MutexLock lock(mutex_);
    all = adopted_;
    if (!handed_over_) all.push_back(own_);
  }
  for (DeviceMemory* memory : all) memory->give_up();
  wait_for_calls();
  settle();
  for (DeviceMemory* memory : all) memory->free_all();
}

std::vector<FallbackCount> DeviceRuntime::fallback_counts() const {
  const MutexLock lock(fallbacks_mutex_);
  std::vector<FallbackCount> counts;
  for (const auto& [op, calls] : fallbacks_) counts.push_back({op, calls});
  return counts;
}

bool DeviceRuntime::count_fallback(const std::string& op) {
  const MutexLock lock(fallbacks_mutex_);
  return ++fallbacks_[op] == 1;
}

void DeviceRuntime::keep_until_done(uint32_t device, const Storage& source, MemoryUse use) {
  if (!calls_.has_events()) return calls_.wait(device);
  opyard_event event = 0;
  uint64_t last = 0;
  try {
    event = calls_.record(device);
    const MutexLock lock(mutex_);
    under_way_.push_back({last_copy_ + 1, device, event, source, std::move(use)});
    last = ++last_copy_;
    bytes_under_way_ += source->nbytes();
    if (under_way_.size() < kMostCopies && bytes_under_way_ < kMostBytes) return;
  } catch (...) {
    calls_.wait(device);  // `source` goes when we return
    throw;
  }
  calls_.wait(device);
  const std::unique_lock asking(asking_, std::try_to_lock);
  if (asking) let_go(last, device);
}

uint64_t DeviceRuntime::last_copy() const {
  const MutexLock lock(mutex_);
  return last_copy_;
}

bool DeviceRuntime::is_over(uint32_t device, opyard_event event) const noexcept {
  try {
    return calls_.is_done(device, event);
  } catch (...) {
    return false;
  }
}

void DeviceRuntime::reap() {
  const std::unique_lock asking(asking_, std::try_to_lock);
  if (!asking) return;
  // In the order of their streams, so the first that is not over ends the look.
  for (;;) {
    uint64_t number = 0;
    uint32_t device = 0;
    opyard_event event = 0;
    {
      const MutexLock lock(mutex_);
      if (under_way_.empty()) return;
      const CopyUnderWay& first = under_way_.front();
      number = first.number;
      device = first.device;
      event = first.event;
    }
    if (!is_over(device, event)) return;
    let_go(number, device);
  }
}

// The caller holds asking_.
void DeviceRuntime::let_go(uint64_t last, std::optional<uint32_t> device) {
  std::deque<CopyUnderWay> over;
  {
    const MutexLock lock(mutex_);
    std::deque<CopyUnderWay> kept;
    while (!under_way_.empty() && under_way_.front().number <= last) {
      CopyUnderWay& copy = under_way_.front();
      const bool is_over = !device || *device == copy.device;
      if (is_over) bytes_under_way_ -= copy.source->nbytes();
      (is_over ? over : kept).push_back(std::move(copy));
      under_way_.pop_front();
    }
    for (; !kept.empty(); kept.pop_back()) under_way_.push_front(std::move(kept.back()));
  }
  for (const CopyUnderWay& copy : over) calls_.destroy(copy.device, copy.event);
}

}  // namespace opyard::plugin
