#include "opyard/plugin/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <array>
#include <utility>

#include "opyard/base/check.h"
#include "opyard_plugin.h"

namespace opyard::plugin {
namespace {

constexpr std::array<std::pair<uint32_t, const char*>, 4> kFeatures = {{
    {OPYARD_ISA_AVX512_BF16, "AVX512_BF16"},
    {OPYARD_ISA_AVX512_VNNI, "AVX512_VNNI"},
    {OPYARD_ISA_AMX_TILE, "AMX_TILE"},
    {OPYARD_ISA_AVX_VNNI, "AVX_VNNI"},
}};

#if defined(__x86_64__)

struct Registers {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// All zero for a leaf that the processor does not have.
Registers cpuid(uint32_t leaf, uint32_t part = 0) noexcept {
  Registers r;
  if (!__get_cpuid_count(leaf, part, &r.eax, &r.ebx, &r.ecx, &r.edx)) return {};
  return r;
}

constexpr uint32_t bits(std::initializer_list<int> numbers) noexcept {
  uint32_t mask = 0;
  for (const int number : numbers) mask |= 1u << number;
  return mask;
}
constexpr bool all(uint32_t value, uint32_t mask) noexcept { return (value & mask) == mask; }

// Which registers the system saves.
uint64_t saved_state(const Registers& base) noexcept {
  if (!all(base.ecx, bits({27}))) return 0;  // OSXSAVE
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t{high} << 32) | low;
}

// Bits as the processor manuals number them, levels as the x86-64 psABI lists them.
Isa look() noexcept {
  const Registers base = cpuid(1);
  const Registers more = cpuid(7, 0);
  const Registers newer = more.eax >= 1 ? cpuid(7, 1) : Registers{};
  const Registers amd = cpuid(0x80000001);
  const uint64_t saved = saved_state(base);
  const bool ymm = (saved & 0x6) == 0x6;
  const bool zmm = (saved & 0xe6) == 0xe6;
  const bool tiles = (saved & 0x60000) == 0x60000;

  Isa isa{1, 0};
  // SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT; LAHF
  const bool v2 = all(base.ecx, bits({0, 9, 13, 19, 20, 23})) && all(amd.ecx, bits({0}));
  // FMA, MOVBE, OSXSAVE, AVX, F16C; BMI1, AVX2, BMI2; LZCNT
  const bool v3 = v2 && ymm && all(base.ecx, bits({12, 22, 27, 28, 29})) &&
                  all(more.ebx, bits({3, 5, 8})) && all(amd.ecx, bits({5}));
  // AVX-512 F, DQ, CD, BW, VL
  const bool v4 = v3 && zmm && all(more.ebx, bits({16, 17, 28, 30, 31}));
  isa.level = v4 ? 4 : v3 ? 3 : v2 ? 2 : 1;
  if (zmm && all(newer.eax, bits({5}))) isa.features |= OPYARD_ISA_AVX512_BF16;
  if (zmm && all(more.ecx, bits({11}))) isa.features |= OPYARD_ISA_AVX512_VNNI;
  if (tiles && all(more.edx, bits({24}))) isa.features |= OPYARD_ISA_AMX_TILE;
  if (ymm && all(newer.eax, bits({4}))) isa.features |= OPYARD_ISA_AVX_VNNI;
  return isa;
}

#else

Isa look() noexcept { return {}; }

#endif

}  // namespace

Isa machine_isa() noexcept {
  static const Isa isa = look();
  return isa;
}

std::string missing_isa(const Isa& wanted, const Isa& has) {
  if (wanted.level > has.level) {
    return has.level == 0
               ? str_cat("a level of the x86-64 instruction set (this machine is another)")
               : str_cat("x86-64-v", wanted.level, " (this machine reaches x86-64-v", has.level,
                         ")");
  }
  std::string text;
  uint32_t rest = wanted.features & ~has.features;
  for (const auto& [bit, name] : kFeatures) {
    if (rest & bit) text += str_cat(text.empty() ? "" : ", ", name);
    rest &= ~bit;
  }
  if (rest != 0) {
    text += str_cat(text.empty() ? "" : ", ", "features that this host does not know (bits ", rest,
                    ")");
  }
  return text;
}

}  // namespace opyard::plugin
