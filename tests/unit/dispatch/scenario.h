#pragma once

#include "support.h"

// Scenarios that need several operators, dumps or C++ types; the others are cases in
// tests/dispatch_cases. N15 stands for scenario 15: tests/dispatch_cases/SCENARIOS.md.
namespace opyard {

using enum DispatchKey;
using testing::contains;
using Labels = std::vector<std::string>;

// What the last calls ran.
inline Labels ran;

// Records its label and gives its first argument back.
inline void record(const Kernel& kernel, Keys, const IValue* in, uint32_t n_in, IValue* out,
                   uint32_t n_out) {
  ran.push_back(kernel.debug);
  for (uint32_t i = 0; i < n_out; ++i) out[i] = n_in > 0 ? in[0] : IValue();
}
inline constexpr BoxedKernel kRecord{&record};

inline Tensor with_keys(KeySet keys) {
  Tensor tensor = make_tensor({1}, ScalarType::kFloat32);
  tensor.unsafe_impl()->set_key_set(keys);
  return tensor;
}

struct Scenario : ::testing::Test {
  Scenario() { ran.clear(); }

  [[nodiscard]] Registration block(BlockKind kind, std::string_view ns, std::string_view key,
                                   const std::function<void(Library&)>& fill,
                                   const char* file = __builtin_FILE(),
                                   unsigned line = __builtin_LINE()) {
    return dispatcher.register_block(kind, ns, key, fill, file, line);
  }
  [[nodiscard]] Registration define(std::string_view schema = "f(Tensor x) -> Tensor",
                                    const char* file = __builtin_FILE(),
                                    unsigned line = __builtin_LINE()) {
    return block(
        BlockKind::kFragment, "t", "", [&](Library& m) { m.def(Placed(schema, file, line)); }, file,
        line);
  }
  [[nodiscard]] Registration kernel(std::string_view key, std::string_view label,
                                    std::string_view op = "f") {
    return block(BlockKind::kImpl, "t", key, [&](Library& m) { m.impl(op, kRecord).label(label); });
  }
  // The labels that a boxed call runs.
  std::vector<std::string> trail(KeySet keys, std::string_view op = "t::f") {
    ran.clear();
    Stack stack = {IValue(with_keys(keys))};
    dispatcher.call_boxed(dispatcher.get(op), stack);
    return ran;
  }
  template <typename Action>
  static Error error_of(Action action) {
    try {
      action();
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "nothing was raised";
    return Error(Code::kOk, "");
  }
  static void expect_words(const Error& error, Code code,
                           std::initializer_list<std::string_view> words) {
    EXPECT_EQ(error.code(), code) << error.message();
    for (const std::string_view word : words) {
      EXPECT_TRUE(contains(error.message(), word)) << word << " in: " << error.message();
    }
  }

  Dispatcher dispatcher;
};

}  // namespace opyard
