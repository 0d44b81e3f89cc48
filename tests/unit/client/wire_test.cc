#include "client/cpp/wire.h"

#include <gtest/gtest.h>

#include "opyard/base/error.h"

namespace opyard::client {
namespace {

Value round_trip(const Value& value) {
  v1::Value message;
  wire::encode(value, &message);
  EXPECT_NE(message.kind_case(), v1::Value::KIND_NOT_SET);
  return wire::decode(message);
}

template <typename T>
void expect_same(const T& value) {
  const Value back = round_trip(value);
  ASSERT_NE(back.get_if<T>(), nullptr);
  EXPECT_EQ(*back.get_if<T>(), value);
}

TEST(Wire, ValuesComeBackAsTheyWere) {
  EXPECT_TRUE(round_trip(None{}).is_none());
  expect_same(true);
  expect_same(int64_t{-3});
  expect_same(2.5);
  expect_same(std::complex<double>(1, -2));
  expect_same(std::string("none"));
  expect_same(std::vector<int64_t>{1, -2});
  expect_same(std::vector<int64_t>{});
  expect_same(std::vector<double>{0.5});
  expect_same(std::vector<bool>{true, false});
  expect_same(std::vector<bool>{});
  EXPECT_EQ(round_trip(Ref{7}).get_if<Ref>()->id, 7u);
  EXPECT_EQ(round_trip(Refs{{7, 0}}).get_if<Refs>()->ids, (std::vector<Id>{7, 0}));
  EXPECT_EQ(round_trip(Name{Name::Kind::kDevice, "cuda:0"}).get_if<Name>()->text, "cuda:0");
  const Value list = round_trip(Value::List{int64_t{1}, 2.5, None{}});
  ASSERT_EQ(list.get_if<Value::List>()->size(), 3u);
  EXPECT_EQ(*(*list.get_if<Value::List>())[1].get_if<double>(), 2.5);
}

TEST(Wire, TensorsDoNotTravelAmongArguments) {
  v1::Value message;
  EXPECT_THROW(wire::encode(HostTensor{}, &message), Error);
}

TEST(Wire, BrokenRepliesAreTakenForWhatTheyAre) {
  v1::OpReply reply;
  reply.add_errors()->set_code(99);
  v1::Result* result = reply.add_results();
  result->mutable_meta()->set_dtype("float32");
  result->mutable_meta()->add_sizes(2);
  result->mutable_meta()->set_bytes(8);
  result->set_data("1234");  // fewer than announced
  const Reply decoded = wire::decode(reply);
  EXPECT_EQ(decoded.failures.at(0).code, Code::kUnknown);
  EXPECT_FALSE(decoded.results.at(0).tensor.has_data);
}

}  // namespace
}  // namespace opyard::client
