#include "opyard/plugin/host.h"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <tuple>

#include "opyard/base/check.h"
#include "opyard/base/log.h"
#include "opyard/base/no_destructor.h"
#include "opyard/core/thread_state.h"
#include "opyard/plugin/host_parts.h"

namespace opyard::plugin {
namespace {

uint64_t nanoseconds_since(Clock::time_point start) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

// The threads that bring generations to their end are the parent's.
std::atomic<bool> forked{false};

void check_not_forked() {
  OPYARD_CHECK(
      !forked.load(std::memory_order_relaxed), kFailedPrecondition,
      "this process is the child of one that hosts plugins: it may call what is loaded, and "
      "change nothing; start a process of its own for that");
}

void check_may_change(std::string_view what) {
  check_not_forked();
  OPYARD_CHECK(!is_pinned(), kFailedPrecondition, what,
               " cannot be done from within an operator call; do it before or after");
}

void check_same_plugin(const Slot& slot, const std::string& name) {
  OPYARD_CHECK(name == slot.name, kInvalidArgument, "the file is the plugin '", name,
               "', which cannot take the place of '", slot.name, "'");
}

// The device comes before its kernels and goes after them, so that whoever sees a kernel of one
// generation knows to wait for the work of another.
void publish(Install& change, const HostOptions& host) {
  Dispatcher& dispatcher = Dispatcher::global();
  const Origin origin{change.next->name(), change.next->number()};
  const std::vector<opyard_block> blocks = change.next->publication(host);
  DeviceRuntime* const device = change.next->device();
  DeviceRuntime* const old_device = change.old ? change.old->device() : nullptr;
  const Clock::time_point start = Clock::now();
  if (device) device->publish();
  try {
    if (change.old) {
      dispatcher.replace(change.slot.registration, blocks, origin);
    } else {
      change.slot.registration = dispatcher.register_blocks(blocks, origin);
    }
  } catch (...) {
    if (old_device) old_device->publish();
    if (device) device->withdraw();
    throw;
  }
  if (old_device) old_device->withdraw();
  change.report.publish_ns = nanoseconds_since(start);
}

// The policy can be kept.
void check_policy(const Install& change) {
  if (change.options.tensors != TensorPolicy::kShare) return;
  const bool shares = change.old && change.old->device() && change.next->device() &&
                      change.old->device()->calls().shares_memory() &&
                      change.next->device()->calls().shares_memory();
  OPYARD_CHECK(shares, kFailedPrecondition,
               "the tensor policy 'share' wants two generations of a "
               "device that say that they share memory (OPYARD_DEVICE_SHARES_MEMORY); use 'keep' "
               "or 'fail'");
}

// Its kernels for operators that nobody defines, as warnings.
std::vector<std::string> dangling_kernels(const Description& description) {
  std::vector<std::string> warnings;
  const Dispatcher& dispatcher = Dispatcher::global();
  for (const std::string& op : dispatcher.dangling_impls()) {
    const auto first = description.kernels.lower_bound(op + " at ");
    if (first == description.kernels.end() || !first->first.starts_with(op + " at ")) continue;
    const std::vector<std::string> nearest = dispatcher.nearest(op, 1);
    warnings.push_back(str_cat("there is a kernel for '", op, "', which nobody defines",
                               nearest.empty() ? "" : "; did you mean '" + nearest[0] + "'?"));
  }
  return warnings;
}

Clock::time_point warm_until(const ChangeOptions& change, const HostOptions& host) {
  return Clock::now() + change.keep_warm.value_or(host.keep_warm);
}

}  // namespace

Host& Host::global() {
  static NoDestructor<Host> host;
  return *host;
}

Host::Host() : parts_(std::make_unique<Parts>()) {
  pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
}
Host::~Host() = default;

void Host::configure(HostOptions options) { parts_->configure(std::move(options)); }
HostOptions Host::options() const { return parts_->options(); }

void Host::start() {
  check_not_forked();
  static_cast<void>(parts_->store());
  parts_->start_keeper();
}

// Gives change.next the place of change.old, or an empty one. When that is refused, everything is
// as before, but for what callers may have seen of a device for a moment.
void Host::take_place(Install& change) {
  const HostOptions host = parts_->options();
  Slot& slot = change.slot;
  const auto& [next, old] = std::tie(change.next, change.old);
  std::unique_lock<std::mutex> devices;
  if (!next->device_name().empty() || (old && !old->device_name().empty())) {
    devices = std::unique_lock(parts_->devices);  // one publication of devices at a time
    check_devices(*parts_, slot, next.get(), old.get());
  }
  check_policy(change);
  if (old) {
    old->prepare_to_leave(change.options.tensors, [parts = parts_.get(), &slot] {
      return parts->active(slot);  // slots live as long as their generations
    });
  }
  try {
    publish(change, host);
  } catch (...) {
    if (next->device()) next->await_callers();
    throw;
  }
  next->activated();
  if (old) old->replaced(warm_until(change.options, host), true);
  parts_->set_active(slot, next);
  parts_->trim(slot);
}

// Starts the new generation and gives it the place of the old one. When that fails, the new one is
// brought to its end and everything is as before.
ChangeReport Host::install(Slot& slot, std::shared_ptr<Generation> next,
                           std::shared_ptr<Generation> old, const ChangeOptions& options) {
  const HostOptions host = parts_->options();
  Install change{slot, next, old, options, {}};
  change.report.slot = slot.name;
  change.report.old_generation = old ? old->number() : 0;
  change.report.new_generation = next->number();
  parts_->add(slot, next);
  try {
    next->start(host);
    if (old) {
      const auto differences = compare(old->description(), next->description());
      check_allowed(slot.name, differences, options);
      change.report.lost = losses(differences);
    }
    change.report.note = "probe: " + next->info().probe;
    take_place(change);
  } catch (...) {
    const Error error = current_error();
    next->note_failure(error);
    next->dismiss();
    parts_->await_end(*next, host.patience);
    throw error;
  }
  try {
    for (const std::string& warning : dangling_kernels(next->description())) {
      change.report.note += "; " + warning;
    }
  } catch (...) {  // the change has come to pass; its list says the same
  }
  change.report.old_state = old ? old->state() : State::kClosed;
  return change.report;
}

ChangeReport Host::load(const std::string& path, const ChangeOptions& options) {
  check_may_change("loading a plugin");
  const Clock::time_point start = Clock::now();
  auto next = Generation::prepare(path, parts_->next_number(), parts_->store(), parts_->options(),
                                  options.probe, [parts = parts_.get()] { parts->wake(); });
  const std::shared_ptr<Slot> slot = parts_->make_slot(next->name());
  Change change(*parts_, slot, "load");
  OPYARD_CHECK(!parts_->active(*slot), kAlreadyExists, "the plugin '", slot->name,
               "' is loaded already; swap it for another build, or unload it first");
  parts_->check_room(*slot);
  ChangeReport report = install(*slot, std::move(next), nullptr, options);
  change.done();
  report.total_ns = nanoseconds_since(start);
  return report;
}

ChangeReport Host::swap(std::string_view name, const std::string& path,
                        const ChangeOptions& options) {
  check_may_change("swapping a plugin");
  const Clock::time_point start = Clock::now();
  const std::shared_ptr<Slot> slot = parts_->get_slot(name);
  auto next = Generation::prepare(path, parts_->next_number(), parts_->store(), parts_->options(),
                                  options.probe, [parts = parts_.get()] { parts->wake(); });
  check_same_plugin(*slot, next->name());
  Change change(*parts_, slot, "swap");
  const std::shared_ptr<Generation> old = parts_->active(*slot);
  OPYARD_CHECK(old != nullptr, kNotFound, "no generation of '", slot->name,
               "' is active; load one first");
  parts_->check_room(*slot);
  ChangeReport report = install(*slot, std::move(next), old, options);
  change.done();
  report.total_ns = nanoseconds_since(start);
  return report;
}

// A device has one runtime, and keeps it as long as others have kernels for it. `next` is null when
// the slot becomes empty.
void Host::check_devices(Parts& parts, const Slot& slot, const Generation* next,
                         const Generation* old) {
  const bool goes = old && old->device() && !(next && next->device_name() == old->device_name());
  std::string users;
  for (const auto& other : parts.slots()) {
    const std::shared_ptr<Generation> active = parts.active(*other);
    if (other->name == slot.name || !active) continue;
    OPYARD_CHECK(!next || !next->device() || !active->device() ||
                     active->device_name() != next->device_name(),
                 kAlreadyExists, "the plugin '", slot.name, "' is a runtime of the device '",
                 next->device_name(), "', which '", active->name(),
                 "' is already; a device has one at a time");
    if (goes && active->device_name() == old->device_name()) {
      users += (users.empty() ? "" : ", ") + other->name;
    }
  }
  OPYARD_CHECK(users.empty(), kFailedPrecondition, "the device '", old->device_name(), "' of '",
               slot.name, "' has kernels by other plugins: ", users, "; unload these first");
}

ChangeReport Host::unload(std::string_view name, const ChangeOptions& options) {
  check_may_change("unloading a plugin");
  const Clock::time_point start = Clock::now();
  const std::shared_ptr<Slot> slot = parts_->get_slot(name);
  const HostOptions host = parts_->options();
  OPYARD_CHECK(
      options.tensors != TensorPolicy::kShare, kInvalidArgument,
      "nobody takes tensors over when a plugin is unloaded; the tensor policy is 'keep' or "
      "'fail'");
  Change change(*parts_, slot, "unload");
  const std::shared_ptr<Generation> old = parts_->active(*slot);
  OPYARD_CHECK(old != nullptr, kNotFound, "no generation of '", slot->name, "' is active");
  ChangeReport report;
  report.slot = slot->name;
  report.old_generation = old->number();
  for (const auto& [op, schema] : old->description().schemas) report.lost.push_back(op);
  for (const auto& [what, kernel] : old->description().kernels) report.lost.push_back(what);
  {
    std::unique_lock<std::mutex> devices;
    if (!old->device_name().empty()) {
      devices = std::unique_lock(parts_->devices);
      check_devices(*parts_, *slot, nullptr, old.get());
    }
    old->prepare_to_leave(options.tensors, nullptr);
    const Clock::time_point publishing = Clock::now();
    const bool withdrawn = slot->registration.withdraw();
    if (old->device()) old->device()->withdraw();
    report.publish_ns = nanoseconds_since(publishing);
    old->replaced(Clock::now(), withdrawn);
    parts_->set_active(*slot, nullptr);
  }
  for (const auto& generation : parts_->generations(*slot)) {
    if (generation->state() == State::kWarm) generation->dismiss();  // nothing to roll back to
  }
  parts_->await_end(*old, host.patience);
  change.done();
  const GenerationInfo info = old->info();
  report.old_state = info.state;
  report.note = info.why_not_unloaded;
  report.total_ns = nanoseconds_since(start);
  return report;
}

ChangeReport Host::rollback(std::string_view name, const ChangeOptions& options) {
  check_may_change("rolling a plugin back");
  const Clock::time_point start = Clock::now();
  const std::shared_ptr<Slot> slot = parts_->get_slot(name);
  const HostOptions host = parts_->options();
  Change change(*parts_, slot, "rollback");
  std::shared_ptr<Generation> next;
  for (const auto& generation : parts_->generations(*slot)) {
    if (!next && generation->recall()) next = generation;
  }
  OPYARD_CHECK(next != nullptr, kFailedPrecondition, "the slot '", slot->name,
               "' has no generation that is still warm; a replaced one stays so for ",
               host.keep_warm.count() / 1000, " s unless the swap says otherwise");
  const std::shared_ptr<Generation> old = parts_->active(*slot);
  Install install{*slot, next, old, options, {}};
  install.report.slot = slot->name;
  install.report.old_generation = old ? old->number() : 0;
  install.report.new_generation = next->number();
  try {
    take_place(install);
  } catch (...) {
    next->replaced(warm_until(options, host), true);
    throw;
  }
  change.done();
  install.report.old_state = old ? old->state() : State::kClosed;
  install.report.total_ns = nanoseconds_since(start);
  return install.report;
}

std::vector<Difference> Host::diff(std::string_view name, const std::string& path) {
  check_may_change("comparing plugins");
  const std::shared_ptr<Slot> slot = parts_->get_slot(name);
  const std::shared_ptr<Generation> active = parts_->active(*slot);
  OPYARD_CHECK(active != nullptr, kNotFound, "no generation of '", slot->name, "' is active");
  const HostOptions host = parts_->options();
  const std::string worker = find_worker(host);
  OPYARD_CHECK(!worker.empty(), kUnavailable,
               "comparing two builds takes the program opyard-worker, which is not there");
  FileStore& store = parts_->store();
  const SourceFile source = SourceFile::follow(path);
  if (host.check_owner) source.check_owner();
  const StoredFile file = store.store(source, parts_->next_number());
  Verdict verdict;
  try {
    static_cast<void>(lint(file));
    verdict = remembered_probe(worker, file, host.probe_patience);
  } catch (...) {
    store.remove(file);
    throw;
  }
  store.remove(file);
  OPYARD_CHECK(verdict.lived, kFailedPrecondition,
               "the file failed in the process that tried it out: ", verdict.problem);
  check_same_plugin(*slot, verdict.description.name);
  return compare(active->description(), verdict.description);
}

Description Host::describe(std::string_view name) const {
  const std::shared_ptr<Generation> active = parts_->active(*parts_->get_slot(name));
  OPYARD_CHECK(active != nullptr, kNotFound, "no generation of '", name, "' is active");
  return active->description();
}

std::vector<SlotInfo> Host::list() const {
  check_not_forked();
  std::vector<SlotInfo> infos;
  for (const auto& slot : parts_->slots()) {
    SlotInfo info = parts_->info(*slot);
    for (const auto& generation : parts_->generations(*slot)) {
      GenerationInfo one = generation->info();
      if (one.state == State::kActive) {
        for (std::string& warning : dangling_kernels(generation->description())) {
          one.warnings.push_back(std::move(warning));
        }
      }
      const HitCounter::Hits hits = parts_->hits.of(one.number);
      one.hits_typed = hits.typed;
      one.hits_boxed = hits.boxed;
      info.generations.push_back(std::move(one));
    }
    if (!info.generations.empty()) infos.push_back(std::move(info));
  }
  return infos;
}

void Host::count_hits(bool on) { parts_->hits.set_counting(on); }

bool Host::settle(std::chrono::milliseconds patience) { return parts_->settle(patience); }

std::string_view to_string(State state) noexcept {
  switch (state) {
    case State::kLinted:
      return "linted";
    case State::kProbed:
      return "probed";
    case State::kMapped:
      return "mapped";
    case State::kInitialised:
      return "initialised";
    case State::kStaged:
      return "staged";
    case State::kActive:
      return "active";
    case State::kWarm:
      return "warm";
    case State::kRetiring:
      return "retiring";
    case State::kDrained:
      return "drained";
    case State::kIdle:
      return "idle";
    case State::kFinalised:
      return "finalised";
    case State::kClosed:
      return "closed";
    case State::kZombie:
      return "zombie";
    case State::kFailed:
      return "failed";
  }
  return "unknown";
}

}  // namespace opyard::plugin
