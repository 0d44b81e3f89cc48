#include "opyard/plugin/host_parts.h"

#include <algorithm>

#include "opyard/base/check.h"

namespace opyard::plugin {
namespace {

constexpr size_t kMostSlots = 256;
constexpr size_t kEndedShown = 4;  // generations of a slot that have come to their end

bool has_ended(State state) { return state == State::kClosed || state == State::kFailed; }

}  // namespace

Host::Parts::Parts() = default;

HostOptions Host::Parts::options() const {
  const std::lock_guard lock(mutex_);
  return options_;
}

void Host::Parts::configure(HostOptions options) {
  OPYARD_CHECK(options.residents >= 1, kInvalidArgument,
               "a slot has room for at least one generation; residents is 0");
  {
    const std::lock_guard lock(mutex_);
    options_ = std::move(options);
  }
  wake();
}

FileStore& Host::Parts::store() {
  std::call_once(store_made_,
                 [this] { store_ = std::make_unique<FileStore>(options().cache_dir); });
  return *store_;
}

std::shared_ptr<Slot> Host::Parts::find_slot(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = slots_.find(name);
  return found == slots_.end() ? nullptr : found->second;
}

std::shared_ptr<Slot> Host::Parts::get_slot(std::string_view name) const {
  if (auto slot = find_slot(name)) return slot;
  std::string names;
  for (const auto& slot : slots()) {
    if (active(*slot)) names += (names.empty() ? "" : ", ") + slot->name;
  }
  raise(Code::kNotFound, str_cat("there is no plugin '", name.substr(0, 64), "' loaded; there ",
                                 names.empty() ? "is none" : "are: " + names));
}

std::shared_ptr<Slot> Host::Parts::make_slot(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (const auto found = slots_.find(name); found != slots_.end()) return found->second;
  if (slots_.size() >= kMostSlots) {
    std::erase_if(slots_, [](const auto& named) {
      const Slot& slot = *named.second;
      return named.second.use_count() == 1 && slot.under_way.empty() && !slot.active &&
             std::all_of(slot.generations.begin(), slot.generations.end(),
                         [](const auto& one) { return has_ended(one->state()); });
    });
  }
  OPYARD_CHECK(slots_.size() < kMostSlots, kResourceExhausted, "there are ", kMostSlots,
               " plugins already; unload one first");
  return slots_[name] = std::make_shared<Slot>(name);
}

std::vector<std::shared_ptr<Slot>> Host::Parts::slots() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Slot>> slots;
  for (const auto& [name, slot] : slots_) slots.push_back(slot);
  return slots;
}

std::shared_ptr<Generation> Host::Parts::active(const Slot& slot) const {
  const std::lock_guard lock(mutex_);
  return slot.active;
}

std::vector<std::shared_ptr<Generation>> Host::Parts::generations(const Slot& slot) const {
  const std::lock_guard lock(mutex_);
  return {slot.generations.begin(), slot.generations.end()};
}

SlotInfo Host::Parts::info(const Slot& slot) const {
  SlotInfo info;
  const std::lock_guard lock(mutex_);
  info.name = slot.name;
  if (slot.active) {
    info.active = slot.active->number();
    info.device = slot.active->device_name();
    if (!info.device.empty()) info.backend = to_string(slot.active->backend());
  }
  info.changes = slot.changes;
  info.refused = slot.refused;
  return info;
}

void Host::Parts::add(Slot& slot, std::shared_ptr<Generation> generation) {
  start_keeper();
  const std::lock_guard lock(mutex_);
  slot.generations.push_front(std::move(generation));
}

void Host::Parts::set_active(Slot& slot, std::shared_ptr<Generation> generation) {
  {
    const std::lock_guard lock(mutex_);
    slot.active = std::move(generation);
    ++slot.changes;
  }
  wake();
}

void Host::Parts::check_room(Slot& slot) {
  const HostOptions wanted = options();
  const Clock::time_point deadline = Clock::now() + wanted.patience;
  while (true) {
    size_t mapped = 0;
    std::string why;
    for (const auto& generation : generations(slot)) {
      // The active one becomes warm, and warm ones go when that is wanted.
      if (!generation->is_mapped() || generation->state() == State::kWarm) continue;
      ++mapped;
      const GenerationInfo info = generation->info();
      if (!info.why_not_unloaded.empty()) {
        why += str_cat("; generation ", info.number, ": ", info.why_not_unloaded);
      }
    }
    if (mapped < std::max<size_t>(wanted.residents, 2)) return;
    OPYARD_CHECK(Clock::now() < deadline, kResourceExhausted, "the slot '", slot.name, "' has ",
                 mapped, " generations in memory, and ", wanted.residents, " is the most", why,
                 why.empty() ? "" : ". Wait for them to end, or allow more residents");
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(20));
  }
}

