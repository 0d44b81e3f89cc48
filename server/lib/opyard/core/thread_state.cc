#include "opyard/core/thread_state.h"

#include "opyard/core/local_keys.h"

namespace opyard {

thread_local constinit ThreadState thread_state{};

namespace {

void carry(ThreadState* to, const ThreadState& from) noexcept {
  const Root* root = to->root;
  EpochSlot* slot = to->slot;
  *to = from;
  to->root = root;
  to->slot = slot;
}

}  // namespace

void set_included_keys(KeySet keys) noexcept { thread_state.included = keys.bits(); }
void set_excluded_keys(KeySet keys) noexcept {
  thread_state.kept = ~(keys.bits() & KeySet::kFunctionalityBits);
}

IncludeKeysGuard::IncludeKeysGuard(KeySet keys) noexcept
    : added_(keys.bits() & ~included_keys().bits()) {
  set_included_keys(included_keys() | added_);
}
IncludeKeysGuard::~IncludeKeysGuard() {
  set_included_keys(KeySet(included_keys().bits() & ~added_.bits()));
}

ExcludeKeysGuard::ExcludeKeysGuard(KeySet keys) noexcept
    : added_(keys.bits() & KeySet::kFunctionalityBits & ~excluded_keys().bits()) {
  set_excluded_keys(excluded_keys() | added_);
}
ExcludeKeysGuard::~ExcludeKeysGuard() { set_excluded_keys(excluded_keys() - added_); }

ForceKeysGuard::ForceKeysGuard(KeySet included, KeySet excluded) noexcept
    : included_(included_keys()), excluded_(excluded_keys()) {
  set_included_keys(included);
  set_excluded_keys(excluded);
}
ForceKeysGuard::~ForceKeysGuard() {
  set_included_keys(included_);
  set_excluded_keys(excluded_);
}

BelowAutogradGuard::BelowAutogradGuard() noexcept : ExcludeKeysGuard(kAutogradKeys) {}
BelowADInplaceOrViewGuard::BelowADInplaceOrViewGuard() noexcept
    : ExcludeKeysGuard(kAutogradKeys.add(DispatchKey::ADInplaceOrView)) {}

namespace {
constexpr uint32_t kInferenceFlags = kThreadInferenceMode | kThreadNoGrad;

KeySet included_in_mode(bool inference) {
  return inference ? included_keys().remove(DispatchKey::ADInplaceOrView)
                   : included_keys().add(DispatchKey::ADInplaceOrView);
}
KeySet excluded_in_mode(bool inference) {
  return inference ? excluded_keys() | kAutogradKeys : excluded_keys() - kAutogradKeys;
}
}  // namespace

InferenceModeGuard::InferenceModeGuard(bool enabled) noexcept
    : keys_(included_in_mode(enabled), excluded_in_mode(enabled)),
      flags_(thread_state.flags & kInferenceFlags) {
  thread_state.flags = (thread_state.flags & ~kInferenceFlags) | (enabled ? kInferenceFlags : 0);
}
InferenceModeGuard::~InferenceModeGuard() {
  thread_state.flags = (thread_state.flags & ~kInferenceFlags) | flags_;
}

ThreadStateSnapshot ThreadStateSnapshot::take() noexcept {
  ThreadStateSnapshot snapshot;
  carry(&snapshot.state_, thread_state);
  return snapshot;
}
ThreadStateSnapshot& ThreadStateSnapshot::with_generator(Generator* generator) noexcept {
  state_.generator = generator;
  return *this;
}
ThreadStateSnapshot& ThreadStateSnapshot::with_budget(AllocationBudget* budget) noexcept {
  state_.budget = budget;
  return *this;
}
ThreadStateSnapshot& ThreadStateSnapshot::with_flags(uint32_t flags) noexcept {
  state_.flags = flags;
  return *this;
}

ThreadStateGuard::ThreadStateGuard(const ThreadStateSnapshot& snapshot) noexcept
    : previous_(ThreadStateSnapshot::take()) {
  carry(&thread_state, snapshot.state_);
}
ThreadStateGuard::~ThreadStateGuard() { carry(&thread_state, previous_.state_); }

}  // namespace opyard
