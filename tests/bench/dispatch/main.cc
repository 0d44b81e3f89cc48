#include "operators.h"
#include "subjects.h"

int main(int argc, char** argv) {
  const opyard::Registration operators = opyard::bench::register_operators();
  opyard::bench::register_opyard_calls();
  opyard::bench::register_opyard_registry();
#if defined(OPYARD_BENCH_LIBTORCH)
  opyard::bench::register_libtorch();
#endif
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
