#pragma once

#include "opyard/core/thread_state.h"

namespace opyard {

// Adds keys to this thread's included set while it lives; takes back just what it added.
class IncludeKeysGuard {
 public:
  explicit IncludeKeysGuard(KeySet keys) noexcept;
  ~IncludeKeysGuard();
  IncludeKeysGuard(const IncludeKeysGuard&) = delete;
  IncludeKeysGuard& operator=(const IncludeKeysGuard&) = delete;

 private:
  KeySet added_;
};

// The same for the excluded set, which holds functionality bits only: excluding CPU takes the
// whole Dense functionality away and never clears a backend bit.
class ExcludeKeysGuard {
 public:
  explicit ExcludeKeysGuard(KeySet keys) noexcept;
  ~ExcludeKeysGuard();
  ExcludeKeysGuard(const ExcludeKeysGuard&) = delete;
  ExcludeKeysGuard& operator=(const ExcludeKeysGuard&) = delete;

 private:
  KeySet added_;
};

// Replaces both sets, and puts both back.
class ForceKeysGuard {
 public:
  ForceKeysGuard(KeySet included, KeySet excluded) noexcept;
  ~ForceKeysGuard();
  ForceKeysGuard(const ForceKeysGuard&) = delete;
  ForceKeysGuard& operator=(const ForceKeysGuard&) = delete;

 private:
  KeySet included_;
  KeySet excluded_;
};

// Runs what it encloses below all Autograd keys, or below ADInplaceOrView as well.
class BelowAutogradGuard : public ExcludeKeysGuard {
 public:
  BelowAutogradGuard() noexcept;
};
class BelowADInplaceOrViewGuard : public ExcludeKeysGuard {
 public:
  BelowADInplaceOrViewGuard() noexcept;
};

// Inference mode's part of the thread state: while it lives, gradients are off (on for `false`),
// calls bring no ADInplaceOrView of their own and pass by all Autograd keys, and new tensors carry
// neither. May be nested, true in false and the other way round; puts everything back.
class InferenceModeGuard {
 public:
  explicit InferenceModeGuard(bool enabled = true) noexcept;
  ~InferenceModeGuard();
  InferenceModeGuard(const InferenceModeGuard&) = delete;
  InferenceModeGuard& operator=(const InferenceModeGuard&) = delete;

 private:
  ForceKeysGuard keys_;
  uint32_t flags_;
};

inline bool in_inference_mode() noexcept { return thread_state.flags & kThreadInferenceMode; }

// What a task takes along when it moves to another thread. The pinned root and the epoch slot
// stay behind: they belong to the thread.
class ThreadStateSnapshot {
 public:
  static ThreadStateSnapshot take() noexcept;
  // The state of a fresh thread.
  ThreadStateSnapshot() noexcept = default;

  ThreadStateSnapshot& with_generator(Generator* generator) noexcept;
  ThreadStateSnapshot& with_budget(AllocationBudget* budget) noexcept;
  ThreadStateSnapshot& with_flags(uint32_t flags) noexcept;

 private:
  friend class ThreadStateGuard;
  ThreadState state_{};
};

// Installs a snapshot on this thread, puts the old state back at the end.
class ThreadStateGuard {
 public:
  explicit ThreadStateGuard(const ThreadStateSnapshot& snapshot) noexcept;
  ~ThreadStateGuard();
  ThreadStateGuard(const ThreadStateGuard&) = delete;
  ThreadStateGuard& operator=(const ThreadStateGuard&) = delete;

 private:
  ThreadStateSnapshot previous_;
};

void set_included_keys(KeySet keys) noexcept;
void set_excluded_keys(KeySet keys) noexcept;

}  // namespace opyard
