#include <gtest/gtest.h>

#include "kernels/cpu/kernels.h"
#include "kernels/shape/compute_gate.h"
#include "opyard/core/thread_state.h"
#include "tests/unit/kernels/cpu/tensors.h"

namespace opyard::cpu {
namespace {

using namespace test;

IntrusivePtr<Generator> generator(uint64_t seed) {
  return IntrusivePtr<Generator>::adopt(new Generator(seed));
}

struct Moments {
  double mean = 0;
  double variance = 0;
};
Moments moments(const Tensor& t) {
  Moments m;
  const auto all = values(t);
  for (const double v : all) m.mean += v / static_cast<double>(all.size());
  for (const double v : all) {
    m.variance += (v - m.mean) * (v - m.mean) / static_cast<double>(all.size());
  }
  return m;
}

TEST(CpuRandom, SeedAndOrderOfCallsDecide) {
  for (const ScalarType dtype : {ScalarType::kFloat32, ScalarType::kFloat64}) {
    const auto one = generator(7);
    const auto other = generator(7);
    Tensor a = make_tensor({9}, dtype), b = make_tensor({9}, dtype), c = make_tensor({9}, dtype);
    normal(0, 1, one, a);
    normal(0, 1, other, b);
    EXPECT_EQ(values(a), values(b));
    normal(0, 1, one, c);
    EXPECT_NE(values(a), values(c));
    normal(0, 1, generator(8), b);
    EXPECT_NE(values(a), values(b));
  }
}

TEST(CpuRandom, TheThreadsGeneratorIsUsedByDefault) {
  const auto mine = generator(3);
  Generator* before = thread_state.generator;
  thread_state.generator = mine.get();
  Tensor a = make_tensor({4}, ScalarType::kFloat32), b = make_tensor({4}, ScalarType::kFloat32);
  uniform(0, 1, nullptr, a);
  thread_state.generator = before;
  uniform(0, 1, generator(3), b);
  EXPECT_EQ(values(a), values(b));
  EXPECT_EQ(mine->offset(), 1u);  // one block of four words
}

TEST(CpuRandom, NumbersDoNotDependOnThreadsOrStrides) {
  const int threads = shape::compute_threads();
  Tensor one = make_tensor({500, 301}, ScalarType::kFloat32);
  shape::set_compute_threads(1);
  normal(0, 1, generator(5), one);
  shape::set_compute_threads(4);
  Tensor many = transposed(make_tensor({301, 500}, ScalarType::kFloat32));
  normal(0, 1, generator(5), many);
  shape::set_compute_threads(threads);
  EXPECT_EQ(values(one), values(many));
}

TEST(CpuRandom, UniformStaysInItsInterval) {
  for (const ScalarType dtype : {ScalarType::kFloat32, ScalarType::kFloat64}) {
    Tensor a = make_tensor({100000}, dtype);
    uniform(0, 1, generator(1), a);
    const Moments m = moments(a);
    EXPECT_NEAR(m.mean, 0.5, 0.005);
    EXPECT_NEAR(m.variance, 1.0 / 12, 0.002);
    for (const double v : values(a)) ASSERT_TRUE(v >= 0 && v < 1);
    // So narrow that rounding would reach the end often.
    uniform(1, std::nextafter(1.0f, 2.0f), generator(1), a);
    for (const double v : values(a)) ASSERT_LT(v, std::nextafter(1.0f, 2.0f));
    uniform(2, 2, generator(1), a);
    EXPECT_EQ(values(a)[0], 2);
  }
}

TEST(CpuRandom, NormalHasItsMoments) {
  Tensor a = make_tensor({200000}, ScalarType::kFloat32);
  normal(3, 2, generator(11), a);
  const Moments m = moments(a);
  EXPECT_NEAR(m.mean, 3, 0.03);
  EXPECT_NEAR(m.variance, 4, 0.08);
  for (const double v : values(a)) ASSERT_TRUE(std::isfinite(v));
}

TEST(CpuRandom, IntegersAreRefused) {
  Tensor a = make_tensor({2}, ScalarType::kInt64);
  expect_error(Code::kUnimplemented, "int64", [&] { uniform(0, 1, generator(1), a); });
}

TEST(CpuArange, WholeAndReal) {
  Tensor whole = make_tensor({4}, ScalarType::kInt32);
  arange(5, 0, -2, whole);
  expect_values(whole, {5, 3, 1, -1});
  Tensor real = make_tensor({3}, ScalarType::kFloat32);
  arange(1, 2, 0.25, real);
  expect_values(real, {1, 1.25, 1.5});
  Tensor turned = transposed(make_tensor({2, 2}, ScalarType::kInt64));
  arange(0, 4, 1, turned);
  expect_values(turned, {0, 1, 2, 3});
}

}  // namespace
}  // namespace opyard::cpu
