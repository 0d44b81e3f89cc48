#include "rpc/plugins_service.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "opyard/base/check.h"
#include "opyard/base/log.h"
#include "rpc/admin_call.h"
#include "rpc/plugins_encode.h"
#include "rpc/status.h"

namespace opyard::daemon {
namespace {

constexpr size_t kLongestName = 256;
constexpr uint32_t kLongestCountMs = 60'000;
constexpr std::chrono::milliseconds kLook(50);

using Clock = std::chrono::steady_clock;
using Slots = std::vector<plugin::SlotInfo>;

void check_name(const std::string& what, const std::string& name) {
  OPYARD_CHECK(!name.empty() && name.size() <= kLongestName, kInvalidArgument, "the ", what,
               " has ", name.size(), " bytes, wanted 1 to ", kLongestName);
}

grpc::ServerUnaryReactor* refused(grpc::CallbackServerContext* context) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(current_status());
  return reactor;
}

// What a call does to one slot, on a thread of its own. `change` gets a copy of the options.
template <typename Change>
grpc::ServerUnaryReactor* change_slot(grpc::CallbackServerContext* context, AdminJobs& jobs,
                                      const char* verb, const std::string& slot,
                                      const v1::ChangeOptions& wishes, v1::ChangePluginReply* reply,
                                      Change change) {
  try {
    check_name("slot's or plugin's name", slot);
    const plugin::ChangeOptions options = decode_options(wishes);
    return AdminCall::start(
        jobs, str_cat(verb, " ", wire_text(slot)), slot,
        [options, reply, change = std::move(change)](AdminCall::Link&) -> AdminCall::Answer {
          plugin::ChangeReport report = change(options);
          return [reply, report = std::move(report)] { encode_report(report, reply); };
        });
  } catch (...) {
    return refused(context);
  }
}

void keep_only(const std::string& slot, Slots* slots) {
  if (slot.empty()) return;
  std::erase_if(*slots, [&](const plugin::SlotInfo& one) { return one.name != slot; });
  OPYARD_CHECK(!slots->empty(), kNotFound, "there is no slot '", wire_text(slot.substr(0, 64)),
               "'; opyard plugin list shows those there are");
}

// Turns counters into what was counted since `before`.
void subtract(const Slots& before, Slots* slots) {
  std::map<uint64_t, const plugin::GenerationInfo*> known;
  for (const plugin::SlotInfo& slot : before) {
    for (const plugin::GenerationInfo& one : slot.generations) known[one.number] = &one;
  }
  for (plugin::SlotInfo& slot : *slots) {
    for (plugin::GenerationInfo& one : slot.generations) {
      const auto found = known.find(one.number);
      if (found == known.end()) continue;
      one.hits_typed -= std::min(one.hits_typed, found->second->hits_typed);
      one.hits_boxed -= std::min(one.hits_boxed, found->second->hits_boxed);
    }
  }
}

}  // namespace

class PluginsService::Counting {
 public:
  explicit Counting(PluginsService& service) : service_(service) {
    const std::lock_guard lock(service_.counting_mutex_);
    if (service_.counting_ == 0) service_.control_.count_plugin_hits(true);
    ++service_.counting_;
  }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;
  ~Counting() {
    const std::lock_guard lock(service_.counting_mutex_);
    if (--service_.counting_ > 0) return;
    try {
      service_.control_.count_plugin_hits(false);
    } catch (const Error& error) {
      log(LogLevel::kError, str_cat("calls are still counted: ", error.message()));
    }
  }

 private:
  PluginsService& service_;
};

void PluginsService::tell(const Slots& slots, bool with_kernels,
                          v1::ListPluginsReply* reply) const {
  for (const plugin::SlotInfo& slot : slots) encode_slot(slot, with_kernels, reply->add_slots());
  for (const std::string& name : control_.available_plugins()) {
    reply->add_available(wire_text(name));
  }
  encode_totals(control_.call_totals(), reply->mutable_calls());
  for (const AdminJobs::UnderWay& job : jobs_.under_way()) {
    v1::ChangeUnderWay* change = reply->add_under_way();
    change->set_what(job.name);
    change->set_age_ms(job.age_ms);
  }
}

grpc::ServerUnaryReactor* PluginsService::List(grpc::CallbackServerContext*,
                                               const v1::ListPluginsRequest* request,
                                               v1::ListPluginsReply* reply) {
  // A copy: a cancelled call is gone before its work.
  const auto work = [this, wanted = *request, reply](AdminCall::Link&) -> AdminCall::Answer {
    Slots slots = control_.plugin_slots();
    keep_only(wanted.slot(), &slots);
    v1::ListPluginsReply list;
    tell(slots, wanted.with_kernels(), &list);
    return [reply, list = std::move(list)]() mutable { reply->Swap(&list); };
  };
  return AdminCall::start(jobs_, "", "", work);
}

