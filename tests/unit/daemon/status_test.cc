#include "rpc/status.h"

#include <gtest/gtest.h>

namespace opyard::daemon {
namespace {

v1::StatusDetails details_of(const grpc::Status& status) {
  v1::StatusDetails details;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  return details;
}

TEST(WireTextTest, KeepsTextAndReplacesTheRest) {
  EXPECT_EQ(wire_text("plain \xC3\xA9 \xF0\x9F\x98\x80\n\ttext"),
            "plain \xC3\xA9 \xF0\x9F\x98\x80\n\ttext");
  EXPECT_EQ(wire_text(std::string_view("a\0b\x1B[31m", 8)), "a?b?[31m");
  EXPECT_EQ(wire_text("\xFF\xC3(\xE2\x82"),
            "?"
            "?("
            "?"
            "?")
      << "broken UTF-8";
  EXPECT_EQ(wire_text("\xC0\xAF\xED\xA0\x80"), std::string(5, '?')) << "overlong, surrogate";
}

TEST(WireTextTest, CutsWhatIsTooLong) {
  const std::string text = wire_text(std::string(1 << 20, 'x'), 100);
  EXPECT_LE(text.size(), 100u);
  EXPECT_TRUE(text.ends_with("..."));
  EXPECT_EQ(wire_text(std::string(100, 'x'), 100), std::string(100, 'x'));
  std::string wide;
  for (int i = 0; i < 100; ++i) wide += "\xC3\xA9";
  EXPECT_LE(wire_text(wide, 50).size(), 50u);
}

TEST(ToStatusTest, CodesAreGrpcsAndDetailsAreThere) {
  auto cause = std::make_shared<runtime::Cause>();
  cause->op = "aten::mm";
  cause->seq = 12;
  cause->code = Code::kOutOfRange;
  const runtime::CallError error =
      runtime::CallError(Code::kFailedPrecondition, "poisoned", "POISONED")
          .with_argument("mat2")
          .with_cause(cause);
  const grpc::Status status = to_status(error);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(status.error_message(), "poisoned");
  const v1::StatusDetails details = details_of(status);
  EXPECT_EQ(details.code(), 9);
  v1::ErrorInfo info;
  ASSERT_EQ(details.details_size(), 1);
  ASSERT_TRUE(details.details(0).UnpackTo(&info));
  EXPECT_EQ(info.reason(), "POISONED");
  EXPECT_EQ(info.argument(), "mat2");
  EXPECT_EQ(info.cause().op(), "aten::mm");
  EXPECT_EQ(info.cause().seq(), 12u);
}

TEST(ToStatusTest, FitsAClientsMetadataLimit) {
  std::string wide;
  for (int i = 0; i < 5000; ++i) wide += "\xC3\xA9";
  auto cause = std::make_shared<runtime::Cause>();
  cause->op = cause->message = cause->site = wide;
  const grpc::Status status = to_status(
      runtime::CallError(Code::kInternal, wide, "R").with_argument(wide).with_cause(cause));
  // Every byte of the message percent-encoded, the details in base64.
  EXPECT_LT(status.error_message().size() * 3 + status.error_details().size() * 4 / 3, 7u << 10);
}

TEST(CurrentStatusTest, StrangersAreInternal) {
  try {
    throw std::runtime_error("boom");
  } catch (...) {
    EXPECT_EQ(current_status().error_code(), grpc::StatusCode::INTERNAL);
  }
  try {
    throw std::bad_alloc();
  } catch (...) {
    EXPECT_EQ(current_status().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
}

}  // namespace
}  // namespace opyard::daemon
