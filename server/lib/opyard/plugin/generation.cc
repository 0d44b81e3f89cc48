#include "opyard/plugin/generation.h"

#include "opyard/base/check.h"
#include "opyard/base/epoch.h"
#include "opyard/base/log.h"
#include "opyard/dispatch/registry.h"
#include "opyard/plugin/host_extensions.h"

namespace opyard::plugin {

std::shared_ptr<Generation> Generation::prepare(const std::string& source, uint64_t number,
                                                FileStore& store, const HostOptions& options,
                                                bool probe, Wake wake) {
  std::shared_ptr<Generation> made(new Generation(number, std::move(wake)));
  made->store_ = &store;
  const SourceFile file = SourceFile::follow(source);
  if (options.check_owner) file.check_owner();
  made->file_ = store.store(file, number);
  try {
    made->lint_ = plugin::lint(made->file_);
    OPYARD_CHECK(made->name() != Origin().plugin, kInvalidArgument, "'", made->file_.name,
                 "' calls itself '", made->name(), "'; that is the library's own name");
    for (const std::string& need : made->lint_.note.needs) {
      OPYARD_CHECK(offers_host_extension(need), kFailedPrecondition, "the plugin '", made->name(),
                   "' needs the host extension '", need, "', which this host does not have");
    }
    made->probe_ = "not probed: it was not wanted";
    if (probe) made->live_elsewhere(options);
  } catch (...) {
    store.remove(made->file_);
    throw;
  }
  return made;
}

// The life in a process of its own.
void Generation::live_elsewhere(const HostOptions& options) {
  const std::string worker = find_worker(options);
  if (worker.empty()) {
    probe_ = "not probed: there is no opyard-worker";
    log(LogLevel::kWarning, str_cat("plugin ", name(), " is ", probe_));
    return;
  }
  const Verdict verdict = remembered_probe(worker, file_, options.probe_patience);
  OPYARD_CHECK(verdict.lived, kFailedPrecondition, "the plugin '", name(),
               "' failed in the process that tried it out: ", verdict.problem);
  probe_ = str_cat("passed in ", verdict.ms, " ms");
  if (!verdict.left_mapped.empty()) {
    lint_.warnings.push_back("in its probe it stayed mapped: " + verdict.left_mapped);
  }
  for (const std::string& thing : verdict.leftovers) {
    lint_.warnings.push_back("its probe left " + thing);
  }
  set_state(State::kProbed);
}

Generation::~Generation() {
  if (!image_) store_->remove(file_);
  if (step_ != Step::kEnded && image_) {
    // The process ends, or a zombie is forgotten: its code stays, and so does what it may call.
    static_cast<void>(image_.release());
    static_cast<void>(host_.release());
    static_cast<void>(control_.release());
    static_cast<void>(device_.release());
    new BackendClaim(std::move(claim_));
  }
}

void Generation::start(const HostOptions& options) {
  control_ = std::make_unique<ControlThread>(str_cat("opyard-", name()), wake_);
  const auto self = shared_from_this();  // the step may outlive this call
  const bool ended = control_->run(
      [self] {
        StatusRoom status;
        self->image_ = Image::open(self->file_, self->lint_);
        self->set_state(State::kMapped);
        self->image_->check();
        self->table_ = shake_hands(*self->image_, self->lint_.note, &self->abi_);
        self->initialise(status);
        self->read_extensions(status);
        self->activate(status);
      },
      Clock::now() + options.probe_patience);
  OPYARD_CHECK(ended, kDeadlineExceeded, "the plugin '", name(), "' has not started within ",
               options.probe_patience.count(),
               " ms; it is left on its own thread, and goes when it returns");
}

void Generation::initialise(StatusRoom& status) {
  host_ = std::make_unique<HostTable>(name(), leases_);
  if (table_.init) {
    const int32_t code = table_.init(&host_->table(), &instance_, status.get());
    if (code != 0) throw status.error(code, str_cat("plugin '", name(), "' failed to start"));
  }
  begun_ = Begun::kInit;
  set_state(State::kInitialised);
}

void Generation::read_extensions(StatusRoom& status) {
  brought_ = read_brought(table_, instance_, lint_.note, status);
  read_device();
  check_keys();
  description_ = describe_note(lint_.note);
  describe_blocks(brought_.blocks, is_same_build(lint_.note), &description_);
}

// The name that it claims, and the device itself when it brings one.
void Generation::read_device() {
  std::string claims;
  for (const std::string& claim : lint_.note.claims) claims += (claims.empty() ? "" : ",") + claim;
  const std::optional<std::string> claimed = claimed_device(claims);
  const bool brings = (lint_.note.kind & OPYARD_KIND_DEVICE) != 0;
  OPYARD_CHECK(!brings || claimed, kInvalidArgument, "the plugin '", name(),
               "' is a device runtime by its note, which claims no device; wanted is a claim like "
               "\"device:",
               name(), "\"");
  if (!claimed) return;
  device_name_ = *claimed;
  claim_ = BackendClaim(device_name_);
  if (!brings) return;
  const void* offered = extension_of(table_, instance_, "opyard.device");
  OPYARD_CHECK(offered, kInvalidArgument, "the plugin '", name(),
               "' is a device runtime by its note and gives no extension opyard.device");
  device_ = std::make_unique<DeviceRuntime>(offered, instance_, claim_.backend(), leases_, name(),
                                            number_);
}

// The key of a private device is given to a name, so kernels stand at one only under the name's
// claim: without it they would be another device's one day.
void Generation::check_keys() const {
  for (const opyard_block& block : brought_.blocks) {
    for (uint64_t i = 0; i < block.count; ++i) {
      const opyard_str own = block.registrations[i].key;
      const std::string text = to_std(own.size ? own : block.key);
      if (text.empty()) continue;
      DispatchKey key = DispatchKey::Undefined;
      try {
        key = parse_dispatch_key(text);
      } catch (const Error& error) {
        raise(error.code(), str_cat(error.message(), ". A private device wants a claim in the ",
                                    "plugin's note: .claims = \"device:NAME\""));
      }
      const Backend backend = backend_of(key);
      OPYARD_CHECK(!is_private_backend(backend) || backend == claim_.backend(), kInvalidArgument,
                   "the plugin '", name(), "' has kernels at '", text,
                   "', the key of a private device that it does "
                   "not claim; write .claims = \"device:",
                   to_string(Device(backend)), "\" and its name as the key");
    }
  }
}

std::vector<opyard_block> Generation::publication(const HostOptions& options) {
  std::vector<opyard_block> blocks = brought_.blocks;
  if (!device_) return blocks;
  for_device_ = device_->libraries(brought_.blocks, options.cpu_fallback);
  for (const Library& library : for_device_) blocks.push_back(library.block());
  return blocks;
}

void Generation::activate(StatusRoom& status) {
  if (table_.activate) {
    const int32_t code = table_.activate(instance_, status.get());
    if (code != 0) throw status.error(code, str_cat("plugin '", name(), "' failed to activate"));
  }
  begun_ = Begun::kActivate;
  const std::vector<std::string> pinned = image_->pinned_dependencies();
  const std::lock_guard lock(mutex_);
  state_ = State::kStaged;
  state_since_ = Clock::now();
  staged_ = true;
  pinned_dependencies_ = pinned;
}

State Generation::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void Generation::set_state(State state) {
  const std::lock_guard lock(mutex_);
  state_ = state;
  state_since_ = Clock::now();
}

bool Generation::is_mapped() const {
  const State now = state();
  return now >= State::kMapped && now != State::kClosed && now != State::kFailed;
}

void Generation::activated() {
  const std::lock_guard lock(mutex_);
  state_ = State::kActive;
  state_since_ = Clock::now();
  was_active_ = true;
}

void Generation::replaced(Clock::time_point warm_until, bool unpublished) {
  await_grace(unpublished);
  const std::lock_guard lock(mutex_);
  state_ = State::kWarm;
  state_since_ = Clock::now();
  warm_until_ = warm_until;
}

// Lies in the reclaimer's queue behind everything that was taken out of the tables so far: when it
// is reached, no call from before is left.
struct Generation::Mark {
  std::shared_ptr<std::atomic<bool>> reached = std::make_shared<std::atomic<bool>>(false);
  Wake wake;
};

void Generation::prepare_to_leave(TensorPolicy policy, FindHeir find_heir) {
  auto mark = std::make_unique<Mark>();
  mark->wake = wake_;
  const std::lock_guard lock(mutex_);
  mark_ = std::move(mark);
  policy_ = policy;
  find_heir_ = std::move(find_heir);
}

void Generation::await_grace(bool unpublished) {
  if (!mark_) prepare_to_leave(TensorPolicy::kKeep, nullptr);
  {
    const std::lock_guard lock(mutex_);
    grace_ = mark_->reached;
  }
  if (!unpublished) return;
  try {
    epoch::retire(new std::shared_ptr<Mark>(std::move(mark_)), [](void* object) {
      const std::unique_ptr<std::shared_ptr<Mark>> mark(
          static_cast<std::shared_ptr<Mark>*>(object));
      (*mark)->reached->store(true, std::memory_order_release);
      (*mark)->wake();
    });
    const std::lock_guard lock(mutex_);
    grace_epoch_ = epoch_domain.now.load();
  } catch (...) {  // no memory: without the mark it waits for ever, which harms nobody
  }
}

std::shared_ptr<std::atomic<bool>> Generation::grace() const {
  const std::lock_guard lock(mutex_);
  return grace_;
}

bool Generation::recall() {
  const std::lock_guard lock(mutex_);
  if (state_ != State::kWarm || dismissed_) return false;
  state_ = State::kStaged;
  state_since_ = Clock::now();
  return true;
}

void Generation::dismiss() {
  {
    const std::lock_guard lock(mutex_);
    dismissed_ = true;
  }
  wake_();
}

void Generation::note_failure(const Error& error) {
  const std::lock_guard lock(mutex_);
  last_error_ = error.message();
}

bool Generation::is_going() const {
  const std::lock_guard lock(mutex_);
  const bool ended = state_ == State::kClosed || state_ == State::kFailed;
  return !ended && (dismissed_ || (was_active_ && state_ != State::kActive));
}

bool Generation::rests() const {
  const std::lock_guard lock(mutex_);
  const bool warm = state_ == State::kWarm && !dismissed_ && Clock::now() < warm_until_;
  return warm || state_ == State::kZombie;
}

std::vector<Pin> Generation::pins() const {
  std::vector<Pin> pins;
  const auto over = grace();
  if (!over || over->load(std::memory_order_acquire)) return pins;
  mutex_.lock();
  const uint64_t until = grace_epoch_;
  mutex_.unlock();
  const PinnedRoot pin;  // keeps the holders' texts
  for (const epoch::Blame& blame : epoch::pinned_threads()) {
    if (epoch_domain.now.load() - blame.epochs_behind >= until) continue;
    pins.push_back({blame.thread_id, blame.holder ? blame.holder : "a frame", blame.age_ns});
  }
  return pins;
}

GenerationInfo Generation::info() const {
  GenerationInfo info;
  info.number = number_;
  info.file = file_.name;
  info.path = file_.path;
  info.hash = file_.hash;
  info.version = lint_.note.version;
  info.fingerprint = lint_.note.fingerprint;
  info.same_build = is_same_build(lint_.note);
  info.probe = probe_;
  info.warnings = lint_.warnings;
  for (size_t i = 0; i < kNumLeaseKinds; ++i) {
    info.leases[i] = leases_.count(static_cast<LeaseKind>(i));
  }
  info.pins = pins();
  bool staged = false;
  {
    const std::lock_guard lock(mutex_);
    staged = staged_;
    info.state = state_;
    info.last_error = last_error_;
    info.why_not_unloaded = why_not_unloaded_;
    if (staged_ && device_) {
      info.bytes_held = device_->bytes_held();
      for (const FallbackCount& one : device_->fallback_counts()) {
        info.fallbacks.emplace_back(one.op, one.calls);
      }
    }
    info.age_ms = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - state_since_).count());
  }
  if (staged) {
    info.abi = abi_;
    info.pinned_dependencies = pinned_dependencies_;
    for (const auto& [what, kernel] : description_.kernels) {
      const size_t at = what.find(" at ");
      info.kernels.push_back(
          {what.substr(0, at), what.substr(at + 4), kernel.typed, kernel.why_boxed});
    }
  }
  return info;
}

}  // namespace opyard::plugin
