#include "opyard/core/generator.h"

#include "opyard/core/thread_state.h"

namespace opyard {

void Generator::manual_seed(uint64_t seed) noexcept {
  seed_.store(seed);
  offset_.store(0);
}

Generator& current_generator() noexcept {
  if (thread_state.generator) return *thread_state.generator;
  static auto* process_wide = new Generator(0);
  return *process_wide;
}

}  // namespace opyard
