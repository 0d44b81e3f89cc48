// The generated wrappers around kernels of this test: what a kernel gets to see, and what never
// reaches it.
#include <gtest/gtest.h>

#include "opyard/dispatch/dispatcher.h"
#include "opyard/ops.h"
#include "opyard/ops/kernel_handles.h"
#include "opyard/runtime/initialize.h"

namespace opyard {
namespace {

int calls = 0;

void add_floats(const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out) {
  ++calls;
  EXPECT_TRUE(self.is_contiguous() && other.is_contiguous() && out.is_contiguous());
  const auto factor = static_cast<float>(alpha.to_double());
  for (int64_t i = 0; i < out.numel(); ++i) {
    out.data<float>()[i] = self.data<float>()[i] + factor * other.data<float>()[i];
  }
}

void copy_floats(const Tensor& src, bool, Tensor& out) {
  for (int64_t i = 0; i < out.numel(); ++i) out.data<float>()[i] = src.data<float>()[i];
}

Tensor floats(std::initializer_list<float> values) {
  Tensor tensor = make_tensor(IntList(static_cast<int64_t>(values.size())), ScalarType::kFloat32);
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

std::vector<float> values(const Tensor& tensor) {
  const float* data = tensor.data<float>();
  return {data, data + tensor.numel()};
}

class Structured : public testing::Test {
 protected:
  void SetUp() override {
    initialize();
    calls = 0;
    kernels_ =
        Dispatcher::global().register_block(BlockKind::kImpl, "kernel", "CPU", [](Library& m) {
          m.impl("add.Tensor", OPYARD_FN(add_floats));
          m.impl("copy", OPYARD_FN(copy_floats));
        });
  }

  template <typename F>
  static Code code_of(F function, std::string_view words) {
    try {
      function();
    } catch (const Error& error) {
      EXPECT_NE(error.message().find(words), std::string::npos) << error.message();
      return error.code();
    }
    return Code::kOk;
  }

  Registration kernels_;
  Tensor a_ = floats({1, 2, 3});
  Tensor b_ = floats({10, 20, 30});
};

TEST_F(Structured, OneKernelServesAllForms) {
  EXPECT_EQ(values(ops::add(a_, b_, 2)), (std::vector<float>{21, 42, 63}));
  Tensor out = make_tensor({3}, ScalarType::kFloat32);
  EXPECT_TRUE(ops::add_out(out, a_, b_).is_same(out));
  EXPECT_EQ(values(out), (std::vector<float>{11, 22, 33}));
  EXPECT_TRUE(ops::add_(a_, b_).is_same(a_));
  EXPECT_EQ(values(a_), (std::vector<float>{11, 22, 33}));
  EXPECT_EQ(calls, 3);
}

TEST_F(Structured, FormsComeAndGoWithTheKernel) {
  kernels_.reset();
  EXPECT_EQ(code_of([&] { ops::add(a_, b_); }, "aten::add.Tensor"), Code::kUnimplemented);
  EXPECT_EQ(code_of([&] { ops::add_(a_, b_); }, "aten::add_.Tensor"), Code::kUnimplemented);
  const Tensor meta = make_tensor({3}, ScalarType::kFloat32, Backend::kMeta);
  EXPECT_EQ(ops::add(meta, meta).sizes(), IntList({3}));
}

TEST_F(Structured, CalledBoxedItDoesTheSame) {
  Stack stack{a_, b_, Scalar(2)};
  Dispatcher::global().call_boxed(Dispatcher::global().get("aten::add.Tensor"), stack);
  ASSERT_EQ(stack.size(), 1u);
  EXPECT_EQ(values(stack[0].to_tensor()), (std::vector<float>{21, 42, 63}));
}

TEST_F(Structured, MetaTensorsReachNoKernel) {
  const Tensor meta = make_tensor({2, 3}, ScalarType::kFloat64, Backend::kMeta);
  const Tensor sum = ops::add(meta, make_tensor({}, ScalarType::kFloat32));
  EXPECT_TRUE(sum.device().is_meta());
  EXPECT_EQ(sum.dtype(), ScalarType::kFloat64);
  EXPECT_EQ(sum.sizes(), IntList({2, 3}));
  EXPECT_EQ(calls, 0);
}

TEST_F(Structured, NoElementsNoCall) {
  const Tensor none = make_tensor({0}, ScalarType::kFloat32);
  EXPECT_EQ(ops::add(none, none).numel(), 0);
  EXPECT_EQ(calls, 0);
}

TEST_F(Structured, WritesCountTheVersion) {
  const uint32_t before = a_.version();
  ops::add_(a_, b_);
  EXPECT_EQ(a_.version(), before + 1);
  EXPECT_EQ(b_.version(), 0u);
}

TEST_F(Structured, ErrorsNameTheOperatorAndReachNoKernel) {
  const Tensor other = make_tensor({4}, ScalarType::kFloat32);
  EXPECT_EQ(code_of([&] { ops::add(a_, other); }, "aten::add.Tensor: the shapes [3] and [4]"),
            Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { ops::add(a_, Tensor()); }, "'other' is an undefined tensor"),
            Code::kInvalidArgument);
  const Tensor meta = make_tensor({3}, ScalarType::kFloat32, Backend::kMeta);
  EXPECT_EQ(code_of([&] { ops::add(a_, meta); }, "'other' on meta"), Code::kInvalidArgument);
  EXPECT_EQ(calls, 0);
}

TEST_F(Structured, ARedispatchToTheWrongBackendIsRefused) {
  EXPECT_EQ(code_of([&] { handles::add_Tensor.redispatch(KeySet({DispatchKey::Meta}), a_, b_, 1); },
                    "routed to Meta"),
            Code::kInvalidArgument);
  EXPECT_EQ(calls, 0);
}

TEST_F(Structured, InPlaceKeepsShapeAndDtype) {
  Tensor one = floats({1});
  EXPECT_EQ(code_of([&] { ops::add_(one, b_); }, "shape"), Code::kInvalidArgument);
  Tensor ints = make_tensor({3}, ScalarType::kInt64);
  EXPECT_EQ(code_of([&] { ops::add_(ints, b_); }, "int64"), Code::kInvalidArgument);
  Tensor expanded = ops::expand(one, {3});
  EXPECT_EQ(code_of([&] { ops::add_(expanded, b_); }, "one element"), Code::kInvalidArgument);
  EXPECT_EQ(calls, 0);
}

TEST_F(Structured, OutIsResizedUnlessItSharesMemory) {
  Tensor out = make_tensor({0}, ScalarType::kFloat32);
  ops::add_out(out, a_, b_);
  EXPECT_EQ(values(out), (std::vector<float>{11, 22, 33}));
  Tensor part = ops::slice(a_, 0, 0, 1);
  EXPECT_EQ(code_of([&] { ops::add_out(part, a_, b_); }, "shares memory"), Code::kInvalidArgument);
  Tensor ints = make_tensor({3}, ScalarType::kInt64);
  EXPECT_EQ(code_of([&] { ops::add_out(ints, a_, b_); }, "'out', which is int64"),
            Code::kInvalidArgument);
  Tensor meta = make_tensor({3}, ScalarType::kFloat32, Backend::kMeta);
  EXPECT_EQ(code_of([&] { ops::add_out(meta, a_, b_); }, ""), Code::kInvalidArgument);
}

TEST_F(Structured, PartialOverlapIsRefusedAndFullIsNot) {
  Tensor all = floats({1, 2, 3, 4});
  Tensor front = ops::slice(all, 0, 0, 3);
  const Tensor back = ops::slice(all, 0, 1, 4);
  EXPECT_EQ(code_of([&] { ops::add_(front, back); }, "shares memory"), Code::kInvalidArgument);
  ops::add_(all, all);
  EXPECT_EQ(values(all), (std::vector<float>{2, 4, 6, 8}));
}

TEST_F(Structured, CopyOfOverlappingMemoryGoesThroughACopy) {
  Tensor all = floats({1, 2, 3, 4});
  Tensor back = ops::slice(all, 0, 1, 4);
  ops::copy_(back, ops::slice(all, 0, 0, 3));
  EXPECT_EQ(values(all), (std::vector<float>{1, 1, 2, 3}));
}

TEST_F(Structured, TensorOperatorsAndNumbers) {
  EXPECT_EQ(values(a_ + b_), (std::vector<float>{11, 22, 33}));
  a_ += b_;
  EXPECT_EQ(values(a_), (std::vector<float>{11, 22, 33}));
}

}  // namespace
}  // namespace opyard
