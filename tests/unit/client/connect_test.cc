#include <gtest/gtest.h>

#include <cstdlib>

#include "client/cpp/client.h"
#include "opyard/base/error.h"

namespace opyard::client {
namespace {

Code code_of(const std::function<void()>& body, std::string* message = nullptr) {
  try {
    body();
  } catch (const Error& error) {
    if (message) *message = error.message();
    return error.code();
  }
  return Code::kOk;
}

TEST(Connect, ADaemonThatIsNotThereIsUnavailable) {
  Client yard = connect("unix:" + testing::TempDir() + "nobody.sock",
                        {.deadline = std::chrono::milliseconds(3000)});
  std::string message;
  EXPECT_EQ(code_of([&] { yard.ping(); }, &message), Code::kUnavailable);
  EXPECT_NE(message.find("nobody.sock"), std::string::npos) << message;
  EXPECT_NE(message.find("OPYARD_ADDRESS"), std::string::npos) << message;
  EXPECT_EQ(code_of([&] { yard.put({}); }), Code::kUnavailable);
  EXPECT_EQ(code_of([&] { yard.call("aten::add", {}); }), Code::kUnavailable);
}

TEST(Connect, AddressesThatCannotBeRead) {
  EXPECT_EQ(code_of([] { connect("unix:"); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { connect("unix:/" + std::string(107, 'x')); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { connect("localhost"); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { connect("localhost:"); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { connect("dns:///a:1"); }), Code::kInvalidArgument);
}

TEST(Connect, DefaultAddress) {
  setenv("OPYARD_ADDRESS", "localhost:7070", 1);
  EXPECT_EQ(default_address(), "localhost:7070");
  unsetenv("OPYARD_ADDRESS");
  EXPECT_TRUE(default_address().starts_with("unix:/"));
  EXPECT_TRUE(default_address().ends_with("/opyardd.sock"));
}

TEST(Failures, TheFirstOneIsRaised) {
  Reply reply;
  EXPECT_NO_THROW(raise_failure(reply));
  reply.failures = {{1, 0, Code::kNotFound, "first", ""}, {2, 0, Code::kInternal, "second", ""}};
  std::string message;
  EXPECT_EQ(code_of([&] { raise_failure(reply); }, &message), Code::kNotFound);
  EXPECT_EQ(message, "first");
}

}  // namespace
}  // namespace opyard::client
