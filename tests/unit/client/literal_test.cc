#include "client/cpp/literal.h"

#include <gtest/gtest.h>

#include "client/cpp/elements.h"
#include "opyard/base/error.h"

namespace opyard::client {
namespace {

Literal list(std::initializer_list<Literal> items) { return Literal{Literal::List(items)}; }
Literal number(int64_t value) { return Literal{value}; }
Literal number(double value) { return Literal{value}; }

TEST(TensorFromLiteral, ChoosesTheDtypeByItsElements) {
  EXPECT_EQ(tensor_from_literal(list({number(int64_t{1}), number(int64_t{2})}), "").dtype, "int64");
  EXPECT_EQ(tensor_from_literal(list({number(int64_t{1}), number(2.5)}), "").dtype, "float32");
  EXPECT_EQ(tensor_from_literal(list({Literal{true}}), "").dtype, "bool");
  EXPECT_EQ(tensor_from_literal(list({Literal{true}, number(int64_t{2})}), "").dtype, "int64");
  EXPECT_EQ(tensor_from_literal(list({}), "").dtype, "float32");
}

TEST(TensorFromLiteral, Shapes) {
  EXPECT_EQ(tensor_from_literal(number(2.5), "").sizes, (std::vector<int64_t>{}));
  EXPECT_EQ(tensor_from_literal(list({}), "").sizes, (std::vector<int64_t>{0}));
  EXPECT_EQ(tensor_from_literal(list({list({}), list({})}), "").sizes,
            (std::vector<int64_t>{2, 0}));
  const HostTensor tensor =
      tensor_from_literal(list({list({number(int64_t{1}), number(int64_t{2})}),
                                list({number(int64_t{3}), number(int64_t{4})})}),
                          "int32");
  EXPECT_EQ(tensor.sizes, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(tensor.data.size(), 16u);
  EXPECT_EQ(element_at(tensor, dtype_facts("int32"), 3).integer, 4);
}

TEST(TensorFromLiteral, ComplexPairs) {
  const HostTensor tensor =
      tensor_from_literal(list({list({number(1.0), number(2.0)}), number(3.0)}), "complex64");
  EXPECT_EQ(tensor.sizes, std::vector<int64_t>{2});
  EXPECT_EQ(element_at(tensor, dtype_facts("complex64"), 0).number, std::complex<double>(1, 2));
}

TEST(TensorFromLiteral, RefusesUnevenListsAndTexts) {
  EXPECT_THROW(tensor_from_literal(list({list({number(1.0)}), list({})}), ""), Error);
  EXPECT_THROW(tensor_from_literal(list({number(1.0), list({number(1.0)})}), ""), Error);
  EXPECT_THROW(tensor_from_literal(list({list({number(1.0)}), number(1.0)}), ""), Error);
  EXPECT_THROW(tensor_from_literal(list({Literal{std::string("x")}}), ""), Error);
  EXPECT_THROW(tensor_from_literal(list({Literal{}}), ""), Error);
  EXPECT_THROW(tensor_from_literal(list({number(int64_t{300})}), "uint8"), Error);
  EXPECT_THROW(tensor_from_literal(list({number(1.0)}), "float33"), Error);
}

}  // namespace
}  // namespace opyard::client
