#include "opyard/base/error.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "opyard/base/check.h"

namespace opyard {
namespace {

TEST(Error, NamesOfCodesReadBack) {
  for (int i = 0; i <= 16; ++i) {
    const auto code = static_cast<Code>(i);
    Code back = Code::kOk;
    ASSERT_TRUE(parse_code(code_name(code), &back));
    EXPECT_EQ(back, code);
  }
  Code unused;
  EXPECT_FALSE(parse_code("NO_SUCH_CODE", &unused));
}

TEST(Error, CheckJoinsItsParts) {
  try {
    OPYARD_CHECK(1 > 2, kOutOfRange, "got ", 1, ", wanted ", 2.5);
    FAIL() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kOutOfRange);
    EXPECT_EQ(error.message(), "got 1, wanted 2.5");
  }
}

template <typename Thrown>
Error converted(Thrown thrown) {
  try {
    throw thrown;
  } catch (...) {
    return current_error();
  }
}

TEST(Error, EveryExceptionBecomesAnError) {
  EXPECT_EQ(converted(Error(Code::kAborted, "x")).code(), Code::kAborted);
  EXPECT_EQ(converted(std::bad_alloc()).code(), Code::kResourceExhausted);
  EXPECT_EQ(converted(std::runtime_error("odd")).message(), "odd");
  EXPECT_EQ(converted(42).code(), Code::kInternal);
}

}  // namespace
}  // namespace opyard
