#include <gtest/gtest.h>

#include "opyard/dispatch/dispatcher.h"
#include "opyard/yard.h"
#include "tests/unit/dispatch/support.h"

namespace opyard {
namespace {

using testing::contains;
using testing::error_of;

// Both ways to write the example: they are one plugin, and have to do the same.
struct Axpby : ::testing::TestWithParam<const char*> {
  Yard yard{[] {
    YardOptions options;
    options.plugin_dirs = {EXAMPLE_DIR, PLUGIN_DIR};
    return options;
  }()};

  Axpby() {
    yard.load_plugin("cpu");
    yard.load_plugin(GetParam());
  }
  static Tensor call(Stack stack) {
    Dispatcher::global().call_boxed(Dispatcher::global().get("axpby::axpby"), stack);
    return stack.back().to_tensor();
  }
  static std::string refusal(Stack stack, Code code) {
    return error_of([&] { call(std::move(stack)); }, code);
  }
};

template <typename T>
Tensor matrix(ScalarType dtype, T first) {
  const Tensor made = make_tensor({2, 3}, dtype);
  for (int i = 0; i < 6; ++i) made.data<T>()[i] = first + static_cast<T>(i);
  return made;
}
Tensor turned(const Tensor& x) { return view_of(x, {3, 2}, {1, 3}, 0); }

TEST_P(Axpby, ItsSchemaIsKnownAndOthersMayDefineItToo) {
  const OperatorHandle op = Dispatcher::global().get("axpby::axpby");
  EXPECT_EQ(to_string(op.schema()),
            "axpby::axpby(Tensor x, Tensor y, *, Scalar a=1, Scalar b=1) -> Tensor");
  EXPECT_TRUE(op.attributes().has_tag("pointwise"));
}

TEST_P(Axpby, ComputesFloatsAndDoubles) {
  const Tensor floats = call(
      {matrix<float>(ScalarType::kFloat32, 1), matrix<float>(ScalarType::kFloat32, 10), 2, 0.5});
  EXPECT_EQ(floats.sizes(), IntList({2, 3}));
  EXPECT_EQ(floats.data<float>()[5], 2 * 6 + 0.5f * 15);
  const Tensor doubles = call({matrix<double>(ScalarType::kFloat64, 1),
                               matrix<double>(ScalarType::kFloat64, 10), true, -1});
  EXPECT_EQ(doubles.data<double>()[0], -9.0);
}

TEST_P(Axpby, TakesViewsAndGivesBackWhatItMade) {
  const Tensor x = matrix<float>(ScalarType::kFloat32, 1);
  const Tensor y = matrix<float>(ScalarType::kFloat32, 10);
  const Tensor result = call({turned(x), turned(y), 1, 1});
  EXPECT_EQ(result.sizes(), IntList({3, 2}));
  EXPECT_EQ(result.data<float>()[1], 4 + 13);
  EXPECT_EQ(result.unsafe_impl()->use_count(), 1u);
  EXPECT_EQ(x.unsafe_impl()->use_count(), 1u);
  const Tensor empty = make_tensor({0}, ScalarType::kFloat32);
  EXPECT_EQ(call({empty, empty, 1, 1}).numel(), 0);
  const Tensor number = make_tensor({}, ScalarType::kFloat32);
  number.data<float>()[0] = 3;
  EXPECT_EQ(call({number, number, 1, 1}).data<float>()[0], 6.0f);
}

TEST_P(Axpby, RefusesWhatItCannotCompute) {
  const Tensor x = matrix<float>(ScalarType::kFloat32, 1);
  const auto one_shape = "two tensors of one shape and dtype";
  EXPECT_TRUE(contains(refusal({x, turned(x), 1, 1}, Code::kInvalidArgument), one_shape));
  EXPECT_TRUE(
      contains(refusal({x, matrix<double>(ScalarType::kFloat64, 1), 1, 1}, Code::kInvalidArgument),
               one_shape));
  const Tensor ints = matrix<int64_t>(ScalarType::kInt64, 1);
  EXPECT_TRUE(contains(refusal({ints, ints, 1, 1}, Code::kUnimplemented), "float64 only"));
  refusal({x, x, std::complex<double>(0, 1), 1}, Code::kInvalidArgument);
  refusal({x, Tensor(), 1, 1}, Code::kInvalidArgument);
  refusal({x, 1, 1, 1}, Code::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Examples, Axpby, ::testing::Values("axpby", "axpby_c"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace opyard
