#include "opyard/plugin/host_table.h"

#include <chrono>

#include "opyard/base/check.h"
#include "opyard/base/log.h"
#include "opyard/core/allocator.h"
#include "opyard/dispatch/c_status.h"
#include "opyard/plugin/host_extensions.h"

namespace opyard::plugin {

// The functions behind the table. None lets an exception out.
struct HostFunctions {
  static LeaseKind kind_of(uint32_t kind) {
    return kind < kNumLeaseKinds ? static_cast<LeaseKind>(kind) : LeaseKind::kOther;
  }

  static void set_status(opyard_status* status, int32_t code, opyard_str message) {
    if (status) set_c_status(status, code, message);
  }

  static void log_line(uint32_t level, opyard_str message) {
    const auto known = level <= static_cast<uint32_t>(LogLevel::kError)
                           ? static_cast<LogLevel>(level)
                           : LogLevel::kError;
    try {
      if (message.data) log(known, std::string_view(message.data, message.size));
    } catch (...) {  // a line that cannot be written is lost
    }
  }

  static void* allocate(uint64_t bytes) {
    try {
      return host_allocator().allocate(bytes, Backend::kCPU);
    } catch (...) {
      return nullptr;
    }
  }
  static void free_memory(void* memory) { host_allocator().free(memory, 0, Backend::kCPU); }

  static const void* get_extension(const opyard_host*, opyard_str id, uint32_t min_version) {
    return id.data ? find_host_extension({id.data, id.size}, min_version) : nullptr;
  }

  static void lease_acquire(const opyard_host* host, uint32_t kind) {
    HostTable::of(host).leases_.acquire_own(kind_of(kind));
  }
  static void lease_release(const opyard_host* host, uint32_t kind) {
    if (HostTable::of(host).leases_.release_own(kind_of(kind))) return;
    try {
      log(LogLevel::kError,
          str_cat("the plugin '", HostTable::of(host).plugin_, "' gives back a lease (",
                  to_string(kind_of(kind)), ") that it has not taken"));
    } catch (...) {  // a line that cannot be written is lost
    }
  }

  static uint64_t now_ns() {
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  }
};

HostTable::HostTable(std::string plugin, Leases& leases)
    : table_{sizeof(opyard_host),           0,
             &HostFunctions::set_status,    &HostFunctions::log_line,
             &HostFunctions::allocate,      &HostFunctions::free_memory,
             &HostFunctions::get_extension, &HostFunctions::lease_acquire,
             &HostFunctions::lease_release, &HostFunctions::now_ns},
      plugin_(std::move(plugin)),
      leases_(leases) {}

StatusRoom::StatusRoom() : status_(std::make_unique<opyard_status>()) {}
StatusRoom::~StatusRoom() = default;

Error StatusRoom::error(int32_t code, const std::string& context) const {
  return c_status_error(*status_, code, context);
}

}  // namespace opyard::plugin
