#include "opyard/plugin/host_table.h"

#include "opyard/base/check.h"
#include "opyard/base/log.h"
#include "opyard/core/allocator.h"
#include "opyard/dispatch/c_status.h"

namespace opyard::plugin {
namespace {

void set_status(opyard_status* status, int32_t code, opyard_str message) {
  if (status) set_c_status(status, code, message);
}

void log_line(uint32_t level, opyard_str message) {
  const auto known = level <= static_cast<uint32_t>(LogLevel::kError) ? static_cast<LogLevel>(level)
                                                                      : LogLevel::kError;
  try {
    if (message.data) log(known, std::string_view(message.data, message.size));
  } catch (...) {  // a line that cannot be written is lost
  }
}

void* allocate(uint64_t bytes) {
  try {
    return host_allocator().allocate(bytes, Backend::kCPU);
  } catch (...) {
    return nullptr;
  }
}

void free_memory(void* memory) { host_allocator().free(memory, 0, Backend::kCPU); }

const void* get_extension(opyard_str, uint32_t) { return nullptr; }

}  // namespace

const opyard_host& host_table() noexcept {
  static const opyard_host table{
      sizeof(opyard_host), 0, &set_status, &log_line, &allocate, &free_memory, &get_extension};
  return table;
}

StatusRoom::StatusRoom() : status_(std::make_unique<opyard_status>()) {}
StatusRoom::~StatusRoom() = default;

Error StatusRoom::error(int32_t code, const std::string& context) const {
  return c_status_error(*status_, code, context);
}

}  // namespace opyard::plugin
