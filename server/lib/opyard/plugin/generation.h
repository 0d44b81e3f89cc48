#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "opyard/dispatch/dispatcher.h"
#include "opyard/plugin/backend_claims.h"
#include "opyard/plugin/control_thread.h"
#include "opyard/plugin/describe.h"
#include "opyard/plugin/device_runtime.h"
#include "opyard/plugin/file_store.h"
#include "opyard/plugin/handshake.h"
#include "opyard/plugin/host.h"
#include "opyard/plugin/host_table.h"
#include "opyard/plugin/image.h"
#include "opyard/plugin/leases.h"
#include "opyard/plugin/lint.h"
#include "opyard/plugin/probe.h"

namespace opyard::plugin {

// One file of a plugin in this process, from its copy to its end. The Host moves it along: up to
// kStaged under its slot's lock (start), to kActive and back with each publication (activated,
// replaced), and to its end in steps that never wait (advance), on the keeper's thread. What runs
// of the plugin runs on the generation's own control thread.
class Generation : public std::enable_shared_from_this<Generation> {
 public:
  // What the keeper is told by: something may go on now.
  using Wake = std::function<void()>;

  // Copies, lints and probes the file: kLinted or kProbed. No code of it runs in this process.
  static std::shared_ptr<Generation> prepare(const std::string& source, uint64_t number,
                                             FileStore& store, const HostOptions& options,
                                             bool probe, Wake wake);
  ~Generation();

  // Maps, shakes hands, initialises, reads what it brings and activates: kStaged. When it raises,
  // dismiss() it: what had begun is ended.
  void start(const HostOptions& options);

  const std::string& name() const noexcept { return lint_.note.name; }
  uint64_t number() const noexcept { return number_; }
  const Description& description() const noexcept { return description_; }
  // Its own blocks, and those that the host adds for its device, made for one publication. From
  // kStaged on; valid until the next call.
  std::vector<opyard_block> publication(const HostOptions& options);
  // Null without a device of its own. From kStaged on.
  DeviceRuntime* device() const noexcept { return device_.get(); }
  // The device that it is or works for; empty without one.
  const std::string& device_name() const noexcept { return device_name_; }
  Backend backend() const noexcept { return claim_.backend(); }
  State state() const;
  // Counts among those that the slot may have at a time.
  bool is_mapped() const;

  // Calls reach it from now on.
  void activated();
  // Calls do not reach it any more, but for those under way; it stays warm until then. Without
  // `unpublished` there was no memory to tell the callers, and it stays for good.
  void replaced(Clock::time_point warm_until, bool unpublished);
  // kWarm → kStaged; false when it is past that.
  bool recall();
  // It does not stay warm, or was never active: its end begins.
  void dismiss();
  // Before replaced(), so that that cannot fail: what becomes of its tensors, and for kShare who
  // takes them over, asked when it is time.
  using FindHeir = std::function<std::shared_ptr<Generation>()>;
  void prepare_to_leave(TensorPolicy policy, FindHeir find_heir);
  // A publication that failed may have been seen in part: its end waits for the calls under way.
  void await_callers() { await_grace(true); }
  // A change failed because of it.
  void note_failure(const Error& error);

  // Goes on with its end as far as that is possible now. The next time at which it wants to be
  // called again; nothing when it has come to its end, or needs no attention.
  std::optional<Clock::time_point> advance(const HostOptions& options);
  // Warm, or on the way to its end; rests: nothing will happen to it soon.
  bool is_going() const;
  bool rests() const;

  GenerationInfo info() const;

 private:
  // Tensors can be read as long as the plugin works, so their storages go before it is quiesced.
  enum class Step : uint8_t {
    kWait,
    kGrace,
    kSettle,
    kStorages,
    kQuiesce,
    kDrain,
    kLeases,
    kFini,
    kThread,
    kUnmap,
    kEnded
  };
  // What of the plugin's functions has succeeded.
  enum class Begun : uint8_t { kNothing, kInit, kActivate };

  Generation(uint64_t number, Wake wake) : number_(number), wake_(std::move(wake)) {}
  void initialise(StatusRoom& status);
  void read_extensions(StatusRoom& status);
  void read_device();
  void check_keys() const;
  void activate(StatusRoom& status);

  void live_elsewhere(const HostOptions& options);
  void set_state(State state);
  std::shared_ptr<std::atomic<bool>> grace() const;
  struct Mark;
  void await_grace(bool unpublished);
  std::vector<Pin> pins() const;

  // The end (generation_end.cc), on the keeper's thread.
  std::optional<Clock::time_point> go_on(const HostOptions& options);
  bool may_begin_end(Clock::time_point now, std::optional<Clock::time_point>* next);
  void enter(Step step, const HostOptions& options);
  bool finished(const HostOptions& options);
  bool steps_of_control_are_over(const HostOptions& options);
  void call_later(const char* what, int32_t (*function)(void*, uint64_t, opyard_status*),
                  const HostOptions& options);
  const char* name_of_step() const;
  bool leases_are_gone(const HostOptions& options);
  bool thread_is_gone(const HostOptions& options);
  void settle_device();
  std::shared_ptr<Generation> heir();
  void retire_device();
  void start_unmapping();
  bool is_unmapped(const HostOptions& options);
  void wait_because(const std::string& why, const HostOptions& options);
  void stay(const std::string& why);
  void say_zombie(const std::string& why);

  const uint64_t number_;
  const Wake wake_;
  FileStore* store_ = nullptr;
  StoredFile file_;
  LintReport lint_;
  std::string probe_;

  std::unique_ptr<ControlThread> control_;
  std::unique_ptr<Image> image_;
  Leases leases_;
  std::unique_ptr<HostTable> host_;
  opyard_plugin_table table_{};
  void* instance_ = nullptr;
  std::string abi_;
  Brought brought_;
  std::string device_name_;
  BackendClaim claim_;
  std::unique_ptr<DeviceRuntime> device_;
  std::vector<Library> for_device_;
  Description description_;
  std::atomic<Begun> begun_{Begun::kNothing};

  // The keeper's own.
  Step step_ = Step::kWait;
  Clock::time_point step_since_{};
  bool stayed_ = false;  // what the last look that is over has found
  Clock::time_point last_look_{};
  std::optional<std::string> left_mapped_;  // by the last step, on its thread
  bool failing_ = false;                    // its memory is being taken from its tensors
  bool failed_storages_ = false;            // … has been
  bool told_ = false;                       // the log knows what this step waits for

  mutable std::mutex mutex_;  // guards what follows
  State state_ = State::kLinted;
  Clock::time_point state_since_ = Clock::now();
  Clock::time_point warm_until_{};
  std::shared_ptr<Mark> mark_;                // made beforehand
  uint64_t grace_epoch_ = 0;                  // pins from before this one count
  std::shared_ptr<std::atomic<bool>> grace_;  // set when calls from before are over
  bool staged_ = false;                       // what is read at the start stays as it is now
  bool was_active_ = false;
  bool dismissed_ = false;
  TensorPolicy policy_ = TensorPolicy::kKeep;
  FindHeir find_heir_;
  std::vector<std::string> pinned_dependencies_;
  std::string last_error_;
  std::string why_not_unloaded_;
};

}  // namespace opyard::plugin
