#include "calls.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "opyard/base/check.h"
#include "report.h"

namespace opyard::worker {
namespace {

constexpr size_t kSoundCalls = 8;

// Which backend's tensors a kernel at this key is for.
Device device_of(DispatchKey key) {
  const Backend backend = backend_of(key);
  return backend == Backend::kNone ? Device(Backend::kCPU) : Device(backend, 0);
}

std::string shape_text(const Tensor& tensor) {
  return tensor.defined() ? describe(IValue(tensor)) : "an undefined tensor";
}

bool is_alike(const Tensor& real, const Tensor& expected) {
  if (real.defined() != expected.defined()) return false;
  return !real.defined() || (real.dtype() == expected.dtype() && real.sizes() == expected.sizes());
}

// What the operator gives by its shape function, when it has one.
std::optional<Stack> expected_of(const Callee& callee, const Samples& samples) {
  try {
    Stack stack = samples.on_meta();
    Dispatcher::global().call_boxed(callee.op, stack);
    return stack;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string difference(const Stack& real, const Stack& expected) {
  for (size_t i = 0; i < std::min(real.size(), expected.size()); ++i) {
    if (!real[i].is(Tag::kTensor) || !expected[i].is(Tag::kTensor)) continue;
    const Tensor& got = real[i].to_tensor();
    const Tensor& wanted = expected[i].to_tensor();
    if (is_alike(got, wanted)) continue;
    return str_cat("it gave ", shape_text(got), " where the operator's shape function says ",
                   shape_text(wanted));
  }
  return {};
}

// What of the results can be judged, before they go.
std::string judge(const Callee& callee, Filling filling, const Samples& samples, Stack& results) {
  if (filling != Filling::kSound) return {};
  if (const auto expected = expected_of(callee, samples)) return difference(results, *expected);
  return {};
}

}  // namespace

std::vector<Callee> callees(const plugin::Description& description) {
  const Dispatcher& dispatcher = Dispatcher::global();
  std::vector<Callee> found;
  for (const auto& [what, kernel] : description.kernels) {
    const size_t at = what.find(" at ");
    const auto op = dispatcher.find(what.substr(0, at));
    const auto key = try_parse_dispatch_key(what.substr(at + 4));
    if (!op || !key || kernel.fallthrough) continue;
    found.push_back({what, *op, *key, device_of(*key)});
  }
  return found;
}

Answer call(const Callee& callee, Filling filling) {
  report_step(str_cat("calling ", callee.name, " with ", to_string(filling)));
  Answer answer;
  // Blocks at several places: whether what lies behind one is found changed depends on its address.
  const size_t times = filling == Filling::kSound ? kSoundCalls : 1;
  std::vector<std::unique_ptr<Samples>> samples;
  {
    std::vector<Stack> results;
    for (size_t i = 0; i < times && answer.problem.empty(); ++i) {
      samples.push_back(std::make_unique<Samples>(callee.op.schema(), filling, callee.device));
      results.push_back(samples.back()->arguments());
      try {
        Dispatcher::global().call_boxed_for_key(callee.op, callee.key, results.back());
        answer.problem = judge(callee, filling, *samples.back(), results.back());
      } catch (const Error&) {
        answer.refused = true;
      }
    }
  }  // the results go: one that was not its own takes the argument with it
  for (const auto& one : samples) {
    if (answer.problem.empty()) answer.problem = one->damage();
  }
  if (answer.problem.empty() && !answer.refused && samples.front()->must_be_refused()) {
    answer.problem = str_cat("it took ", to_string(filling), " and gave no error");
  }
  return answer;
}

}  // namespace opyard::worker
