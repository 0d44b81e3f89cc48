// How a generation ends: grace period, quiesce, drain, leases, fini, dlclose with proof.
#include "opyard/base/check.h"
#include "opyard/base/log.h"
#include "opyard/plugin/generation.h"

namespace opyard::plugin {
namespace {

using std::chrono::milliseconds;

// How long the keeper leaves something alone that does not tell it when it is over.
constexpr milliseconds kSoon{2};
constexpr milliseconds kLater{50};
constexpr std::chrono::seconds kNextLook{5};

std::string seconds_text(Clock::duration duration) {
  const auto ms = std::chrono::duration_cast<milliseconds>(duration).count();
  return str_cat(ms / 1000, ".", ms % 1000 / 100, " s");
}

}  // namespace

std::optional<Clock::time_point> Generation::advance(const HostOptions& options) {
  try {
    return go_on(options);
  } catch (...) {  // no thread, no memory
    stay(current_error().message());
    return std::nullopt;
  }
}

std::optional<Clock::time_point> Generation::go_on(const HostOptions& options) {
  const Clock::time_point now = Clock::now();
  if (step_ == Step::kEnded) return std::nullopt;
  if (step_ == Step::kWait) {
    std::optional<Clock::time_point> next;
    if (!may_begin_end(now, &next)) return next;
    enter(Step::kGrace, options);
  }
  while (finished(options)) {
    if (step_ == Step::kEnded) return std::nullopt;
    enter(static_cast<Step>(static_cast<uint8_t>(step_) + 1), options);
  }
  if (step_ == Step::kEnded) return std::nullopt;
  if (stayed_ && !control_) return now + kNextLook;
  return now + (now - step_since_ < kLater ? kSoon : kLater);
}

// It was dismissed, or its warm time is over; and none of its functions is running.
bool Generation::may_begin_end(Clock::time_point now, std::optional<Clock::time_point>* next) {
  if (control_ && control_->busy()) {  // a start that was given up has not returned yet
    const std::lock_guard lock(mutex_);
    if (dismissed_) {
      state_ = State::kZombie;
      why_not_unloaded_ = "a function that it was started with has not returned";
      *next = now + kLater;
    }
    return false;
  }
  const std::optional<Error> late = control_ ? control_->take_error() : std::nullopt;
  const std::lock_guard lock(mutex_);
  if (late && last_error_.empty()) last_error_ = late->message();
  if (!dismissed_ && state_ != State::kWarm) return false;
  if (!dismissed_ && now < warm_until_) {
    *next = warm_until_;
    return false;
  }
  state_ = State::kRetiring;
  state_since_ = now;
  why_not_unloaded_.clear();
  return true;
}

void Generation::enter(Step step, const HostOptions& options) {
  step_ = step;
  step_since_ = Clock::now();
  told_ = false;
  const bool active = begun_ == Begun::kActivate;
  if (step == Step::kSettle && device_ && active) {
    control_->start([this] { settle_device(); });
  }
  if (step == Step::kQuiesce && host_) host_->request_stop();
  if (step == Step::kQuiesce && active) call_later("quiesce", table_.quiesce, options);
  if (step == Step::kDrain && active) call_later("drain", table_.drain, options);
  if (step == Step::kFini && begun_ != Begun::kNothing) {
    control_->start([this] {
      retire_device();
      if (table_.fini) table_.fini(instance_);
    });
  }
  if (step == Step::kUnmap && image_) {
    if (lint_.note.unload_class == OPYARD_NEVER_UNLOADABLE) {
      return stay("its author says that it can never be unloaded (OPYARD_NEVER_UNLOADABLE)");
    }
    start_unmapping();
  }
}

// The device has done what was queued; a successor takes its tensors over where that is wanted.
void Generation::settle_device() {
  device_->withdraw();
  device_->settle();
  if (const std::shared_ptr<Generation> successor = heir()) {
    const auto release = [](Generation* one) { one->leases_.release(LeaseKind::kStorage); };
    const std::unique_ptr<Generation, decltype(release)> lease(successor.get(), release);
    device_->hand_over(*successor->device());
  }
}

// Who takes its tensors over: whoever is active in the slot by now. Kept by a storage lease, so
// that it works until they are there. Null when nobody does.
std::shared_ptr<Generation> Generation::heir() {
  std::function<std::shared_ptr<Generation>()> find;
  {
    const std::lock_guard lock(mutex_);
    if (policy_ == TensorPolicy::kShare) find = find_heir_;
  }
  const std::shared_ptr<Generation> successor = find ? find() : nullptr;
  if (!successor || successor.get() == this) return nullptr;
  const std::lock_guard lock(successor->mutex_);
  if (successor->state_ != State::kActive || !successor->device_) return nullptr;
  successor->leases_.acquire(LeaseKind::kStorage);
  return successor;
}

// Readers of info() may be looking at it.
void Generation::retire_device() {
  std::unique_ptr<DeviceRuntime> gone;
  const std::lock_guard lock(mutex_);
  gone = std::move(device_);
}

// The file's own destructors run in dlclose, so that has a thread, too; a new one each time, since
// what they leave in thread-local variables keeps the file as long as their thread lives.
void Generation::start_unmapping() {
  last_look_ = Clock::now();
  control_ = std::make_unique<ControlThread>(str_cat("opyard-", name()), wake_);
  control_->start([this] { left_mapped_ = image_->unmap(); });
}

// The control thread has ended, and with it what it kept for the plugin in thread-local variables.
bool Generation::thread_is_gone(const HostOptions& options) {
  if (control_ && !control_->ended()) {
    wait_because("a destructor of its thread has not returned", options);
    return false;
  }
  control_.reset();
  return true;
}

// The present step is over; entering the next has begun it.
bool Generation::finished(const HostOptions& options) {
  switch (step_) {
    case Step::kWait:
    case Step::kEnded:
      return false;
    case Step::kGrace: {
      const auto over = grace();
      if (!over || over->load(std::memory_order_acquire)) return true;
      const std::vector<Pin> holders = pins();
      std::string who;
      for (const Pin& pin : holders) {
        who += str_cat(who.empty() ? "" : ", ", "thread ", pin.thread_id, " in ", pin.holder,
                       " for ", seconds_text(std::chrono::nanoseconds(pin.age_ns)));
      }
      wait_because(str_cat("calls from before have not ended: ", who.empty() ? "unknown" : who),
                   options);
      return false;
    }
    case Step::kSettle:
    case Step::kQuiesce:
    case Step::kDrain:
    case Step::kFini:
      return steps_of_control_are_over(options);
    case Step::kStorages:
    case Step::kLeases:
      return leases_are_gone(options);
    case Step::kThread:
      return thread_is_gone(options);
    case Step::kUnmap:
      return is_unmapped(options);
  }
  return false;
}

void Generation::call_later(const char* what, int32_t (*function)(void*, uint64_t, opyard_status*),
                            const HostOptions& options) {
  if (!function) return;
  control_->start([this, what, function, patience = options.patience] {
    const auto deadline = (Clock::now() + patience).time_since_epoch();
    StatusRoom status;
    const int32_t code = function(instance_, static_cast<uint64_t>(deadline.count()), status.get());
    if (code != 0) throw status.error(code, str_cat("its ", what, " failed"));
  });
}

const char* Generation::name_of_step() const {
  switch (step_) {
    case Step::kSettle:
      return "device";
    case Step::kQuiesce:
      return "quiesce";
    case Step::kDrain:
      return "drain";
    default:
      return "fini";
  }
}

bool Generation::steps_of_control_are_over(const HostOptions& options) {
  if (control_ && control_->busy()) {
    wait_because(str_cat("its ", name_of_step(), " has not returned"), options);
    return false;
  }
  if (control_) {
    if (const std::optional<Error> error = control_->take_error()) {
      stay(error->message());
      return false;
    }
  }
  if (step_ == Step::kDrain) set_state(State::kDrained);
  if (step_ == Step::kFini) set_state(State::kFinalised);
  return true;
}

// No storage is left, or no lease at all.
bool Generation::leases_are_gone(const HostOptions& options) {
  if (failing_ && control_->busy()) {
    wait_because("its memory is being taken from tensors", options);
    return false;
  }
  failing_ = false;
  const bool all = step_ == Step::kLeases;
  if ((all ? leases_.total() : leases_.count(LeaseKind::kStorage)) == 0) {
    if (all) set_state(State::kIdle);
    return true;
  }
  std::string held;
  for (size_t i = 0; i < kNumLeaseKinds; ++i) {
    const auto kind = static_cast<LeaseKind>(i);
    const uint64_t count = leases_.count(kind);
    if (count > 0) held += str_cat(held.empty() ? "" : ", ", count, " ", to_string(kind));
  }
  wait_because(str_cat("leases are held: ", held), options);
  const bool late = Clock::now() - step_since_ > options.patience;
  mutex_.lock();
  const bool fail = policy_ == TensorPolicy::kFail;
  mutex_.unlock();
  if (late && fail && device_ && !failed_storages_) {
    failing_ = failed_storages_ = true;
    control_->start([this] { device_->fail_storages(); });
  }
  return false;
}

bool Generation::is_unmapped(const HostOptions& options) {
  if (control_ && control_->busy()) {
    wait_because("dlclose has not returned", options);
    return false;
  }
  if (!thread_is_gone(options)) return false;
  stayed_ = left_mapped_.has_value();
  if (stayed_) {
    say_zombie(*left_mapped_);
    // A thread that kept it may have ended.
    if (Clock::now() - last_look_ > kNextLook) start_unmapping();
    return false;
  }
  image_.reset();
  store_->remove(file_);
  claim_.reset();
  const std::lock_guard lock(mutex_);
  state_ = was_active_ ? State::kClosed : State::kFailed;
  state_since_ = Clock::now();
  why_not_unloaded_.clear();
  return true;
}

// Waits on; after the patience it is shown as what it is, and the log says so once.
void Generation::wait_because(const std::string& why, const HostOptions& options) {
  const Clock::time_point now = Clock::now();
  const bool late = now - step_since_ > options.patience;
  {
    const std::lock_guard lock(mutex_);
    why_not_unloaded_ = why;
    if (late && state_ != State::kZombie) {
      state_ = State::kZombie;
      state_since_ = now;
    }
  }
  if (!late || told_) return;
  told_ = true;
  log(LogLevel::kWarning, str_cat("plugin ", name(), ", generation ", number_,
                                  ", cannot end yet: ", why, "; it goes when that is over"));
}

// For good.
void Generation::stay(const std::string& why) {
  step_ = Step::kEnded;
  say_zombie(why);
}

void Generation::say_zombie(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    const bool known = state_ == State::kZombie && why_not_unloaded_ == why;
    if (state_ != State::kZombie) state_since_ = Clock::now();
    state_ = State::kZombie;
    why_not_unloaded_ = why;
    if (known) return;
  }
  log(LogLevel::kWarning,
      str_cat("plugin ", name(), ", generation ", number_, ", stays mapped: ", why));
}

}  // namespace opyard::plugin
