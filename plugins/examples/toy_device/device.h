#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "opyard_device.h"

namespace toy {

inline constexpr uint32_t kDevices = 2;

// A point in a stream's work; the latest one that was recorded counts.
struct Event {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t recorded = 0;
  uint64_t reached = 0;
  bool is_done() const { return reached >= recorded; }
};

// Work in order, on a thread of its own until end_thread(), then in the caller.
class Stream {
 public:
  explicit Stream(std::chrono::microseconds latency);
  ~Stream() { end_thread(); }
  void push(std::function<void()> work);
  void synchronise();
  bool is_idle();
  // Does what is queued first.
  void end_thread();

 private:
  void run();

  const std::chrono::microseconds latency_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;  // the first one is being done
  bool ending_ = false;
  bool ended_ = false;
  std::recursive_mutex in_caller_;  // what callers do themselves; it may push more
  std::thread thread_;
  const std::thread::id worker_;
};

// Two devices in host memory. An address that they give out is the host's with a bit set that no
// pointer has: whoever follows it on the host faults.
class Runtime {
 public:
  explicit Runtime(const opyard_host& table);
  const opyard_host& table() const { return host_; }
  ~Runtime();

  opyard_address allocate(uint32_t device, uint64_t bytes);  // 0: none left
  void free(uint32_t device, opyard_address memory, uint64_t bytes, opyard_stream stream);
  uint64_t used(uint32_t device);
  static constexpr uint64_t kMemory = uint64_t{1} << 30;  // of one device

  // What an address stands for. Null for what is none.
  static void* host(opyard_address address);
  static opyard_address address(void* host);

  // Null when there is none of that number.
  std::shared_ptr<Stream> stream(uint32_t device, opyard_stream number);
  opyard_stream create_stream(uint32_t device);
  bool destroy_stream(uint32_t device, opyard_stream number);
  std::shared_ptr<Event> event(opyard_event number);
  opyard_event create_event();
  bool destroy_event(opyard_event number);
  void synchronise(uint32_t device);
  // No thread is left; whatever is asked for from now on is done in the caller.
  void end_threads();

 private:
  const opyard_host& host_;
  const std::chrono::microseconds latency_;
  std::mutex mutex_;
  uint64_t used_[kDevices] = {};
  std::set<void*> own_;
  uint64_t last_number_ = 0;
  bool ended_ = false;
  std::map<opyard_stream, std::shared_ptr<Stream>> streams_[kDevices];
  std::map<opyard_event, std::shared_ptr<Event>> events_;
};

// From start to stop.
Runtime& runtime();
void start(const opyard_host& host);
void stop() noexcept;
// The table of the extension opyard.device.
const opyard_device_ext& extension();

}  // namespace toy
