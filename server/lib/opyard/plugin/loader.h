#pragma once

#include <memory>
#include <string>
#include <vector>

#include "opyard/dispatch/dispatcher.h"

namespace opyard::plugin {

// A plugin that is mapped, initialised, and registered with Dispatcher::global(). Its registrations
// leave with it; the file stays mapped (unloading with proof is the swap protocol's part). Not
// thread-safe; different plugins are independent.
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

// Maps the file, shakes hands, initialises, and publishes its kernels in one step. Raises NOT_FOUND
// for a file that is not there, FAILED_PRECONDITION for one that is no plugin, speaks another ABI
// or brings C++ kernels of another build, and what the plugin's own init says; nothing stays
// registered then.
[[nodiscard]] Plugin load(const std::string& path);

}  // namespace opyard::plugin
