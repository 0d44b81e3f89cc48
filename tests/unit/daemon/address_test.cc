#include "rpc/address.h"

#include <gtest/gtest.h>

#include "opyard/base/error.h"

namespace opyard::daemon {
namespace {

TEST(AddressTest, UnixPaths) {
  const Address address = parse_address("unix:/run/opyard/opyardd.sock");
  EXPECT_EQ(address.kind, Address::Kind::kUnix);
  EXPECT_EQ(address.path, "/run/opyard/opyardd.sock");
  EXPECT_EQ(address.text(), "unix:/run/opyard/opyardd.sock");
  EXPECT_EQ(parse_address("unix:" + std::string(107, 'x')).path.size(), 107u);
}

TEST(AddressTest, HostsAndPorts) {
  EXPECT_EQ(parse_address("127.0.0.1:7070").port, 7070);
  EXPECT_EQ(parse_address("[::1]:1").host, "::1");
  EXPECT_EQ(parse_address("[::1]:1").text(), "[::1]:1");
  EXPECT_TRUE(parse_address("localhost:0").is_loopback());
  EXPECT_TRUE(parse_address("127.9.8.7:1").is_loopback());
  EXPECT_FALSE(parse_address("0.0.0.0:1").is_loopback());
  EXPECT_FALSE(parse_address("127.evil.example:1").is_loopback());
  EXPECT_FALSE(parse_address("[::]:1").is_loopback());
}

TEST(AddressTest, WhatIsNeitherIsRefused) {
  for (const char* text : {"", "unix:", "/run/x.sock", ":80", "host:", "host:65536", "host:-1",
                           "host:1x", "::1:80", "http://host:80"}) {
    EXPECT_THROW(parse_address(text), Error) << text;
  }
  try {
    parse_address("unix:" + std::string(108, 'x'));
    FAIL() << "a path of 108 bytes was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_NE(error.message().find("108"), std::string::npos);
    EXPECT_NE(error.message().find("107"), std::string::npos);
  }
  EXPECT_THROW(parse_address(std::string_view("unix:/a\0b", 9)), Error);
}

TEST(AddressTest, Defaults) {
  EXPECT_EQ(default_address(0, "/run/user/0", nullptr).path, "/run/opyard/opyardd.sock");
  EXPECT_EQ(default_address(7, "/run/user/7", nullptr).path, "/run/user/7/opyard/opyardd.sock");
  EXPECT_EQ(default_address(7, nullptr, nullptr).path, "/tmp/opyard-7/opyardd.sock");
  EXPECT_EQ(default_address(7, "", "/var/tmp").path, "/var/tmp/opyard-7/opyardd.sock");
  EXPECT_EQ(default_address(7, "relative", nullptr).path, "/tmp/opyard-7/opyardd.sock");
}

}  // namespace
}  // namespace opyard::daemon
