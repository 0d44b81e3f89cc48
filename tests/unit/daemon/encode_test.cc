#include "rpc/encode.h"

#include <gtest/gtest.h>

#include "opyard/runtime/limits.h"
#include "rpc/decode.h"
#include "tests/unit/runtime/test_operators.h"

namespace opyard::daemon {
namespace {

using runtime::kLimits;
using runtime::Want;

TEST(EncodeValueTest, ReadsBack) {
  const IValue values[] = {
      IValue(),
      IValue(true),
      IValue(-7),
      IValue(0.5),
      IValue(std::complex<double>(1, -2)),
      IValue("text"),
      IValue(ScalarType::kBFloat16),
      IValue(Device(Backend::kCPU)),
      IValue(MemoryFormat::kChannelsLast),
      IValue(std::vector<int64_t>{1, -2}),
      IValue::list({IValue(1), IValue("x")}),
  };
  for (const IValue& value : values) {
    v1::Value message;
    encode_value(value, &message);
    EXPECT_EQ(describe(decode_operand(message).value), describe(value));
  }
}

TEST(EncodeValueTest, AnUndefinedTensorIsNone) {
  v1::Value message;
  encode_value(IValue(Tensor()), &message);
  EXPECT_EQ(message.kind_case(), v1::Value::kNone);
}

TEST(EncodeMetaTest, SaysWhatATensorIs) {
  const Tensor base = make_tensor({2, 3}, ScalarType::kInt16);
  const Tensor view = view_of(base, {3}, {1}, 3);
  v1::TensorMeta meta;
  encode_meta(9, view, &meta);
  EXPECT_EQ(meta.id(), 9u);
  EXPECT_EQ(meta.dtype(), "int16");
  ASSERT_EQ(meta.sizes_size(), 1);
  EXPECT_EQ(meta.sizes(0), 3);
  EXPECT_EQ(meta.strides(0), 1);
  EXPECT_EQ(meta.storage_offset(), 3);
  EXPECT_EQ(meta.bytes(), 6u);
  EXPECT_EQ(meta.device(), "cpu");
}

TEST(EncodeOutcomeTest, LargeValuesAreLeftOutAndTheReplyFitsAFrame) {
  runtime::Outcome outcome;
  const auto elements = static_cast<int64_t>(kLimits.inline_value_bytes / 4);
  for (int i = 0; i < 6; ++i) {
    outcome.results.push_back(
        {0, 0, 1, Want::kValue, IValue(make_tensor({elements}, ScalarType::kFloat32))});
  }
  outcome.results.push_back(
      {0, 0, 1, Want::kValue, IValue(make_tensor({elements + 1}, ScalarType::kFloat32))});
  v1::OpReply reply;
  encode_outcome(outcome, &reply);
  EXPECT_LE(reply.ByteSizeLong(), kLimits.frame_bytes);
  int inlined = 0;
  for (const v1::Result& result : reply.results()) {
    EXPECT_EQ(result.data_omitted(), result.data().empty());
    inlined += result.data_omitted() ? 0 : 1;
  }
  EXPECT_EQ(inlined, 3);
  EXPECT_TRUE(reply.results(6).data_omitted()) << "one element above the limit";
}

TEST(EncodeOutcomeTest, ACascadeOfFailuresFitsAFrame) {
  runtime::Outcome outcome;
  auto cause = std::make_shared<runtime::Cause>();
  cause->message = std::string(60000, 'c');
  for (uint64_t i = 0; i < kLimits.ops_per_frame; ++i) {
    runtime::Failure failure;
    failure.seq = i + 1;
    failure.error = Error(Code::kFailedPrecondition, std::string(60000, 'm'));
    failure.cause = cause;
    outcome.failures.push_back(std::move(failure));
  }
  v1::OpReply reply;
  encode_outcome(outcome, &reply);
  EXPECT_EQ(reply.errors_size(), static_cast<int>(kLimits.ops_per_frame));
  EXPECT_LE(reply.ByteSizeLong(), kLimits.frame_bytes);
  for (const v1::OpError& error : reply.errors()) EXPECT_FALSE(error.message().empty());
}

TEST(EncodeSchemaTest, NamesTypesAndDefaults) {
  v1::OpSchema out;
  encode_schema(parse_schema("t::f.x(Tensor(a!) self, int[2] d=1, *, bool k=False) -> Tensor(a!)"),
                &out);
  EXPECT_EQ(out.name(), "t::f.x");
  ASSERT_EQ(out.arguments_size(), 3);
  EXPECT_EQ(out.arguments(0).alias(), "(a!)");
  EXPECT_EQ(out.arguments(1).type(), "int[2]");
  EXPECT_TRUE(out.arguments(1).has_default());
  EXPECT_EQ(out.arguments(1).default_text(), "1");
  EXPECT_TRUE(out.arguments(2).kwarg_only());
  EXPECT_EQ(out.returns_size(), 1);
}

}  // namespace
}  // namespace opyard::daemon
