#pragma once

#include <cstdint>
#include <string>

namespace opyard::plugin {

// Instructions beyond a machine's base.
struct Isa {
  uint32_t level = 0;     // on x86-64 the psABI's, 1 to 4; elsewhere 0
  uint32_t features = 0;  // bits of opyard_isa_feature
};

// What code may use here: the processor has it (CPUID) and the system saves its registers (XGETBV).
// A thread that wants AMX has to ask the kernel for its registers besides. Any thread.
Isa machine_isa() noexcept;

// Empty when `has` covers what a note asks for; otherwise what is missing, for people: "x86-64-v4
// (this machine reaches x86-64-v3)".
std::string missing_isa(const Isa& wanted, const Isa& has);

}  // namespace opyard::plugin
