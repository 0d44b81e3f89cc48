#pragma once

#include <functional>
#include <memory>
#include <string>

#include "opyard/plugin/describe.h"
#include "opyard/plugin/file_store.h"
#include "opyard/plugin/image.h"

namespace opyard::worker {

// Takes away from a host's table what is to fail.
using Weakness = std::function<void(opyard_host& host)>;

// How a life at a weak host went.
struct TrialEnd {
  std::string refused;  // by the plugin, at its start: which is its right
  std::string problem;  // what speaks against it
};

// One life of a plugin, step by step and without the Host, so that the host's functions can fail.
// `while_active` is called with what it brought, registered with the global dispatcher; not when
// it starts no further. Null: nothing is registered. What it crashes or hangs at has been reported
// as a step before.
TrialEnd live_at_weak_host(const std::string& path, const Weakness& weakness,
                           const std::function<void(const plugin::Description&)>& while_active);

}  // namespace opyard::worker
