#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "opyard/dispatch/dispatcher.h"
#include "opyard/plugin/host.h"
#include "opyard/runtime/initialize.h"
#include "tests/conformance/generate.h"

// Random calls through the dispatcher, compared with the reference. The seed is OPYARD_SEED, or 1;
// a failure names the seed and the number of its case.
namespace opyard::conformance {
namespace {

constexpr int kCases = 200;

uint64_t base_seed() {
  const char* text = std::getenv("OPYARD_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 1;
}

void load_once() {
  initialize();
  static const plugin::ChangeReport kLoaded = plugin::Host::global().load(OPYARD_TEST_PLUGIN);
}

Tensor call(const std::string& op, const std::vector<IValue>& arguments) {
  IValue result;
  Dispatcher& dispatcher = Dispatcher::global();
  dispatcher.call_boxed(dispatcher.get(op), arguments.data(),
                        static_cast<uint32_t>(arguments.size()), &result, 1);
  return result.to_tensor();
}

std::string describe_arguments(const std::vector<IValue>& arguments) {
  std::string text;
  for (const IValue& argument : arguments) {
    text += "\n  " + describe(argument);
    if (argument.is(Tag::kTensor)) {
      const Tensor& t = argument.to_tensor();
      text += str_cat(" strides ", to_string(t.strides()), " offset ", t.storage_offset());
    }
  }
  return text;
}

bool close(double got, double wanted, double tolerance) {
  if (std::isnan(wanted)) return std::isnan(got);
  if (got == wanted) return true;
  return std::abs(got - wanted) <= tolerance * (1 + std::abs(wanted));
}

void expect_result(const Tensor& got, const Case& c) {
  ASSERT_TRUE(got.defined());
  EXPECT_EQ(to_string(got.dtype()), to_string(c.dtype));
  ASSERT_EQ(to_string(got.sizes()), to_string(IntList(c.wanted.sizes)));
  const auto wanted = reference::rounded(c.wanted, c.dtype).values;
  const auto values = reference::read(got).values;
  for (size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_TRUE(close(values[i], wanted[i], is_floating(c.dtype) ? c.tolerance : 0))
        << "element " << i << " is " << values[i] << ", the reference says " << wanted[i];
  }
}

void run_case(const Case& c, Random& random) {
  if (!c.op.empty()) {
    SCOPED_TRACE(c.op + describe_arguments(c.arguments));
    expect_result(call(c.op, c.arguments), c);
  }
  if (!c.out_op.empty()) {
    std::vector<IValue> arguments = c.arguments;
    const Tensor out = random.place(c.wanted.sizes, c.dtype);
    arguments.emplace_back(out);
    SCOPED_TRACE(c.out_op + describe_arguments(arguments));
    call(c.out_op, arguments);
    expect_result(out, c);
  }
  if (!c.in_place_op.empty()) {
    std::vector<IValue> arguments = c.arguments;
    const Tensor self = random.place(c.wanted.sizes, c.dtype);
    if (!c.op.empty()) {
      call("aten::copy_", {self, arguments[0], false});
    }
    const Tensor target = c.op.empty() ? arguments[0].to_tensor() : self;
    arguments[0] = target;
    SCOPED_TRACE(c.in_place_op + describe_arguments(arguments));
    call(c.in_place_op, arguments);
    expect_result(target, c);
  }
}

// Operators get cases of different shapes.
uint64_t seed_of(const std::string& op, int index) {
  uint64_t seed = base_seed() * 1000003 + static_cast<uint64_t>(index);
  for (const char letter : op) seed = seed * 31 + static_cast<unsigned char>(letter);
  return seed;
}

class Conformance : public testing::TestWithParam<std::string> {};

TEST_P(Conformance, AgreesWithTheReference) {
  load_once();
  std::cout << "seed " << base_seed() << " (set OPYARD_SEED for another)\n";
  for (int i = 0; i < kCases && !HasFailure(); ++i) {
    SCOPED_TRACE(testing::Message() << "OPYARD_SEED=" << base_seed() << ", case " << i);
    Random random(seed_of(GetParam(), i));
    try {
      run_case(make_case(GetParam(), random), random);
    } catch (const Error& error) {
      ADD_FAILURE() << code_name(error.code()) << ": " << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, Conformance, testing::ValuesIn(operators()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace opyard::conformance
