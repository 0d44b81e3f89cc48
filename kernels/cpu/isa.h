#pragma once

// Some files are compiled twice: for every x86-64 processor, and for those with AVX2 (their loops
// are then twice as wide; without fused multiply-add, so that results are the same bit for bit).
// The second form lives in a namespace of its own, and each file's block registers its kernels only
// when its form is the one to use.
//
// The plugin is linked with the plain objects first: of an inline function that both forms contain,
// the linker keeps the first, so that no wide instruction gets into code that others call.
#if defined(OPYARD_FOR_AVX2)
#define OPYARD_BEGIN_ISA namespace avx2 {
#define OPYARD_END_ISA }
#define OPYARD_THIS_ISA ::opyard::cpu::Isa::kAvx2
#else
#define OPYARD_BEGIN_ISA
#define OPYARD_END_ISA
#define OPYARD_THIS_ISA ::opyard::cpu::Isa::kPlain
#endif

namespace opyard::cpu {

enum class Isa { kPlain, kAvx2 };

// What this process uses: the best form that was built and that the processor can run, or what the
// environment asks for with OPYARD_CPU_ISA=plain.
Isa isa();

}  // namespace opyard::cpu
