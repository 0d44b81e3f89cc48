#pragma once

#include <memory>
#include <string>
#include <vector>

#include "opyard/dispatch/dispatcher.h"

namespace opyard::plugin {

// A plugin that is mapped, active, and registered with Dispatcher::global(). Its registrations
// leave with it, then it is ended: at once, or after the call when it is left from within one. The
// file stays mapped (unloading with proof is the swap protocol's part). Not thread-safe; different
// plugins are independent.
class Plugin {
 public:
  Plugin(Plugin&&) noexcept;
  Plugin& operator=(Plugin&&) = delete;
  ~Plugin();

  const std::string& name() const noexcept;
  const std::string& version() const noexcept;
  const std::string& path() const noexcept;
  uint64_t generation() const noexcept;
  // Kernels and fallbacks that it registered, structured wrappers not counted.
  size_t kernel_count() const noexcept;

 private:
  friend Plugin load(const std::string& path);
  struct State;
  explicit Plugin(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

// Maps the file, shakes hands, initialises, activates, and publishes its kernels in one step.
// Raises NOT_FOUND for a file that is not there; FAILED_PRECONDITION for one that is no plugin,
// speaks another version of the interface or brings C++ kernels of another build, and from within
// an operator call; INVALID_ARGUMENT for records that are not sound; and what the plugin itself
// says. Nothing stays registered then.
[[nodiscard]] Plugin load(const std::string& path);

}  // namespace opyard::plugin
