#include "kernels/shape/views.h"

#include <gtest/gtest.h>

namespace opyard::shape {
namespace {

constexpr int64_t kMax = INT64_MAX;

// Sizes and strides of a window that outlive the operand made from them.
struct Source {
  Dims sizes;
  Dims strides;
  Operand<int64_t> operand() const { return {sizes, strides, ScalarType::kFloat32, false}; }
};

Source dense(Dims sizes) { return {sizes, contiguous_strides(sizes)}; }

void expect(const Window<int64_t>& window, Dims sizes, Dims strides, int64_t offset = 0) {
  EXPECT_EQ(window.sizes, sizes) << to_string(IntList(window.sizes));
  EXPECT_EQ(window.strides, strides) << to_string(IntList(window.strides));
  EXPECT_EQ(window.offset, offset);
}

template <typename F>
Code code_of(F function) {
  try {
    function();
  } catch (const Error& error) {
    return error.code();
  }
  return Code::kOk;
}

TEST(View, OfDenseTensors) {
  const Source source = dense({2, 3, 4});
  expect(view(source.operand(), {24}), {24}, {1});
  expect(view(source.operand(), {6, -1}), {6, 4}, {4, 1});
  expect(view(source.operand(), {2, 1, 12}), {2, 1, 12}, {12, 12, 1});
  expect(view(source.operand(), {2, 3, 2, 2}), {2, 3, 2, 2}, {12, 4, 2, 1});
}

TEST(View, OfStridedTensors) {
  const Source turned{{3, 2}, {1, 3}};
  EXPECT_EQ(code_of([&] { view(turned.operand(), {6}); }), Code::kInvalidArgument);
  const auto split = view(turned.operand(), {3, 1, 2});
  EXPECT_EQ(split.strides[0], 1);
  EXPECT_EQ(split.strides[2], 3);
  const Source rows{{4, 3}, {6, 1}};  // every second row
  expect(view(rows.operand(), {2, 2, 3}), {2, 2, 3}, {12, 6, 1});
  EXPECT_EQ(code_of([&] { view(rows.operand(), {12}); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { view(rows.operand(), {3, 4}); }), Code::kInvalidArgument);
  const Source expanded{{2, 3}, {0, 0}};
  expect(view(expanded.operand(), {6}), {6}, {0});
}

TEST(View, OfOneAndOfNone) {
  const Source number = dense({});
  expect(view(number.operand(), {1, 1}), {1, 1}, {1, 1});
  expect(view(dense({1}).operand(), {}), {}, {});
  expect(view(dense({0, 3}).operand(), {3, 0}), {3, 0}, {1, 1});
  EXPECT_EQ(code_of([&] { view(dense({0, 3}).operand(), {0, -1}); }), Code::kInvalidArgument);
}

TEST(View, RefusesWhatDoesNotCount) {
  const Source source = dense({2, 3});
  for (const Dims& size :
       {Dims{4}, Dims{-1, -1}, Dims{-2, 3}, Dims{4, -1}, Dims{kMax, kMax}, Dims{}}) {
    EXPECT_EQ(code_of([&] { view(source.operand(), IntList(size)); }), Code::kInvalidArgument)
        << to_string(IntList(size));
  }
}

TEST(Permute, TurnsAndRefuses) {
  const Source source = dense({2, 3, 4});
  expect(permute(source.operand(), {2, 0, -2}), {4, 2, 3}, {1, 12, 4});
  EXPECT_EQ(code_of([&] { permute(source.operand(), {0, 1}); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { permute(source.operand(), {0, 1, -2}); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { permute(source.operand(), {0, 1, 3}); }), Code::kOutOfRange);
}

TEST(Expand, StretchesOnesAndAddsInFront) {
  const Source source = dense({2, 1});
  expect(expand(source.operand(), {3, -1, 4}), {3, 2, 4}, {0, 1, 0});
  expect(expand(source.operand(), {2, 0}), {2, 0}, {1, 0});
  EXPECT_EQ(code_of([&] { expand(source.operand(), {3, 1}); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { expand(source.operand(), {2}); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { expand(source.operand(), {-1, 2, 1}); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { expand(source.operand(), {-3, 2, 1}); }), Code::kInvalidArgument);
}

TEST(Slice, CutsPositionsToTheRange) {
  const Source source = dense({4, 3});
  const auto x = source.operand();
  expect(slice<int64_t>(x, 0, 1, 3, 1), {2, 3}, {3, 1}, 3);
  expect(slice<int64_t>(x, 0, -3, kMax, 2), {2, 3}, {6, 1}, 3);
  expect(slice<int64_t>(x, 1, INT64_MIN, std::nullopt, 1), {4, 3}, {3, 1});
  expect(slice<int64_t>(x, 0, 3, 1, 1), {0, 3}, {3, 1});
  expect(slice<int64_t>(x, 0, 1, kMax, kMax), {1, 3}, {3, 1}, 3);
  EXPECT_EQ(code_of([&] { slice<int64_t>(x, 0, 0, 1, 0); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { slice<int64_t>(x, 2, 0, 1, 1); }), Code::kOutOfRange);
}

TEST(Select, OneEntry) {
  const Source source = dense({4, 3});
  expect(select<int64_t>(source.operand(), 0, -1), {3}, {1}, 9);
  expect(select<int64_t>(source.operand(), -1, 2), {4}, {3}, 2);
  EXPECT_EQ(code_of([&] { select<int64_t>(source.operand(), 0, 4); }), Code::kOutOfRange);
  EXPECT_EQ(code_of([&] { select<int64_t>(source.operand(), 0, INT64_MIN); }), Code::kOutOfRange);
  EXPECT_EQ(code_of([&] { select<int64_t>(dense({}).operand(), 0, 0); }), Code::kInvalidArgument);
}

TEST(Squeeze, OnlyOnes) {
  const Source source = dense({1, 3, 1});
  expect(squeeze(source.operand(), std::nullopt), {3}, {1});
  const Dims two{0, 1};
  expect(squeeze(source.operand(), std::optional<IntList>(IntList(two))), {3, 1}, {1, 1});
  const Dims twice{0, -3};
  EXPECT_EQ(code_of([&] { squeeze(source.operand(), std::optional<IntList>(IntList(twice))); }),
            Code::kInvalidArgument);
  const Dims zero{0};
  expect(squeeze(dense({}).operand(), std::optional<IntList>(IntList(zero))), {}, {});
}

TEST(Unsqueeze, EveryPosition) {
  const Source source = dense({2, 3});
  expect(unsqueeze(source.operand(), 0), {1, 2, 3}, {6, 3, 1});
  expect(unsqueeze(source.operand(), 1), {2, 1, 3}, {3, 3, 1});
  expect(unsqueeze(source.operand(), -1), {2, 3, 1}, {3, 1, 1});
  EXPECT_EQ(code_of([&] { unsqueeze(source.operand(), 3); }), Code::kOutOfRange);
  EXPECT_EQ(code_of([&] { unsqueeze(dense(Dims(kMaxDims, 1)).operand(), 0); }),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace opyard::shape
