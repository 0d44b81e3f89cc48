#include "device.h"

#include <cstdlib>

namespace toy {
namespace {

// Above every address of a process and below the sign: a pointer with it is none.
constexpr opyard_address kMark = opyard_address{1} << 54;

Runtime* current = nullptr;

// How long each piece of work takes at least, as over a bus: OPYARD_TOY_LATENCY_US.
std::chrono::microseconds latency_from_environment() {
  const char* text = std::getenv("OPYARD_TOY_LATENCY_US");
  const long wanted = text ? std::strtol(text, nullptr, 10) : 0;
  return std::chrono::microseconds(wanted > 0 && wanted <= 1'000'000 ? wanted : 0);
}

}  // namespace

Stream::Stream(std::chrono::microseconds latency)
    : latency_(latency), thread_([this] { run(); }), worker_(thread_.get_id()) {}

void Stream::push(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (!ended_) {
      work_.push_back(std::move(work));
      changed_.notify_all();
      return;
    }
  }
  const std::lock_guard lock(in_caller_);
  work();
}

void Stream::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !work_.empty(); });
    if (work_.empty()) return;
    std::function<void()>& work = work_.front();
    lock.unlock();
    if (latency_.count() > 0) std::this_thread::sleep_for(latency_);
    work();
    work = nullptr;  // what it held goes before the work counts as done
    lock.lock();
    work_.pop_front();
    changed_.notify_all();
  }
}

void Stream::synchronise() {
  if (std::this_thread::get_id() == worker_) return;  // from within its own work
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return work_.empty(); });
  }
  const std::lock_guard lock(in_caller_);
}

bool Stream::is_idle() {
  const std::lock_guard lock(mutex_);
  return work_.empty();
}

void Stream::end_thread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  // More may have come after the thread's last look.
  const std::lock_guard order(in_caller_);
  std::unique_lock lock(mutex_);
  while (!work_.empty()) {
    lock.unlock();
    work_.front()();
    lock.lock();
    work_.pop_front();
  }
  ended_ = true;
  changed_.notify_all();
}

Runtime::Runtime(const opyard_host& table) : host_(table), latency_(latency_from_environment()) {
  for (auto& streams : streams_) {
    streams[0] = std::shared_ptr<Stream>(new Stream(latency_));
  }
}

Runtime::~Runtime() { end_threads(); }

void* Runtime::host(opyard_address address) {
  return address & kMark ? reinterpret_cast<void*>(address & ~kMark) : nullptr;
}

opyard_address Runtime::address(void* host) {
  return reinterpret_cast<opyard_address>(host) | kMark;
}

opyard_address Runtime::allocate(uint32_t device, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > kMemory - used_[device]) return 0;
  void* memory = host_.alloc(bytes);
  if (!memory) return 0;
  try {
    own_.insert(memory);
  } catch (...) {
    host_.free(memory);
    return 0;
  }
  used_[device] += bytes;
  return address(memory);
}

void Runtime::free(uint32_t device, opyard_address memory, uint64_t bytes, opyard_stream number) {
  stream(device, number)->push([this, device, memory, bytes] {
    {
      const std::lock_guard lock(mutex_);
      // What another instance made is not counted here.
      if (own_.erase(host(memory)) == 1) used_[device] -= bytes;
    }
    host_.free(host(memory));
  });
}

uint64_t Runtime::used(uint32_t device) {
  const std::lock_guard lock(mutex_);
  return used_[device];
}

std::shared_ptr<Stream> Runtime::stream(uint32_t device, opyard_stream number) {
  const std::lock_guard lock(mutex_);
  const auto found = streams_[device].find(number);
  return found == streams_[device].end() ? nullptr : found->second;
}

opyard_stream Runtime::create_stream(uint32_t device) {
  const std::shared_ptr<Stream> made(new Stream(latency_));
  const std::lock_guard lock(mutex_);
  if (ended_) made->end_thread();
  streams_[device][++last_number_] = made;
  return last_number_;
}

bool Runtime::destroy_stream(uint32_t device, opyard_stream number) {
  std::shared_ptr<Stream> gone;
  {
    const std::lock_guard lock(mutex_);
    const auto found = streams_[device].find(number);
    if (number == 0 || found == streams_[device].end()) return false;
    gone = found->second;
    streams_[device].erase(found);
  }
  gone->end_thread();
  return true;
}

std::shared_ptr<Event> Runtime::event(opyard_event number) {
  const std::lock_guard lock(mutex_);
  const auto found = events_.find(number);
  return found == events_.end() ? nullptr : found->second;
}

opyard_event Runtime::create_event() {
  const std::shared_ptr<Event> made(new Event);
  const std::lock_guard lock(mutex_);
  events_[++last_number_] = made;
  return last_number_;
}

bool Runtime::destroy_event(opyard_event number) {
  const std::lock_guard lock(mutex_);
  return events_.erase(number) == 1;
}

void Runtime::synchronise(uint32_t device) {
  std::map<opyard_stream, std::shared_ptr<Stream>> streams;
  {
    const std::lock_guard lock(mutex_);
    streams = streams_[device];
  }
  for (const auto& [number, stream] : streams) stream->synchronise();
}

void Runtime::end_threads() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  // A stream may wait for an event of another: first all get to their end.
  for (uint32_t device = 0; device < kDevices; ++device) synchronise(device);
  for (auto& streams : streams_) {
    for (const auto& [number, stream] : streams) stream->end_thread();
  }
}

Runtime& runtime() { return *current; }

void start(const opyard_host& host) { current = new Runtime(host); }

void stop() noexcept {
  delete current;
  current = nullptr;
}

}  // namespace toy
