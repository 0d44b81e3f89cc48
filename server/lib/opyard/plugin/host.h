#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opyard/plugin/leases.h"

namespace opyard {
template <typename T>
class NoDestructor;
}

namespace opyard::plugin {

class Generation;
struct Description;  // describe.h
struct Install;
struct Slot;

// Where a generation is in its life. What has failed before it was active is kept for a while as
// kFailed; kClosed and kZombie are the two ends.
enum class State : uint8_t {
  kLinted,       // the file was copied and read; no code of it has run
  kProbed,       // … and has lived a whole life in a process of its own
  kMapped,       // its code is in this process
  kInitialised,  // init has succeeded
  kStaged,       // active by its own account, and judged against the tables
  kActive,       // calls reach it
  kWarm,         // replaced, but as it was: a rollback makes it active again
  kRetiring,     // calls from before may still be inside
  kDrained,      // none is: it has ended its threads and its work
  kIdle,         // … and nothing holds a lease
  kFinalised,    // fini has returned
  kClosed,       // proved unmapped
  kZombie,       // stays mapped; why_not_unloaded says why
  kFailed,       // was never active; last_error says why
};
std::string_view to_string(State state) noexcept;

// What becomes of tensors whose memory belongs to a generation that goes.
enum class TensorPolicy : uint8_t {
  kKeep,   // they live on; the old generation stays until the last is gone
  kShare,  // the new generation takes the old one's memory over: same plugin, same device
  kFail,   // after the patience their memory goes; a later use is FAILED_PRECONDITION
};

// How a plugin takes a place. Everything that would take something from callers is refused unless
// allowed here; the message names the option.
struct ChangeOptions {
  bool allow_schema_change = false;  // an operator may get another schema
  bool allow_loss = false;           // operators or kernels may go
  bool allow_downgrade = false;      // typed kernels may become boxed ones
  bool probe = true;                 // in a process of its own first (see HostOptions::worker)
  TensorPolicy tensors = TensorPolicy::kKeep;
  // How long the one that was replaced stays ready for a rollback; unset: the host's.
  std::optional<std::chrono::milliseconds> keep_warm;
};

struct HostOptions {
  // Generations' files are copied here; empty: a folder of this process in the temporary directory.
  std::string cache_dir;
  // The program that probes; empty: opyard-worker in ../bin seen from the library's folder. Where
  // there is none, nothing is probed, and reports say so.
  std::string worker;
  std::chrono::milliseconds probe_patience{20'000};
  std::chrono::milliseconds keep_warm{60'000};
  std::chrono::milliseconds patience{5'000};  // for quiesce, for drain, and before blame is logged
  uint32_t residents = 4;                     // generations of one slot that are mapped at a time
  // Files and their folders must belong to root or to this user, and nobody else may write there.
  bool check_owner = false;
  // Backends whose missing operators are computed on the CPU.
  bool cpu_fallback = true;
};

struct KernelInfo {
  std::string op;   // "aten::add.Tensor"; "_" for a fallback
  std::string key;  // "CPU"
  bool typed = false;
  std::string why_boxed;  // of one that is called boxed
};

// A thread that was in a call when asked, and keeps what went before that from being freed.
struct Pin {
  int64_t thread_id = 0;
  std::string holder;  // the operator; "a frame" for one of those
  uint64_t age_ns = 0;
};

struct GenerationInfo {
  uint64_t number = 0;  // counts generations of the process, from 1
  State state = State::kLinted;
  std::string file;  // name in the directory that it came from
  std::string path;  // of the copy that is mapped
  std::string hash;  // of the file's bytes: XXH3, 128 bits
  std::string version;
  std::string abi;  // "1.0", as agreed
  std::string fingerprint;
  bool same_build = false;  // as this library's: its typed kernels are used
  std::string probe;        // "passed in 31 ms", "not probed: …"
  std::vector<KernelInfo> kernels;
  uint64_t hits_typed = 0;  // calls that entered one of its kernels while calls were counted
  uint64_t hits_boxed = 0;
  std::vector<Pin> pins;  // of those that keep it, when it is retiring
  std::array<uint64_t, kNumLeaseKinds> leases{};
  uint64_t bytes_held = 0;  // device memory behind its storage leases
  // Calls that the CPU computed because its device has no kernel, by operator.
  std::vector<std::pair<std::string, uint64_t>> fallbacks;
  std::vector<std::string> pinned_dependencies;
  std::vector<std::string> warnings;  // of lint and probe
  std::string last_error;
  std::string
      why_not_unloaded;  // of one that is not closed: what it waits for, or why it never will
  uint64_t age_ms = 0;   // since its state was reached
};

// A place that generations of one plugin take one after the other; named as the plugin names
// itself.
struct SlotInfo {
  std::string name;
  std::string device;                       // the device whose runtime it is, or empty
  std::string backend;                      // "PrivateUse1", for such a device
  uint64_t active = 0;                      // number of the generation; 0: none
  uint64_t changes = 0;                     // loads, swaps, rollbacks and unloads that came to pass
  uint64_t refused = 0;                     // … and that did not
  std::vector<GenerationInfo> generations;  // newest first; ended ones for a while
};

// What a change did.
struct ChangeReport {
  std::string slot;
  uint64_t old_generation = 0;  // 0: none was active
  uint64_t new_generation = 0;
  uint64_t publish_ns = 0;  // between the old kernels and the new ones, seen from a caller
  uint64_t total_ns = 0;
  State old_state = State::kClosed;  // as the call returns
  std::string note;                  // for people: what was left out and why
  std::vector<std::string> lost;     // operators and kernels that went, "aten::add.Tensor at CPU"
};

// What differs between two builds of a plugin; the preflight of a swap.
struct Difference {
  enum class Kind : uint8_t {
    kOperatorAdded,
    kOperatorLost,
    kSchemaChanged,
    kKernelAdded,
    kKernelLost,
    kNowTyped,
    kNowBoxed,
    kFlags,  // note: ABI, ISA, unload class, claims, version
  };
  Kind kind;
  std::string what;  // "aten::add.Tensor at CPU"
  std::string before;
  std::string after;
  // The option that a swap wants for it; empty when it takes nothing from anybody.
  std::string needs;
};
std::string_view to_string(Difference::Kind kind) noexcept;

// The plugins of this process: slots, the generations in them, and how one takes another's place
// while calls go on. Files are given as paths here; runtime/yard makes names of them. Changes of
// one slot happen one after the other, those of different slots beside each other. Every method may
// be called from any thread that is not within an operator call (FAILED_PRECONDITION there), and
// raises opyard::Error; after an error the slot, its traffic and all other plugins are as before.
class Host {
 public:
  static Host& global();

  // Before the first load; later only what does not concern what is loaded already takes effect.
  void configure(HostOptions options);
  HostOptions options() const;

  // Makes the folder for files and the thread that brings generations to their end, which the first
  // load does otherwise; raises what these raise.
  void start();

  // Fills an empty slot. ALREADY_EXISTS when its plugin is active (swap it instead).
  ChangeReport load(const std::string& path, const ChangeOptions& options = {});
  // Exchanges the active generation of `slot` for the plugin in the file, in one publication.
  // NOT_FOUND: no such slot. INVALID_ARGUMENT: the file is another plugin.
  ChangeReport swap(std::string_view slot, const std::string& path,
                    const ChangeOptions& options = {});
  // Takes the active generation away. FAILED_PRECONDITION for a device that other plugins have
  // kernels for. Waits for its end within the patience; then it goes on by
  // itself and the report says what it waits for.
  ChangeReport unload(std::string_view slot, const ChangeOptions& options = {});
  // Makes the newest warm generation active again: one publication, no code of the plugin runs but
  // its kernels. FAILED_PRECONDITION when none is warm.
  ChangeReport rollback(std::string_view slot, const ChangeOptions& options = {});

  // What a swap of `slot` to the file would change. The file is mapped in the worker only;
  // UNAVAILABLE without one.
  std::vector<Difference> diff(std::string_view slot, const std::string& path);

  // What the active generation of `slot` brings.
  Description describe(std::string_view slot) const;

  std::vector<SlotInfo> list() const;
  // Counts entries into kernels from now on (see GenerationInfo::hits_typed). Costs every call some
  // tens of nanoseconds while it is on.
  void count_hits(bool on);

  // Waits until no generation but the active and the warm ones is on its way to its end; false when
  // that took longer.
  bool settle(std::chrono::milliseconds patience);

 private:
  friend class NoDestructor<Host>;
  friend class Change;
  class Parts;
  Host();
  ~Host();
  static void check_devices(Parts& parts, const Slot& slot, const Generation* next,
                            const Generation* old);
  void take_place(Install& change);
  ChangeReport install(Slot& slot, std::shared_ptr<Generation> next,
                       std::shared_ptr<Generation> old, const ChangeOptions& options);
  std::unique_ptr<Parts> parts_;
};

}  // namespace opyard::plugin