void Host::Parts::trim(Slot& slot) {
  const size_t most = options().residents;
  size_t staying = 0;
  for (const auto& generation : generations(slot)) {  // newest first
    const State state = generation->state();
    if (state != State::kActive && state != State::kWarm) continue;
    if (++staying > most && state == State::kWarm) generation->dismiss();
  }
}

bool Host::Parts::await_end(const Generation& generation, std::chrono::milliseconds patience) {
  const Clock::time_point deadline = Clock::now() + patience;
  std::unique_lock lock(mutex_);
  while (true) {
    lock.unlock();
    const State state = generation.state();
    lock.lock();
    if (has_ended(state) || state == State::kZombie) return true;
    if (Clock::now() >= deadline) return false;
    changed_.wait_for(lock, std::chrono::milliseconds(20));
  }
}

bool Host::Parts::settle(std::chrono::milliseconds patience) {
  const Clock::time_point deadline = Clock::now() + patience;
  while (true) {
    const auto all = going();
    const bool busy = std::any_of(all.begin(), all.end(),
                                  [](const auto& generation) { return !generation->rests(); });
    if (!busy) return true;
    if (Clock::now() >= deadline) return false;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(20));
  }
}

void Host::Parts::wake() {
  {
    const std::lock_guard lock(mutex_);
    awake_ = true;
  }
  woken_.notify_all();
}

void Host::Parts::start_keeper() {
  const std::lock_guard lock(mutex_);
  if (!keeper_.joinable()) keeper_ = QuietThread("opyard-keeper", [this] { keep(); });
}

std::vector<std::shared_ptr<Generation>> Host::Parts::going() const {
  std::vector<std::shared_ptr<Generation>> all;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, slot] : slots_) {
    for (const auto& generation : slot->generations) {
      if (generation->is_going()) all.push_back(generation);
    }
  }
  return all;
}

// The keeper: brings generations to their end, each as far as it goes without waiting.
void Host::Parts::keep() {
  while (true) {
    std::optional<Clock::time_point> next;
    const HostOptions wanted = options();
    for (const auto& generation : going()) {
      const std::optional<Clock::time_point> again = generation->advance(wanted);
      if (again && (!next || *again < *next)) next = again;
    }
    forget_ended();
    changed_.notify_all();
    std::unique_lock lock(mutex_);
    const auto woken = [this] { return awake_; };
    if (next) {
      woken_.wait_until(lock, *next, woken);
    } else {
      woken_.wait(lock, woken);
    }
    awake_ = false;
  }
}

// Ended ones are shown for a while, and no more.
void Host::Parts::forget_ended() {
  std::vector<std::shared_ptr<Generation>> gone;  // freed without the lock
  const std::lock_guard lock(mutex_);
  for (const auto& [name, slot] : slots_) {
    size_t ended = 0;
    for (auto at = slot->generations.begin(); at != slot->generations.end();) {
      if (has_ended((*at)->state()) && ++ended > kEndedShown) {
        gone.push_back(std::move(*at));
        at = slot->generations.erase(at);
      } else {
        ++at;
      }
    }
  }
}

Change::Change(Host::Parts& parts, std::shared_ptr<Slot> slot, std::string what)
    : parts_(parts), slot_(std::move(slot)) {
  std::unique_lock lock(parts_.mutex_);
  const Clock::time_point deadline = Clock::now() + parts_.options_.probe_patience;
  const bool free =
      parts_.changed_.wait_until(lock, deadline, [this] { return slot_->under_way.empty(); });
  if (!free) {
    ++slot_->refused;
    const auto age =
        std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - slot_->under_way_since);
    raise(Code::kAborted,
          str_cat("another change of the slot '", slot_->name, "' is under way: ", slot_->under_way,
                  ", for ", age.count(), " s; try again when it has ended"));
  }
  slot_->under_way = std::move(what);
  slot_->under_way_since = Clock::now();
}

Change::~Change() {
  {
    const std::lock_guard lock(parts_.mutex_);
    slot_->under_way.clear();
    if (!done_) ++slot_->refused;
  }
  parts_.changed_.notify_all();
}

}  // namespace opyard::plugin
