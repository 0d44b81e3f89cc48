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
constexpr size_t kLongestReason = 200;

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

// One result alone: among several, undefined ones are those that were not asked for.
std::string undefined_result(const Callee& callee, const Stack& results) {
  const std::vector<Argument>& returns = callee.op.schema().returns;
  if (returns.size() != 1 || results.size() != 1) return {};
  const SchemaType& type = returns[0].type;
  if (type.base != BaseType::kTensor || type.is_list || type.is_optional()) return {};
  const bool undefined = results[0].is(Tag::kTensor) && !results[0].to_tensor().defined();
  return undefined ? "it gave an undefined tensor where its schema says Tensor" : "";
}

// What of the results can be judged, before they go.
std::string judge(const Callee& callee, Filling filling, const Samples& samples, Stack& results) {
  if (filling != Filling::kSound) return {};
  if (std::string undefined = undefined_result(callee, results); !undefined.empty()) {
    return undefined;
  }
  if (const auto expected = expected_of(callee, samples)) return difference(results, *expected);
  return {};
}

std::string raised_text(const Callee& callee, const Error& error) {
  return str_cat("raised ", code_name(error.code()), ": ",
                 error.message().substr(0, kLongestReason), " in ", callee.name);
}

// One call; what comes out of it stands in `answer`.
void call_once(const Callee& callee, Filling filling, const Samples& samples, Stack& stack,
               Answer* answer) {
  try {
    Dispatcher::global().call_boxed_for_key(callee.op, callee.key, stack);
    answer->problem = judge(callee, filling, samples, stack);
  } catch (const Error& error) {
    answer->refused = true;
    if (error.code() == Code::kInternal) answer->raised = raised_text(callee, error);
  } catch (...) {
    answer->escaped = true;
    answer->raised = raised_text(callee, current_error());
    answer->problem = "it " + answer->raised + ", as an exception that nobody has caught";
  }
}

}  // namespace

std::vector<std::string> undefined_operators(const plugin::Description& description) {
  const Dispatcher& dispatcher = Dispatcher::global();
  std::vector<std::string> found;
  for (const auto& [what, kernel] : description.kernels) {
    const std::string op = what.substr(0, what.find(" at "));
    if (op == "_" || dispatcher.find(op)) continue;
    const std::vector<std::string> near = dispatcher.nearest(op, 1);
    std::string text = near.empty() ? op : str_cat(op, " (the nearest name is ", near[0], ")");
    if (found.empty() || found.back() != text) found.push_back(std::move(text));
  }
  return found;
}

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
      call_once(callee, filling, *samples.back(), results.back(), &answer);
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
