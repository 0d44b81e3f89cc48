#include "tests/unit/runtime/test_operators.h"

#include <chrono>
#include <exception>
#include <future>
#include <stdexcept>
#include <thread>

#include "opyard/base/check.h"
#include "opyard/base/no_destructor.h"
#include "opyard/core/local_keys.h"
#include "opyard/dispatch/dispatcher.h"

namespace opyard::testing {
namespace {

Tensor scaled(const Tensor& x, double by) {
  Tensor out = make_tensor(x.sizes(), ScalarType::kFloat32);
  for (int64_t i = 0; i < x.numel(); ++i) {
    out.data<float>()[i] = static_cast<float>(by * x.data<float>()[i]);
  }
  return out;
}

float total(TensorList xs) {
  float sum = 0;
  for (const Tensor& x : xs) {
    for (int64_t i = 0; i < x.numel(); ++i) sum += x.data<float>()[i];
  }
  return sum;
}

std::vector<Tensor> parts(const Tensor& x) {
  std::vector<Tensor> out;
  for (int64_t i = 0; i < x.numel(); ++i) out.push_back(floats({x.data<float>()[i]}));
  return out;
}

int64_t sum(IntList values) {
  int64_t result = 0;
  for (const int64_t one : values) result += one;
  return result;
}

void define_tensor_operators(Library& m) {
  m.def("twice(Tensor x) -> Tensor", [](const Tensor& x) { return scaled(x, 2); });
  m.def("twice_(Tensor(a!) x) -> Tensor(a!)", [](const Tensor& x) {
    for (int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] *= 2;
    return x;
  });
  m.def("scale(Tensor x, Scalar by=2, *, str mode=\"plain\") -> Tensor",
        [](const Tensor& x, const Scalar& by, std::string_view mode) {
          return scaled(x, mode == "negative" ? -by.to_double() : by.to_double());
        });
  m.def("refuse(Tensor x) -> Tensor",
        [](const Tensor&) -> Tensor { raise(Code::kOutOfRange, "refused on purpose"); });
  m.def("throw_std(Tensor x) -> Tensor",
        [](const Tensor&) -> Tensor { throw std::runtime_error("a kernel's own exception"); });
  m.def("make(int elements) -> Tensor",
        [](int64_t elements) { return make_tensor({elements}, ScalarType::kFloat32); });
  m.def("pair(Tensor x) -> (Tensor, Tensor)",
        [](const Tensor& x) { return std::tuple<Tensor, Tensor>(x, scaled(x, 2)); });
  m.def("parts(Tensor x) -> Tensor[]", [](const Tensor& x) { return parts(x); });
  m.def("total(Tensor[] xs) -> Tensor", [](TensorList xs) { return floats({total(xs)}); });
}

void define_other_operators(Library& m) {
  m.def("numel(Tensor x) -> int", [](const Tensor& x) { return x.numel(); });
  m.def("sum_ints(int[2] values) -> int", [](IntList values) { return sum(values); });
  m.def("sum_floats(float[] values) -> float", [](ArrayRef<double> values) {
    double result = 0;
    for (const double one : values) result += one;
    return result;
  });
  m.def("dtype_of(*, ScalarType dtype) -> ScalarType", [](ScalarType dtype) { return dtype; });
  m.def("rest(int ms) -> ()",
        [](int64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); });
  m.def("draw() -> int", [] { return static_cast<int64_t>(current_generator().reserve(1)); });
  m.def("leave_keys() -> ()", [] { set_included_keys(KeySet::full()); });
  m.def("fresh_keys() -> bool", [] {
    return included_keys() == kDefaultIncluded && excluded_keys() == kDefaultExcluded &&
           !in_inference_mode();
  });
  m.def("over.A(Tensor x) -> Tensor", [](const Tensor& x) { return x; });
  m.def("over.B(int x) -> Tensor", [](int64_t x) { return floats({static_cast<float>(x)}); });
  m.def("present(Tensor?[] xs) -> int",
        BoxedKernel{[](const Kernel&, Keys, const IValue* in, uint32_t, IValue* out, uint32_t) {
          int64_t count = 0;
          for (const IValue& x : in[0].to_list()) count += x.is_none() ? 0 : 1;
          out[0] = IValue(count);
        }});
}

}  // namespace

void define_test_operators() {
  static NoDestructor<Registration> registration(
      Dispatcher::global().register_block(BlockKind::kDef, "test", "", [](Library& m) {
        define_tensor_operators(m);
        define_other_operators(m);
      }));
}

Tensor floats(const std::vector<float>& values) {
  Tensor tensor = make_tensor({static_cast<int64_t>(values.size())}, ScalarType::kFloat32);
  for (size_t i = 0; i < values.size(); ++i) tensor.data<float>()[i] = values[i];
  return tensor;
}

std::vector<float> floats_of(const Tensor& tensor) {
  return {tensor.data<float>(), tensor.data<float>() + tensor.numel()};
}

void in_session(runtime::Session& session, const std::function<void()>& work) {
  std::promise<void> done;
  session.run([&] {
    try {
      work();
      done.set_value();
    } catch (...) {
      done.set_exception(std::current_exception());
    }
  });
  done.get_future().get();
}

runtime::Operand value(IValue value) {
  runtime::Operand operand;
  operand.value = std::move(value);
  return operand;
}

runtime::Operand id(runtime::Id id) {
  runtime::Operand operand;
  operand.kind = runtime::Operand::Kind::kId;
  operand.id = id;
  return operand;
}

runtime::Operand ids(std::vector<runtime::Id> ids) {
  runtime::Operand operand;
  operand.kind = runtime::Operand::Kind::kIds;
  operand.ids = std::move(ids);
  return operand;
}

runtime::OpCall call(uint64_t seq, std::string_view op, std::vector<runtime::Operand> args,
                     std::vector<runtime::Id> results) {
  runtime::OpCall call;
  call.seq = seq;
  call.op = op;
  call.args = std::move(args);
  call.results = std::move(results);
  return call;
}

}  // namespace opyard::testing
