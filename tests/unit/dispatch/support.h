#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "opyard/dispatch/dispatcher.h"

// What several of the dispatcher's tests need.

namespace opyard::testing {

// The message of the error that `action` raises with this code.
inline std::string error_of(const std::function<void()>& action, Code code) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.message();
    return error.message();
  }
  ADD_FAILURE() << "nothing was raised";
  return {};
}

inline bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

inline Tensor one() { return make_tensor({1}, ScalarType::kFloat32); }

// A dispatcher with an operator t::f, which each test defines as it wants.
struct CallFixture : ::testing::Test {
  OperatorHandle define(std::string_view schema, const std::function<void(Library&)>& more) {
    registrations.push_back(dispatcher.register_block(BlockKind::kFragment, "t", "",
                                                      [&](Library& m) { more(m.def(schema)); }));
    return dispatcher.get("t::f");
  }
  Stack boxed(OperatorHandle op, Stack stack) {
    dispatcher.call_boxed(op, stack);
    return stack;
  }
  Dispatcher dispatcher;
  std::vector<Registration> registrations;
};

// A block of the C interface with one kernel, of t::f at CPU. Stays where it is.
struct CKernelBlock {
  CKernelBlock(opyard_boxed_fn function, void* self) {
    record.struct_size = sizeof(record);
    record.kind = OPYARD_REGISTER_IMPL;
    record.text = {"f", 1, 0};
    record.key = {"CPU", 3, 0};
    record.boxed = function;
    record.self = self;
    block.struct_size = sizeof(block);
    block.kind = OPYARD_BLOCK_IMPL;
    block.name_space = {"t", 1, 0};
    block.registrations = &record;
    block.count = 1;
  }
  CKernelBlock(const CKernelBlock&) = delete;
  CKernelBlock& operator=(const CKernelBlock&) = delete;

  opyard_registration record{};
  opyard_block block{};
};

}  // namespace opyard::testing
