#include "operators.h"
#include "subjects.h"

int main(int argc, char** argv) {
  const opyard::Registration operators = opyard::bench::register_operators();
  opyard::bench::register_opyard_calls();
  opyard::bench::register_libtorch_calls();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
