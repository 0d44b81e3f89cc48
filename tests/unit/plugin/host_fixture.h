#pragma once

#include <gtest/gtest.h>

#include <string>

#include "opyard/plugin/host_extensions.h"
#include "opyard/plugin/host_table.h"
#include "tests/unit/dispatch/support.h"

namespace opyard::plugin::testing {

// What a plugin sees of the host, and what the host keeps of the plugin.
struct HostFixture : ::testing::Test {
  Leases leases;
  HostTable table{"outsider", leases};
  const opyard_host* host = &table.table();
  opyard_status status;

  template <typename T>
  const T& extension(std::string_view id) {
    const auto* found = static_cast<const T*>(host->get_extension(host, text(id), 1));
    EXPECT_NE(found, nullptr) << id;
    EXPECT_EQ(found->struct_size, sizeof(T));
    return *found;
  }
  static opyard_str text(std::string_view s) {
    return {s.data(), static_cast<uint32_t>(s.size()), 0};
  }
  static opyard_tensor handle(const Tensor& tensor) {
    return reinterpret_cast<opyard_tensor>(tensor.unsafe_impl());
  }
  // That a function failed because of what it was given, and why.
  void expect_refused(int32_t code, std::string_view part) {
    EXPECT_EQ(code, static_cast<int32_t>(Code::kInvalidArgument)) << status.message;
    EXPECT_NE(status.message.find(part), std::string::npos) << status.message;
    status = {};
  }
};

}  // namespace opyard::plugin::testing
