#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "opyard/dispatch/dispatcher.h"
#include "opyard/plugin/generation.h"
#include "opyard/plugin/hits.h"
#include "opyard/plugin/host.h"
#include "opyard/plugin/quiet_thread.h"

namespace opyard::plugin {

// A place for the generations of one plugin.
struct Slot {
  explicit Slot(std::string name) : name(std::move(name)) {}

  const std::string name;
  Registration registration;  // of the active one; for the change that is under way

  // Guarded by Host::Parts::mutex_.
  std::string under_way;  // "swap": the others wait for it; empty: none is
  Clock::time_point under_way_since{};
  std::shared_ptr<Generation> active;
  std::deque<std::shared_ptr<Generation>> generations;  // newest first
  uint64_t changes = 0;
  uint64_t refused = 0;
};

// What a generation takes over, and what came of it.
struct Install {
  Slot& slot;
  std::shared_ptr<Generation> next;
  std::shared_ptr<Generation> old;  // null: the slot is empty
  const ChangeOptions& options;
  ChangeReport report;
};

// What the Host is made of. It lives as long as the process.
class Host::Parts {
 public:
  Parts();

  HostOptions options() const;
  void configure(HostOptions options);
  FileStore& store();
  uint64_t next_number() { return ++numbers_; }

  // Null when there is none.
  std::shared_ptr<Slot> find_slot(std::string_view name) const;
  std::shared_ptr<Slot> get_slot(std::string_view name) const;
  std::shared_ptr<Slot> make_slot(const std::string& name);
  std::vector<std::shared_ptr<Slot>> slots() const;
  std::shared_ptr<Generation> active(const Slot& slot) const;
  std::vector<std::shared_ptr<Generation>> generations(const Slot& slot) const;
  SlotInfo info(const Slot& slot) const;  // without generations
  void add(Slot& slot, std::shared_ptr<Generation> generation);
  // The slot's active generation is now this one, or none; counted as a change.
  void set_active(Slot& slot, std::shared_ptr<Generation> generation);

  // Waits until one more generation may be mapped, those not counted that the next change ends;
  // RESOURCE_EXHAUSTED after the patience, saying what the others wait for.
  void check_room(Slot& slot);
  // Ends the oldest warm generations as far as there are more than the slot may have.
  void trim(Slot& slot);
  // Waits until `generation` has come to an end, or is found not to; false after the patience.
  bool await_end(const Generation& generation, std::chrono::milliseconds patience);
  bool settle(std::chrono::milliseconds patience);
  void start_keeper();
  // Any thread: something may go on.
  void wake();

  HitCounter hits;
  std::mutex devices;  // held while a change concerns devices, from its checks to its publication

 private:
  friend class Change;
  void keep();
  std::vector<std::shared_ptr<Generation>> going() const;
  void forget_ended();

  mutable std::mutex mutex_;
  std::condition_variable woken_;    // for the keeper
  std::condition_variable changed_;  // the keeper has been at it
  // Guarded by mutex_.
  HostOptions options_;
  std::map<std::string, std::shared_ptr<Slot>, std::less<>> slots_;
  bool awake_ = false;
  QuietThread keeper_;

  std::atomic<uint64_t> numbers_{0};
  std::once_flag store_made_;
  std::unique_ptr<FileStore> store_;
};

// One change of a slot, from its begin to its end: others wait for it. Counts as refused unless
// done() is said.
class Change {
 public:
  // ABORTED when another change of the slot does not end.
  Change(Host::Parts& parts, std::shared_ptr<Slot> slot, std::string what);
  ~Change();
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;
  void done() noexcept { done_ = true; }

 private:
  Host::Parts& parts_;
  const std::shared_ptr<Slot> slot_;
  bool done_ = false;
};

}  // namespace opyard::plugin
