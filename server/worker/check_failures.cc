#include <array>

#include "calls.h"
#include "checks.h"
#include "leftovers.h"
#include "opyard/base/check.h"
#include "opyard/plugin/host_extensions.h"
#include "opyard/plugin/lint.h"
#include "ready.h"
#include "report.h"
#include "trial.h"

namespace opyard::worker {
namespace {

constexpr size_t kShownRaised = 3;
constexpr int32_t kExhausted = static_cast<int32_t>(Code::kResourceExhausted);

// The host's tensors without memory for new ones.
const opyard_tensors& poor_tensors() {
  static const opyard_tensors table = [] {
    auto made =
        *static_cast<const opyard_tensors*>(plugin::find_host_extension("opyard.tensors", 1));
    made.empty = [](const int64_t*, const int64_t*, uint32_t, uint32_t, opyard_device,
                    opyard_tensor*, opyard_status*) { return kExhausted; };
    made.on_storage = [](opyard_storage, uint32_t, const int64_t*, const int64_t*, uint32_t,
                         int64_t, opyard_tensor*, opyard_status*) { return kExhausted; };
    made.window = [](opyard_tensor, const int64_t*, const int64_t*, uint32_t, int64_t,
                     opyard_tensor*, opyard_status*) { return kExhausted; };
    made.storage_create = [](const opyard_host*, const opyard_memory*, opyard_storage*,
                             opyard_status*) { return kExhausted; };
    made.make_str = [](opyard_str, opyard_value*, opyard_status*) { return kExhausted; };
    made.make_ints = [](const int64_t*, uint64_t, opyard_value*, opyard_status*) {
      return kExhausted;
    };
    made.make_tensors = [](const opyard_tensor*, uint64_t, opyard_value*, opyard_status*) {
      return kExhausted;
    };
    made.make_values = [](uint32_t, const opyard_value*, uint64_t, opyard_value*, opyard_status*) {
      return kExhausted;
    };
    return made;
  }();
  return table;
}

struct Failing {
  const char* what;
  void (*take_away)(opyard_host& host);
};
constexpr std::array<Failing, 4> kFailing = {{
    {"alloc gives nothing",
     [](opyard_host& host) { host.alloc = [](uint64_t) -> void* { return nullptr; }; }},
    {"get_extension gives nothing",
     [](opyard_host& host) {
       host.get_extension = [](const opyard_host*, opyard_str, uint32_t) -> const void* {
         return nullptr;
       };
     }},
    {"no tensor can be made",
     [](opyard_host& host) {
       host.get_extension = [](const opyard_host*, opyard_str id, uint32_t version) -> const void* {
         const std::string_view name(id.data, id.size);
         if (name == "opyard.tensors" && version <= 1) return &poor_tensors();
         return plugin::find_host_extension(name, version);
       };
     }},
    {"nobody reads status and log",
     [](opyard_host& host) {
       host.set_status = [](opyard_status*, int32_t, opyard_str) {};
       host.log = [](uint32_t, opyard_str) {};
     }},
}};

// Kernels of a device want the device, which only a whole host sets up.
bool is_for_a_device(const std::string& path) {
  const plugin::LintReport report = plugin::lint(path);
  for (const std::string& claim : report.note.claims) {
    if (claim.starts_with("device:")) return true;
  }
  return false;
}

// What came of calls that is neither a result nor an error of the caller's.
struct Raised {
  bool escaped = false;
  std::vector<std::string> texts;
};

void call_all(const plugin::Description& description, Raised* raised) {
  for (const Callee& callee : callees(description)) {
    const Answer answer = call(callee, Filling::kSound);
    if (answer.raised.empty() || raised->escaped) continue;
    if (answer.escaped) raised->texts.clear();
    raised->escaped = answer.escaped;
    if (raised->texts.size() < kShownRaised) raised->texts.push_back(answer.raised);
  }
}

}  // namespace

CheckResult check_failures(const CheckInput& input) {
  get_ready();
  const bool device = is_for_a_device(input.path);
  // One life before, with a sound host: what comes once is there.
  live_at_weak_host(
      input.path, [](opyard_host&) {}, nullptr);
  CheckResult result;
  if (device) result.remarks.emplace_back("its kernels were not called: they want the device");
  for (const Failing& failing : kFailing) {
    const Belongings before = look_around();
    Raised raised;
    std::function<void(const plugin::Description&)> calls;
    if (!device) calls = [&](const plugin::Description& all) { call_all(all, &raised); };
    TrialEnd end = live_at_weak_host(input.path, failing.take_away, calls);
    const Leftovers left = compare(before, look_around());
    if (end.problem.empty() && !left.things.empty()) end.problem = "it left " + left.things[0];
    if (end.problem.empty() && raised.escaped) end.problem = "it " + raised.texts[0];
    for (const std::string& text : raised.texts) {
      result.remarks.push_back(str_cat("when ", failing.what, ", it ", text));
    }
    if (!end.problem.empty()) return failed(str_cat("when ", failing.what, ": ", end.problem));
    if (!end.refused.empty()) {
      result.remarks.push_back(
          str_cat("when ", failing.what, ", it does not start: ", end.refused));
    }
  }
  return result;
}

}  // namespace opyard::worker
