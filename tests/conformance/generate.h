#pragma once

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernels/reference/reference.h"
#include "opyard/core/ivalue.h"

// Random calls of operators, each with what the reference says of it.
namespace opyard::conformance {

struct Case {
  std::string op;           // "aten::add.Tensor"
  std::string out_op;       // its form with an `out` argument at the end; empty: none
  std::string in_place_op;  // its form that writes into the first argument; empty: not for these
  std::vector<IValue> arguments;
  reference::Array wanted;                  // not rounded yet
  ScalarType dtype = ScalarType::kFloat32;  // of the result
  double tolerance = 0;                     // relative and absolute, for real results
};

// One source of randomness: all of a case follows from its seed.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  int64_t between(int64_t low, int64_t high);  // both included
  bool chance(double probability);
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(between(0, static_cast<int64_t>(from.size()) - 1))];
  }

  std::vector<int64_t> sizes(int64_t max_dims = 4);
  // Some sizes become 1 and leading ones may go: broadcasts to the original.
  std::vector<int64_t> narrowed(std::vector<int64_t> sizes);
  ScalarType dtype(bool with_bool = true);
  ScalarType real_dtype();
  // Contiguous, permuted, with gaps or with steps of 0, and at an offset; for reals a few nan and
  // infinities unless `tame`.
  Tensor tensor(const std::vector<int64_t>& sizes, ScalarType dtype, bool tame = false);
  // Memory for results: any strides, no two elements in one place.
  Tensor place(const std::vector<int64_t>& sizes, ScalarType dtype);

 private:
  Tensor strided(const std::vector<int64_t>& sizes, ScalarType dtype, bool may_expand);
  void fill(const Tensor& tensor, bool tame);

  std::mt19937_64 engine_;
};

// The operators that there are cases for, and a case of one.
const std::vector<std::string>& operators();
Case make_case(const std::string& op, Random& random);

}  // namespace opyard::conformance
