#pragma once

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "opyard_device.h"

namespace opyard {

// A device whose memory no host pointer reaches and whose work is done when somebody waits for it,
// and not before. Its functions stand in `table`, for a test to take some away.
class FakeDevice {
 public:
  FakeDevice() {
    table.struct_size = sizeof(table);
    table.flags = OPYARD_DEVICE_SHARES_MEMORY;
    table.device_count = [](void*, uint32_t* count, opyard_status*) {
      *count = 2;
      return 0;
    };
    table.alloc = &alloc;
    table.free = &free;
    table.memset = &set;
    table.copy_h2d = &copy_in;
    table.copy_d2h = &copy_out;
    table.copy_d2d = &copy_within;
    table.stream_synchronise = [](void* self, uint32_t, opyard_stream, opyard_status*) {
      const int32_t code = of(self).before_wait ? of(self).before_wait() : 0;
      return code != 0 ? code : of(self).run();
    };
    table.event_create = [](void* self, uint32_t, opyard_event* event, opyard_status*) {
      *event = ++of(self).events;
      ++of(self).live_events;
      return 0;
    };
    table.event_record = [](void* self, uint32_t, opyard_event event, opyard_stream,
                            opyard_status*) {
      FakeDevice& device = of(self);
      device.later([&device, event] { device.done = event; });
      return 0;
    };
    table.event_query = [](void* self, uint32_t, opyard_event event, uint32_t* done,
                           opyard_status*) {
      const int32_t code = of(self).before_query ? of(self).before_query() : 0;
      *done = of(self).done >= event;
      return code;
    };
    table.event_destroy = [](void* self, uint32_t, opyard_event, opyard_status*) {
      --of(self).live_events;
      return 0;
    };
  }

  int run() {
    for (; !queue.empty(); queue.pop_front()) queue.front()();
    return 0;
  }

  opyard_device_ext table{};
  std::deque<std::function<void()>> queue;
  uint64_t allocs = 0;
  uint64_t frees = 0;
  uint64_t wild = 0;  // accesses outside of a block
  uint64_t events = 0;
  uint64_t live_events = 0;
  uint64_t done = 0;
  int32_t alloc_code = 0;
  // What a test wants to happen first; a code other than 0 is the function's.
  std::function<int32_t()> before_wait;
  std::function<int32_t()> before_query;
  std::function<void()> before_alloc;
  opyard_address give_instead = 0;

 private:
  static constexpr opyard_address kFirst = opyard_address{1} << 60;
  // All fakes share their memory.
  static std::map<opyard_address, std::vector<char>>& blocks() {
    static std::map<opyard_address, std::vector<char>> all;
    return all;
  }
  static FakeDevice& of(void* self) { return *static_cast<FakeDevice*>(self); }
  void later(std::function<void()> work) { queue.push_back(std::move(work)); }

  char* at(opyard_address address, uint64_t bytes) {
    auto found = blocks().upper_bound(address);
    if (found != blocks().begin()) {
      --found;
      const uint64_t offset = address - found->first;
      if (offset + bytes <= found->second.size()) return found->second.data() + offset;
    }
    ++wild;
    return nullptr;
  }

  static int32_t alloc(void* self, uint32_t, uint64_t bytes, opyard_stream, opyard_address* memory,
                       opyard_status*) {
    FakeDevice& device = of(self);
    if (device.before_alloc) device.before_alloc();
    if (device.alloc_code != 0) return device.alloc_code;
    if (device.give_instead != 0) {
      *memory = device.give_instead;
      return 0;
    }
    static opyard_address next = kFirst;
    *memory = next;
    next += (bytes + 4095) / 4096 * 4096;
    blocks()[*memory].assign(bytes, '\x77');
    ++device.allocs;
    return 0;
  }
  static int32_t free(void* self, uint32_t, opyard_address memory, uint64_t bytes, opyard_stream,
                      opyard_status*) {
    FakeDevice& device = of(self);
    ++device.frees;
    device.later([&device, memory, bytes] {
      const auto found = blocks().find(memory);
      const bool fits = found != blocks().end() && found->second.size() == bytes;
      fits ? static_cast<void>(blocks().erase(found)) : static_cast<void>(++device.wild);
    });
    return 0;
  }
  static int32_t set(void* self, uint32_t, opyard_address to, uint32_t byte, uint64_t bytes,
                     opyard_stream, opyard_status*) {
    FakeDevice& device = of(self);
    device.later([&device, to, byte, bytes] {
      if (char* data = device.at(to, bytes)) std::memset(data, static_cast<int>(byte), bytes);
    });
    return 0;
  }
  static int32_t copy_in(void* self, uint32_t, opyard_address to, const void* from, uint64_t bytes,
                         opyard_stream, opyard_status*) {
    FakeDevice& device = of(self);
    device.later([&device, to, from, bytes] {
      if (char* data = device.at(to, bytes)) std::memcpy(data, from, bytes);
    });
    return 0;
  }
  static int32_t copy_out(void* self, uint32_t, void* to, opyard_address from, uint64_t bytes,
                          opyard_stream, opyard_status*) {
    FakeDevice& device = of(self);
    device.later([&device, to, from, bytes] {
      if (const char* data = device.at(from, bytes)) std::memcpy(to, data, bytes);
    });
    return 0;
  }
  static int32_t copy_within(void* self, uint32_t, opyard_address to, opyard_address from,
                             uint64_t bytes, opyard_stream, opyard_status*) {
    FakeDevice& device = of(self);
    device.later([&device, to, from, bytes] {
      const char* source = device.at(from, bytes);
      if (char* data = device.at(to, bytes); data && source) std::memmove(data, source, bytes);
    });
    return 0;
  }
};

}  // namespace opyard
