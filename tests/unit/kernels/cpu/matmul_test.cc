#include <gtest/gtest.h>

#include <random>

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/kernels.h"
#include "tests/unit/kernels/cpu/tensors.h"

namespace opyard::cpu {
namespace {

using namespace test;

template <typename T>
class CpuMatmul : public testing::Test {
 protected:
  static constexpr ScalarType kType = detail::CppScalarType<T>::kValue;

  Tensor random(IntList sizes) {
    Tensor t = make_tensor(sizes, kType);
    std::uniform_int_distribution<int> digit(std::is_same_v<T, uint8_t> ? 0 : -4, 4);
    for (int64_t i = 0; i < t.numel(); ++i) t.data<T>()[i] = static_cast<T>(digit(engine_));
    return t;
  }
  // Small whole numbers: every order of additions gives the same result.
  std::vector<double> product(const Tensor& a, const Tensor& b) {
    const auto left = values(a);
    const auto right = values(b);
    const auto rows = a.sizes()[0], inner = a.sizes()[1], columns = b.sizes()[1];
    std::vector<double> result;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < inner; ++k) {
          sum += left[static_cast<size_t>(i * inner + k)] *
                 right[static_cast<size_t>(k * columns + j)];
        }
        result.push_back(std::is_same_v<T, uint8_t> ? static_cast<uint8_t>(sum) : sum);
      }
    }
    return result;
  }
  std::mt19937 engine_{1};
};
using Types = testing::Types<float, double, int64_t, int32_t, uint8_t>;
TYPED_TEST_SUITE(CpuMatmul, Types);

TYPED_TEST(CpuMatmul, EveryCombinationOfTransposedOperands) {
  for (const auto& [m, k, n] : {std::tuple<int64_t, int64_t, int64_t>{3, 4, 5},
                                {1, 7, 1},
                                {5, 1, 3},
                                {64, 33, 70},
                                {1, 1, 1},
                                {130, 129, 131}}) {
    for (int turned = 0; turned < 8; ++turned) {
      const Tensor a = turned & 1 ? transposed(this->random({k, m})) : this->random({m, k});
      const Tensor b = turned & 2 ? transposed(this->random({n, k})) : this->random({k, n});
      Tensor out = turned & 4 ? transposed(this->random({n, m})) : this->random({m, n});
      mm(a, b, out);
      SCOPED_TRACE(testing::Message() << m << " x " << k << " x " << n << ", turned " << turned);
      expect_values(out, this->product(a, b));
    }
  }
}

TYPED_TEST(CpuMatmul, StridesThatNoLibraryTakes) {
  const Tensor wide = this->random({6, 8});
  const Tensor a = view_of(wide, {3, 4}, {16, 2}, 1);  // every second row and column
  const Tensor b = view_of(wide, {4, 5}, {0, 1}, 2);   // one row, repeated
  Tensor holder = this->random({6, 10});
  Tensor out = view_of(holder, {3, 5}, {20, 2}, 0);
  mm(a, b, out);
  expect_values(out, this->product(a, b));
}

TYPED_TEST(CpuMatmul, NothingToAddUpGivesZeros) {
  Tensor out = this->random({2, 3});
  mm(this->random({2, 0}), this->random({0, 3}), out);
  expect_values(out, {0, 0, 0, 0, 0, 0});
  Tensor none = this->random({0, 3});
  mm(this->random({0, 2}), this->random({2, 3}), none);
  EXPECT_EQ(none.numel(), 0);
}

TYPED_TEST(CpuMatmul, AddmmWithFactors) {
  const Tensor a = this->random({2, 3});
  const Tensor b = this->random({3, 2});
  const Tensor bias = tensor<TypeParam>({2}, {1, 2});
  Tensor out = this->random({2, 2});
  addmm(bias, a, b, 3, 2, out);
  const auto product = this->product(a, b);
  std::vector<double> wanted;
  for (size_t i = 0; i < 4; ++i) {
    const double value = (i % 2 == 0 ? 3 : 6) + 2 * product[i];
    wanted.push_back(std::is_same_v<TypeParam, uint8_t> ? static_cast<uint8_t>(value) : value);
  }
  expect_values(out, wanted);
  Tensor in_place = make_tensor({2, 2}, out.dtype());
  copy(bias, false, in_place);
  addmm(in_place, a, b, 3, 2, in_place);
  expect_values(in_place, wanted);
  addmm(bias, this->random({2, 0}), this->random({0, 2}), 3, 2, out);
  expect_values(out, {3, 6, 3, 6});
}

TEST(CpuAddmm, BetaZeroDoesNotReadSelf) {
  const Tensor a = floats({1, 1}, {2});
  for (const ScalarType dtype : {ScalarType::kFloat32, ScalarType::kFloat64}) {
    Tensor out = make_tensor({1, 1}, dtype);
    Tensor factor = make_tensor({1, 1}, dtype);
    Tensor nothing = make_tensor({1, 1}, dtype);
    copy(a, false, factor);
    fill(kNan, nothing);
    fill(kNan, out);
    addmm(nothing, factor, factor, 0, 1, out);
    expect_values(out, {4});
    const Tensor tall = make_tensor({1, 0}, dtype);
    const Tensor flat = make_tensor({0, 1}, dtype);
    addmm(nothing, tall, flat, 0, 1, out);
    expect_values(out, {0});
  }
}

TEST(CpuAddmm, OutputMayBeOneOfTheMatrices) {
  Tensor a = floats({2, 2}, {1, 2, 3, 4});
  addmm(floats({2}, {10, 20}), a, a, 1, 1, a);
  expect_values(a, {17, 30, 25, 42});
  Tensor b = floats({2, 2}, {1, 2, 3, 4});
  mm(b, b, b);
  expect_values(b, {7, 10, 15, 22});
}

TEST(CpuMm, NanAndInfinitiesPass) {
  Tensor out = make_tensor({1, 1}, ScalarType::kFloat32);
  mm(floats({1, 2}, {float(kInf), 1}), floats({2, 1}, {0, 1}), out);
  expect_values(out, {kNan});
}

TEST(CpuMm, WrongShapesSayWhatTheyAre) {
  Tensor out = make_tensor({2, 2}, ScalarType::kFloat32);
  expect_error(Code::kInvalidArgument, "[3, 2]", [&] {
    mm(floats({2, 2}, {1, 2, 3, 4}), floats({3, 2}, {1, 2, 3, 4, 5, 6}), out);
  });
}

TEST(OpenBlas, PassesItsCheck) { EXPECT_TRUE(openblas_is_sound()) << openblas_description(); }

}  // namespace
}  // namespace opyard::cpu
