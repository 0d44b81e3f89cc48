// The functions of the extension opyard.device, over Runtime.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "device.h"

namespace toy {
namespace {

enum Code : int32_t { kOk = 0, kInvalidArgument = 3, kResourceExhausted = 8, kInternal = 13 };

int32_t fail(opyard_status* status, Code code, std::string_view reason) {
  runtime().table().set_status(status, code,
                               {reason.data(), static_cast<uint32_t>(reason.size()), 0});
  return code;
}

// Does what `body` does with the stream; no exception gets out.
template <typename F>
int32_t on_stream(uint32_t device, opyard_stream number, opyard_status* status, F&& body) {
  try {
    const auto stream = device < kDevices ? runtime().stream(device, number) : nullptr;
    if (!stream) return fail(status, kInvalidArgument, "there is no such stream");
    body(*stream);
    return kOk;
  } catch (...) {
    return fail(status, kInternal, "the toy has no memory for its own work");
  }
}

template <typename F>
int32_t with_event(opyard_event number, opyard_status* status, F&& body) {
  try {
    const auto event = runtime().event(number);
    if (!event) return fail(status, kInvalidArgument, "there is no such event");
    return body(event);
  } catch (...) {
    return fail(status, kInternal, "the toy has no memory for its own work");
  }
}

int32_t device_count(void*, uint32_t* count, opyard_status*) {
  *count = kDevices;
  return kOk;
}

int32_t device_info(void*, uint32_t device, opyard_device_info* info, opyard_status* status) {
  if (device >= kDevices) return fail(status, kInvalidArgument, "there is no such device");
  static constexpr std::string_view kName = "host memory posing as a device";
  info->name = {kName.data(), static_cast<uint32_t>(kName.size()), 0};
  info->total_bytes = Runtime::kMemory;
  return kOk;
}

int32_t mem_info(void*, uint32_t device, uint64_t* free_bytes, uint64_t* total_bytes,
                 opyard_status* status) {
  if (device >= kDevices) return fail(status, kInvalidArgument, "there is no such device");
  *free_bytes = Runtime::kMemory - runtime().used(device);
  *total_bytes = Runtime::kMemory;
  return kOk;
}

int32_t alloc(void*, uint32_t device, uint64_t bytes, opyard_stream, opyard_address* memory,
              opyard_status* status) {
  if (device >= kDevices) return fail(status, kInvalidArgument, "there is no such device");
  opyard_address made = runtime().allocate(device, bytes);
  if (made == 0) {  // what is to be freed may still be queued
    runtime().synchronise(device);
    made = runtime().allocate(device, bytes);
  }
  if (made == 0) return fail(status, kResourceExhausted, "the device has no memory left");
  *memory = made;
  return kOk;
}

int32_t free(void*, uint32_t device, opyard_address memory, uint64_t bytes, opyard_stream stream,
             opyard_status* status) {
  return on_stream(device, stream, status,
                   [&](Stream&) { runtime().free(device, memory, bytes, stream); });
}

int32_t memset(void*, uint32_t device, opyard_address to, uint32_t byte, uint64_t bytes,
               opyard_stream stream, opyard_status* status) {
  return on_stream(device, stream, status, [=](Stream& queue) {
    queue.push([=] { std::memset(Runtime::host(to), static_cast<int>(byte), bytes); });
  });
}

int32_t copy_h2d(void*, uint32_t device, opyard_address to, const void* from, uint64_t bytes,
                 opyard_stream stream, opyard_status* status) {
  return on_stream(device, stream, status, [=](Stream& queue) {
    queue.push([=] { std::memcpy(Runtime::host(to), from, bytes); });
  });
}

int32_t copy_d2h(void*, uint32_t device, void* to, opyard_address from, uint64_t bytes,
                 opyard_stream stream, opyard_status* status) {
  return on_stream(device, stream, status, [=](Stream& queue) {
    queue.push([=] { std::memcpy(to, Runtime::host(from), bytes); });
  });
}

int32_t copy_d2d(void*, uint32_t device, opyard_address to, opyard_address from, uint64_t bytes,
                 opyard_stream stream, opyard_status* status) {
  return on_stream(device, stream, status, [=](Stream& queue) {
    queue.push([=] { std::memmove(Runtime::host(to), Runtime::host(from), bytes); });
  });
}

int32_t stream_create(void*, uint32_t device, opyard_stream* stream, opyard_status* status) {
  if (device >= kDevices) return fail(status, kInvalidArgument, "there is no such device");
  try {
    *stream = runtime().create_stream(device);
    return kOk;
  } catch (...) {
    return fail(status, kResourceExhausted, "there is no thread left for a stream");
  }
}

int32_t stream_destroy(void*, uint32_t device, opyard_stream stream, opyard_status* status) {
  const bool gone = device < kDevices && runtime().destroy_stream(device, stream);
  return gone ? kOk : fail(status, kInvalidArgument, "there is no such stream of the host's");
}

int32_t stream_synchronise(void*, uint32_t device, opyard_stream stream, opyard_status* status) {
  return on_stream(device, stream, status, [](Stream& queue) { queue.synchronise(); });
}

int32_t stream_query(void*, uint32_t device, opyard_stream stream, uint32_t* done,
                     opyard_status* status) {
  return on_stream(device, stream, status, [=](Stream& queue) { *done = queue.is_idle(); });
}

int32_t event_create(void*, uint32_t, opyard_event* event, opyard_status* status) {
  try {
    *event = runtime().create_event();
    return kOk;
  } catch (...) {
    return fail(status, kResourceExhausted, "there is no memory for an event");
  }
}

int32_t event_record(void*, uint32_t device, opyard_event event, opyard_stream stream,
                     opyard_status* status) {
  return with_event(event, status, [&](const std::shared_ptr<Event>& found) {
    return on_stream(device, stream, status, [&](Stream& queue) {
      uint64_t number = 0;
      {
        const std::lock_guard lock(found->mutex);
        number = ++found->recorded;
      }
      queue.push([found, number] {
        const std::lock_guard lock(found->mutex);
        found->reached = std::max(found->reached, number);
        found->changed.notify_all();
      });
    });
  });
}

int32_t event_wait(void*, uint32_t device, opyard_event event, opyard_stream stream,
                   opyard_status* status) {
  return with_event(event, status, [&](const std::shared_ptr<Event>& found) {
    return on_stream(device, stream, status, [&](Stream& queue) {
      queue.push([found] {
        std::unique_lock lock(found->mutex);
        found->changed.wait(lock, [&] { return found->is_done(); });
      });
    });
  });
}

int32_t event_query(void*, uint32_t, opyard_event event, uint32_t* done, opyard_status* status) {
  return with_event(event, status, [&](const std::shared_ptr<Event>& found) {
    const std::lock_guard lock(found->mutex);
    *done = found->is_done();
    return kOk;
  });
}

int32_t event_destroy(void*, uint32_t, opyard_event event, opyard_status* status) {
  return runtime().destroy_event(event) ? kOk
                                        : fail(status, kInvalidArgument, "there is no such event");
}

int32_t device_synchronise(void*, uint32_t device, opyard_status* status) {
  return on_stream(device, 0, status, [=](Stream&) { runtime().synchronise(device); });
}

int32_t default_stream(void*, uint32_t, opyard_stream* stream, opyard_status*) {
  *stream = 0;
  return kOk;
}

}  // namespace

const opyard_device_ext& extension() {
  static constexpr opyard_device_ext kTable = {sizeof(opyard_device_ext),
                                               OPYARD_DEVICE_SHARES_MEMORY,
                                               &device_count,
                                               &device_info,
                                               &mem_info,
                                               &alloc,
                                               &free,
                                               &memset,
                                               &copy_h2d,
                                               &copy_d2h,
                                               &copy_d2d,
                                               &stream_create,
                                               &stream_destroy,
                                               &stream_synchronise,
                                               &stream_query,
                                               &event_create,
                                               &event_record,
                                               &event_wait,
                                               &event_query,
                                               &event_destroy,
                                               &device_synchronise,
                                               &default_stream};
  return kTable;
}

}  // namespace toy