grpc::ServerUnaryReactor* PluginsService::Load(grpc::CallbackServerContext* context,
                                               const v1::LoadPluginRequest* request,
                                               v1::ChangePluginReply* reply) {
  const std::string& name = request->name();
  return change_slot(
      context, jobs_, "load", name, request->options(), reply,
      [this, name](const auto& options) { return control_.load_plugin(name, options); });
}

grpc::ServerUnaryReactor* PluginsService::Swap(grpc::CallbackServerContext* context,
                                               const v1::SwapPluginRequest* request,
                                               v1::ChangePluginReply* reply) {
  const std::string& slot = request->slot();
  const std::string name = request->name().empty() ? slot : request->name();
  return change_slot(context, jobs_, "swap", slot, request->options(), reply,
                     [this, slot, name](const auto& options) {
                       return control_.swap_plugin(slot, name, options);
                     });
}

grpc::ServerUnaryReactor* PluginsService::Unload(grpc::CallbackServerContext* context,
                                                 const v1::UnloadPluginRequest* request,
                                                 v1::ChangePluginReply* reply) {
  const std::string& slot = request->slot();
  return change_slot(
      context, jobs_, "unload", slot, request->options(), reply,
      [this, slot](const auto& options) { return control_.unload_plugin(slot, options); });
}

grpc::ServerUnaryReactor* PluginsService::Rollback(grpc::CallbackServerContext* context,
                                                   const v1::RollbackPluginRequest* request,
                                                   v1::ChangePluginReply* reply) {
  const std::string& slot = request->slot();
  return change_slot(
      context, jobs_, "rollback", slot, request->options(), reply,
      [this, slot](const auto& options) { return control_.rollback_plugin(slot, options); });
}

grpc::ServerUnaryReactor* PluginsService::Diff(grpc::CallbackServerContext* context,
                                               const v1::DiffPluginRequest* request,
                                               v1::DiffPluginReply* reply) {
  try {
    const std::string& slot = request->slot();
    check_name("slot's name", slot);
    const std::string name = request->name().empty() ? slot : request->name();
    return AdminCall::start(jobs_, str_cat("diff ", wire_text(slot)), "",
                            [this, slot, name, reply](AdminCall::Link&) -> AdminCall::Answer {
                              return [reply, differences = control_.diff_plugin(slot, name)] {
                                for (const plugin::Difference& one : differences) {
                                  encode_difference(one, reply->add_differences());
                                }
                              };
                            });
  } catch (...) {
    return refused(context);
  }
}

grpc::ServerUnaryReactor* PluginsService::CountHits(grpc::CallbackServerContext* context,
                                                    const v1::CountHitsRequest* request,
                                                    v1::ListPluginsReply* reply) {
  const auto work = [this, wanted = *request, reply](AdminCall::Link& link) -> AdminCall::Answer {
    Slots before = control_.plugin_slots();
    keep_only(wanted.slot(), &before);
    const Clock::time_point start = Clock::now();
    wait_counting(start + std::chrono::milliseconds(wanted.milliseconds()), link);
    const std::chrono::nanoseconds counted = Clock::now() - start;
    Slots slots = control_.plugin_slots();
    keep_only(wanted.slot(), &slots);
    subtract(before, &slots);
    v1::ListPluginsReply list;
    tell(slots, false, &list);
    list.set_counted_ns(static_cast<uint64_t>(counted.count()));
    return [reply, list = std::move(list)]() mutable { reply->Swap(&list); };
  };
  try {
    OPYARD_CHECK(request->milliseconds() >= 1 && request->milliseconds() <= kLongestCountMs,
                 kInvalidArgument, "asked to count for ", request->milliseconds(),
                 " ms, wanted 1 to ", kLongestCountMs);
    return AdminCall::start(jobs_, "count hits", "", work);
  } catch (...) {
    return refused(context);
  }
}

// Until then, or until nobody wants to know any more.
void PluginsService::wait_counting(std::chrono::steady_clock::time_point end,
                                   AdminCall::Link& link) {
  const Counting counting(*this);
  while (Clock::now() < end && !jobs_.refusing()) {
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (link.wait_for_end(std::min(kLook, rest))) return;
  }
}

}  // namespace opyard::daemon
