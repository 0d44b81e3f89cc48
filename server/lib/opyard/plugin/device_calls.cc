#include "opyard/plugin/device_calls.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "opyard/base/check.h"
#include "opyard/base/log.h"
#include "opyard/plugin/host_table.h"
#include "opyard/plugin/records.h"

namespace opyard::plugin {
namespace {

constexpr uint32_t kMostDevices = std::numeric_limits<int16_t>::max();
constexpr uint32_t kLongestName = 256;
constexpr uintptr_t kAlignment = 64;
// Of host memory that stands in for functions that a plugin does not have.
constexpr uint64_t kPiece = uint64_t{1} << 20;

opyard_address address(const void* memory) { return reinterpret_cast<uintptr_t>(memory); }

void* moved(void* memory, uint64_t bytes) { return static_cast<char*>(memory) + bytes; }
const void* moved(const void* memory, uint64_t bytes) {
  return static_cast<const char*>(memory) + bytes;
}

// In a handler: tells of the exception, where there is memory for the line.
void log_lost(std::string_view what) noexcept {
  try {
    log(LogLevel::kError, str_cat(what, " is lost: ", current_error().message()));
  } catch (...) {
  }
}

}  // namespace

template <typename F, typename... A>
void DeviceCalls::call(const char* what, F function, A... arguments) const {
  OPYARD_CHECK(function != nullptr, kUnimplemented, "the device of the plugin '", plugin_,
               "' provides no ", what);
  StatusRoom status;
  const int32_t code = function(instance_, arguments..., status.get());
  if (code != 0) {
    throw status.error(code, str_cat("the plugin '", plugin_, "', ", what));
  }
}

DeviceCalls::DeviceCalls(const void* extension, void* instance, std::string plugin)
    : table_(take<opyard_device_ext>(extension, OPYARD_DEVICE_EXT_SIZE_1_0,
                                     "the extension opyard.device")),
      instance_(instance),
      plugin_(std::move(plugin)) {
  const auto needs = [this](bool there, const char* what) {
    OPYARD_CHECK(there, kInvalidArgument, "the device of the plugin '", plugin_, "' has no ", what,
                 "; the extension opyard.device needs one");
  };
  const opyard_device_ext& t = table_;
  needs(t.device_count, "device_count");
  needs(t.alloc, "alloc");
  needs(t.free, "free");
  needs(t.copy_h2d, "copy_h2d");
  needs(t.copy_d2h, "copy_d2h");
  needs(t.stream_synchronise, "stream_synchronise");
  needs(!t.stream_create == !t.stream_destroy, "pair of stream_create and stream_destroy");
  has_events_ = t.event_create && t.event_record && t.event_query && t.event_destroy;
  call("device_count", t.device_count, &count_);
  OPYARD_CHECK(count_ >= 1 && count_ <= kMostDevices, kInvalidArgument, "the plugin '", plugin_,
               "' says that it has ", count_, " devices; wanted are 1 to ", kMostDevices);
}

std::string DeviceCalls::product(uint32_t device) const {
  if (!table_.device_info) return {};
  opyard_device_info info{};
  info.struct_size = sizeof(info);
  call("device_info", table_.device_info, device, &info);
  return take_text(info.name, kLongestName, "the name of a device");
}

void DeviceCalls::memory(uint32_t device, uint64_t* free_bytes, uint64_t* total_bytes) const {
  *free_bytes = *total_bytes = 0;
  if (table_.mem_info) call("mem_info", table_.mem_info, device, free_bytes, total_bytes);
}

void* DeviceCalls::allocate(uint32_t device, uint64_t bytes) const {
  opyard_address memory = 0;
  call("alloc", table_.alloc, device, bytes, opyard_stream{0}, &memory);
  OPYARD_CHECK(memory != 0 && memory % kAlignment == 0, kInternal, "the plugin '", plugin_,
               "' gave memory at ", memory,
               "; wanted is an address other than 0, on a multiple of ", kAlignment);
  return reinterpret_cast<void*>(memory);
}

void DeviceCalls::free(uint32_t device, void* memory, uint64_t bytes) const noexcept {
  try {
    call("free", table_.free, device, address(memory), bytes, opyard_stream{0});
  } catch (...) {
    log_lost("a block of a device's memory");
  }
}

void DeviceCalls::clear(uint32_t device, void* to, uint64_t bytes) const {
  if (table_.memset) {
    return call("memset", table_.memset, device, address(to), uint32_t{0}, bytes, opyard_stream{0});
  }
  const std::vector<char> zeros(std::min(bytes, kPiece));
  for (uint64_t done = 0; done < bytes; done += zeros.size()) {
    copy_in(device, moved(to, done), zeros.data(), std::min<uint64_t>(zeros.size(), bytes - done));
  }
  wait(device);
}

void DeviceCalls::copy_in(uint32_t device, void* to, const void* from, uint64_t bytes) const {
  call("copy_h2d", table_.copy_h2d, device, address(to), from, bytes, opyard_stream{0});
}

void DeviceCalls::copy_out(uint32_t device, void* to, const void* from, uint64_t bytes) const {
  call("copy_d2h", table_.copy_d2h, device, to, address(from), bytes, opyard_stream{0});
}

void DeviceCalls::copy_within(uint32_t device, void* to, const void* from, uint64_t bytes) const {
  if (table_.copy_d2d) {
    return call("copy_d2d", table_.copy_d2d, device, address(to), address(from), bytes,
                opyard_stream{0});
  }
  std::vector<char> between(std::min(bytes, kPiece));
  for (uint64_t done = 0; done < bytes; done += between.size()) {
    const uint64_t piece = std::min<uint64_t>(between.size(), bytes - done);
    copy_out(device, between.data(), moved(from, done), piece);
    wait(device);
    copy_in(device, moved(to, done), between.data(), piece);
    wait(device);
  }
}

void DeviceCalls::wait(uint32_t device) const {
  call("stream_synchronise", table_.stream_synchronise, device, opyard_stream{0});
}

void DeviceCalls::wait_all(uint32_t device) const {
  if (!table_.device_synchronise) return wait(device);
  call("device_synchronise", table_.device_synchronise, device);
}

opyard_event DeviceCalls::record(uint32_t device) const {
  opyard_event event = 0;
  call("event_create", table_.event_create, device, &event);
  try {
    call("event_record", table_.event_record, device, event, opyard_stream{0});
  } catch (...) {
    destroy(device, event);
    throw;
  }
  return event;
}

bool DeviceCalls::is_done(uint32_t device, opyard_event event) const {
  uint32_t done = 0;
  call("event_query", table_.event_query, device, event, &done);
  return done != 0;
}

void DeviceCalls::destroy(uint32_t device, opyard_event event) const noexcept {
  try {
    call("event_destroy", table_.event_destroy, device, event);
  } catch (...) {
    log_lost("an event of a device");
  }
}

}  // namespace opyard::plugin
