#include "rpc/plugins_encode.h"

#include <map>
#include <string>

#include "opyard/base/check.h"
#include "rpc/status.h"

namespace opyard::daemon {
namespace {

constexpr uint64_t kLongestWarmMs = 24u * 3600 * 1000;

template <typename Texts>
void encode_texts(const std::vector<std::string>& texts, Texts* out) {
  for (const std::string& text : texts) out->Add(wire_text(text));
}

template <typename Out>
void add_counted(const std::string& text, uint64_t count, Out* out) {
  v1::CountedText* one = out->Add();
  one->set_text(wire_text(text));
  one->set_count(count);
}

void encode_kernels(const plugin::GenerationInfo& from, bool all, v1::PluginGeneration* out) {
  uint64_t typed = 0;
  std::map<std::string, uint64_t> reasons;
  for (const plugin::KernelInfo& kernel : from.kernels) {
    if (kernel.typed) {
      ++typed;
    } else {
      ++reasons[kernel.why_boxed];
    }
    if (!all) continue;
    v1::PluginKernel* one = out->add_kernels();
    one->set_op(wire_text(kernel.op));
    one->set_key(wire_text(kernel.key));
    one->set_typed(kernel.typed);
    one->set_why_boxed(wire_text(kernel.why_boxed));
  }
  out->set_typed_kernels(typed);
  out->set_boxed_kernels(from.kernels.size() - typed);
  for (const auto& [reason, count] : reasons) {
    if (!reason.empty()) add_counted(reason, count, out->mutable_why_boxed());
  }
}

void encode_holders(const plugin::GenerationInfo& from, v1::PluginGeneration* out) {
  for (const plugin::Pin& pin : from.pins) {
    v1::PluginPin* one = out->add_pins();
    one->set_thread_id(pin.thread_id);
    one->set_holder(wire_text(pin.holder));
    one->set_age_ns(pin.age_ns);
  }
  for (size_t i = 0; i < from.leases.size(); ++i) {
    if (from.leases[i] == 0) continue;
    add_counted(std::string(plugin::to_string(static_cast<plugin::LeaseKind>(i))), from.leases[i],
                out->mutable_leases());
  }
  out->set_bytes_held(from.bytes_held);
}

void encode_generation(const plugin::GenerationInfo& from, bool with_kernels,
                       v1::PluginGeneration* out) {
  out->set_number(from.number);
  out->set_state(std::string(plugin::to_string(from.state)));
  out->set_file(wire_text(from.file));
  out->set_path(wire_text(from.path));
  out->set_hash(wire_text(from.hash));
  out->set_version(wire_text(from.version));
  out->set_abi(wire_text(from.abi));
  out->set_fingerprint(wire_text(from.fingerprint));
  out->set_same_build(from.same_build);
  out->set_probe(wire_text(from.probe));
  encode_kernels(from, with_kernels, out);
  out->set_hits_typed(from.hits_typed);
  out->set_hits_boxed(from.hits_boxed);
  encode_holders(from, out);
  encode_texts(from.pinned_dependencies, out->mutable_pinned_dependencies());
  encode_texts(from.warnings, out->mutable_warnings());
  out->set_last_error(wire_text(from.last_error));
  out->set_why_not_unloaded(wire_text(from.why_not_unloaded));
  out->set_age_ms(from.age_ms);
  for (const auto& [op, calls] : from.fallbacks) add_counted(op, calls, out->mutable_fallbacks());
}

plugin::TensorPolicy policy_of(const std::string& text) {
  if (text.empty() || text == "keep") return plugin::TensorPolicy::kKeep;
  if (text == "share") return plugin::TensorPolicy::kShare;
  if (text == "fail") return plugin::TensorPolicy::kFail;
  raise(Code::kInvalidArgument, str_cat("the tensor policy '", text.substr(0, 64),
                                        "' is not known; wanted keep, share or fail"));
}

}  // namespace

void encode_slot(const plugin::SlotInfo& slot, bool with_kernels, v1::PluginSlot* out) {
  out->set_name(wire_text(slot.name));
  out->set_device(wire_text(slot.device));
  out->set_backend(wire_text(slot.backend));
  out->set_active(slot.active);
  out->set_changes(slot.changes);
  out->set_refused(slot.refused);
  for (const plugin::GenerationInfo& generation : slot.generations) {
    encode_generation(generation, with_kernels, out->add_generations());
  }
}

void encode_report(const plugin::ChangeReport& report, v1::ChangePluginReply* out) {
  out->set_slot(wire_text(report.slot));
  out->set_old_generation(report.old_generation);
  out->set_new_generation(report.new_generation);
  out->set_publish_ns(report.publish_ns);
  out->set_total_ns(report.total_ns);
  if (report.old_generation != 0) {
    out->set_old_state(std::string(plugin::to_string(report.old_state)));
  }
  out->set_note(wire_text(report.note));
  encode_texts(report.lost, out->mutable_lost());
}

void encode_difference(const plugin::Difference& difference, v1::PluginDifference* out) {
  out->set_kind(std::string(plugin::to_string(difference.kind)));
  out->set_what(wire_text(difference.what));
  out->set_before(wire_text(difference.before));
  out->set_after(wire_text(difference.after));
  out->set_needs(wire_text(difference.needs));
}

void encode_totals(const runtime::CallTotals& totals, v1::CallTotals* out) {
  out->set_accepted(totals.accepted);
  out->set_completed(totals.completed);
  out->set_failed(totals.failed);
  out->set_cancelled(totals.cancelled);
  out->set_in_flight(totals.in_flight());
}

plugin::ChangeOptions decode_options(const v1::ChangeOptions& options) {
  plugin::ChangeOptions out;
  out.allow_schema_change = options.allow_schema_change();
  out.allow_loss = options.allow_loss();
  out.allow_downgrade = options.allow_downgrade();
  out.probe = !options.no_probe();
  out.tensors = policy_of(options.tensors());
  if (options.has_keep_warm_ms()) {
    OPYARD_CHECK(options.keep_warm_ms() <= kLongestWarmMs, kInvalidArgument, "keep_warm_ms is ",
                 options.keep_warm_ms(), ", at most ", kLongestWarmMs, " (a day) are allowed");
    out.keep_warm = std::chrono::milliseconds(options.keep_warm_ms());
  }
  return out;
}

}  // namespace opyard::daemon
