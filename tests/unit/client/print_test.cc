#include "client/cli/print.h"

#include <gtest/gtest.h>

#include <cmath>

#include "client/cpp/elements.h"

namespace opyard::cli {
namespace {

using client::HostTensor;
using client::Output;

HostTensor tensor(const std::string& dtype, std::vector<int64_t> sizes,
                  const std::vector<double>& values) {
  HostTensor out{dtype, std::move(sizes), {}, "cpu"};
  for (const double value : values) {
    client::append_element(out.data, client::dtype_facts(dtype),
                           {client::ElementKind::kReal, 0, value});
  }
  return out;
}
std::string json(HostTensor value) {
  Output output;
  output.kind = Output::Kind::kTensor;
  output.tensors = {std::move(value)};
  return results_json({output});
}

TEST(Pretty, Tensors) {
  EXPECT_EQ(pretty(tensor("int64", {2, 2}, {1, 20, 300, -4})),
            "tensor([[  1,  20],\n        [300,  -4]], dtype=int64)");
  EXPECT_EQ(pretty(tensor("float32", {3}, {1, 2.5, NAN})),
            "tensor([1. , 2.5, nan], dtype=float32)");
  EXPECT_EQ(pretty(tensor("float32", {}, {0.1})), "tensor(0.1, dtype=float32)");
  EXPECT_EQ(pretty(tensor("float64", {2}, {1e-10, 1})), "tensor([1e-10, 1e+00], dtype=float64)");
  EXPECT_EQ(pretty(tensor("bool", {2}, {1, 0})), "tensor([ true, false], dtype=bool)");
  EXPECT_EQ(pretty(tensor("float32", {0, 3}, {})), "tensor([], shape=[0, 3], dtype=float32)");
  EXPECT_EQ(pretty(tensor("float32", {0}, {})), "tensor([], dtype=float32)");
  EXPECT_EQ(pretty(tensor("int32", {2, 1, 1}, {1, 2})),
            "tensor([[[1]],\n\n        [[2]]], dtype=int32)");
}

TEST(Pretty, LargeTensorsAreSummarised) {
  const std::string text = pretty(tensor("int64", {1001}, std::vector<double>(1001, 7)));
  EXPECT_EQ(text, "tensor([7, 7, 7, ..., 7, 7, 7], shape=[1001], dtype=int64)");
}

TEST(Json, IsTheExactForm) {
  EXPECT_EQ(
      json(tensor("int64", {2, 2}, {1, 2, 3, 4})),
      "{\"results\": [{\"dtype\": \"int64\", \"shape\": [2, 2], \"device\": \"cpu\", \"data\": "
      "[[1, 2], [3, 4]]}]}");
  EXPECT_NE(
      json(tensor("float32", {4}, {0.1, 2, NAN, -INFINITY})).find("[0.1, 2.0, NaN, -Infinity]"),
      std::string::npos);
  EXPECT_NE(
      json(tensor("bool", {}, {1})).find("\"shape\": [], \"device\": \"cpu\", \"data\": true"),
      std::string::npos);
  EXPECT_NE(json(tensor("float32", {2, 0}, {})).find("\"data\": [[], []]"), std::string::npos);
  EXPECT_NE(json(tensor("bfloat16", {1}, {0.1})).find("[0.1]"), std::string::npos);
  EXPECT_NE(json(tensor("complex64", {1}, {1.5})).find("[[1.5, 0.0]]"), std::string::npos);
  // Sizes before a zero cost nothing to name; their lists are not written out.
  EXPECT_NE(json(tensor("float32", {int64_t{1} << 40, 0}, {})).find("\"data\": []"),
            std::string::npos);
  Output scalar;
  scalar.value = 2.0;
  Output nothing;
  EXPECT_EQ(results_json({scalar, nothing}), "{\"results\": [2.0, null]}");
}

}  // namespace
}  // namespace opyard::cli
