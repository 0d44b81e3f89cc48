#include <algorithm>
#include <limits>
#include <numeric>

#include "tests/conformance/generate.h"

namespace opyard::conformance {
namespace {

template <typename T>
void put(const Tensor& storage, int64_t at, double value) {
  storage.data<T>()[at] = static_cast<T>(value);
}

}  // namespace

int64_t Random::between(int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(engine_);
}
bool Random::chance(double probability) {
  return std::bernoulli_distribution(probability)(engine_);
}

std::vector<int64_t> Random::sizes(int64_t max_dims) {
  // Now and then enough elements for several threads.
  if (max_dims >= 2 && chance(0.01)) return {between(150, 300), between(400, 600)};
  std::vector<int64_t> result(static_cast<size_t>(between(0, max_dims)));
  for (int64_t& size : result) size = chance(0.05) ? 0 : chance(0.2) ? 1 : between(2, 9);
  return result;
}

std::vector<int64_t> Random::narrowed(std::vector<int64_t> sizes) {
  for (int64_t& size : sizes) {
    if (chance(0.3)) size = 1;
  }
  while (!sizes.empty() && chance(0.2)) sizes.erase(sizes.begin());
  return sizes;
}

ScalarType Random::dtype(bool with_bool) {
  static const std::vector<ScalarType> kAll = {ScalarType::kFloat32, ScalarType::kFloat64,
                                               ScalarType::kInt64,   ScalarType::kInt32,
                                               ScalarType::kUInt8,   ScalarType::kBool};
  const ScalarType picked = pick(kAll);
  return !with_bool && picked == ScalarType::kBool ? ScalarType::kFloat32 : picked;
}
ScalarType Random::real_dtype() {
  return chance(0.5) ? ScalarType::kFloat32 : ScalarType::kFloat64;
}

Tensor Random::strided(const std::vector<int64_t>& sizes, ScalarType dtype, bool may_expand) {
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  if (chance(0.5)) std::shuffle(order.begin(), order.end(), engine_);
  const bool gaps = chance(0.4);
  Dims strides(sizes.size(), 0);
  int64_t step = gaps ? between(1, 3) : 1;
  for (auto dim = order.rbegin(); dim != order.rend(); ++dim) {
    const int64_t size = sizes[*dim];
    if (may_expand && chance(0.1)) continue;  // all entries in one place
    strides[*dim] = step;
    step *= std::max<int64_t>(1, size);
    if (gaps && chance(0.5)) step += between(1, 3);
  }
  const int64_t offset = chance(0.3) ? between(1, 5) : 0;
  const Tensor storage = make_tensor({step + offset + 8}, dtype);
  return view_of(storage, sizes, strides, offset);
}

void Random::fill(const Tensor& tensor, bool tame) {
  // Everything in the storage, gaps too: what a kernel should not touch has values as well.
  const auto n = static_cast<int64_t>(tensor.storage()->nbytes() / element_size(tensor.dtype()));
  const Tensor all = view_of(tensor, {n}, {1}, 0);
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::vector<double> special = {std::numeric_limits<double>::quiet_NaN(), kInf, -kInf, 0,
                                       -0.0};
  const bool wild = !tame && chance(0.5);
  std::uniform_real_distribution<double> real(-4, 4);
  for (int64_t i = 0; i < n; ++i) {
    const double number = wild && chance(0.05) ? pick(special) : real(engine_);
    switch (all.dtype()) {
      case ScalarType::kFloat32:
        put<float>(all, i, number);
        break;
      case ScalarType::kFloat64:
        put<double>(all, i, number);
        break;
      case ScalarType::kInt64:
        put<int64_t>(all, i, static_cast<double>(between(-9, 9)));
        break;
      case ScalarType::kInt32:
        put<int32_t>(all, i, static_cast<double>(between(-9, 9)));
        break;
      case ScalarType::kUInt8:
        put<uint8_t>(all, i, static_cast<double>(between(0, 255)));
        break;
      default:
        put<bool>(all, i, static_cast<double>(between(0, 1)));
    }
  }
}

Tensor Random::tensor(const std::vector<int64_t>& sizes, ScalarType dtype, bool tame) {
  Tensor result = strided(sizes, dtype, true);
  fill(result, tame);
  return result;
}

Tensor Random::place(const std::vector<int64_t>& sizes, ScalarType dtype) {
  Tensor result = strided(sizes, dtype, false);
  fill(result, false);
  return result;
}

}  // namespace opyard::conformance
