#include "client/cpp/admin_wire.h"

namespace opyard::client::wire {
namespace {

template <typename Texts>
std::vector<std::string> texts_of(const Texts& texts) {
  return {texts.begin(), texts.end()};
}

template <typename Counted>
std::vector<CountedText> counted_of(const Counted& counted) {
  std::vector<CountedText> out;
  for (const v1::CountedText& one : counted) out.emplace_back(one.text(), one.count());
  return out;
}

PluginGeneration decode(const v1::PluginGeneration& from) {
  PluginGeneration out;
  out.number = from.number();
  out.state = from.state();
  out.file = from.file();
  out.path = from.path();
  out.hash = from.hash();
  out.version = from.version();
  out.abi = from.abi();
  out.fingerprint = from.fingerprint();
  out.same_build = from.same_build();
  out.probe = from.probe();
  out.typed_kernels = from.typed_kernels();
  out.boxed_kernels = from.boxed_kernels();
  out.why_boxed = counted_of(from.why_boxed());
  for (const v1::PluginKernel& kernel : from.kernels()) {
    out.kernels.push_back({kernel.op(), kernel.key(), kernel.typed(), kernel.why_boxed()});
  }
  out.hits_typed = from.hits_typed();
  out.hits_boxed = from.hits_boxed();
  for (const v1::PluginPin& pin : from.pins()) {
    out.pins.push_back({pin.thread_id(), pin.holder(), pin.age_ns()});
  }
  out.leases = counted_of(from.leases());
  out.bytes_held = from.bytes_held();
  out.pinned_dependencies = texts_of(from.pinned_dependencies());
  out.warnings = texts_of(from.warnings());
  out.last_error = from.last_error();
  out.why_not_unloaded = from.why_not_unloaded();
  out.age_ms = from.age_ms();
  out.fallbacks = counted_of(from.fallbacks());
  return out;
}

PluginSlot decode(const v1::PluginSlot& from) {
  PluginSlot out;
  out.name = from.name();
  out.device = from.device();
  out.backend = from.backend();
  out.active = from.active();
  out.changes = from.changes();
  out.refused = from.refused();
  for (const v1::PluginGeneration& one : from.generations()) {
    out.generations.push_back(decode(one));
  }
  return out;
}

}  // namespace

void encode(const PluginChangeOptions& options, v1::ChangeOptions* out) {
  out->set_allow_schema_change(options.allow_schema_change);
  out->set_allow_loss(options.allow_loss);
  out->set_allow_downgrade(options.allow_downgrade);
  out->set_no_probe(!options.probe);
  out->set_tensors(options.tensors);
  if (options.keep_warm) {
    out->set_keep_warm_ms(static_cast<uint64_t>(options.keep_warm->count()));
  }
}

PluginList decode(const v1::ListPluginsReply& reply) {
  PluginList out;
  for (const v1::PluginSlot& slot : reply.slots()) out.slots.push_back(decode(slot));
  out.available = texts_of(reply.available());
  out.calls = {reply.calls().accepted(), reply.calls().completed(), reply.calls().failed(),
               reply.calls().cancelled(), reply.calls().in_flight()};
  for (const v1::ChangeUnderWay& one : reply.under_way()) {
    out.under_way.push_back({one.what(), one.age_ms()});
  }
  out.counted_ns = reply.counted_ns();
  return out;
}

PluginChange decode(const v1::ChangePluginReply& reply) {
  PluginChange out;
  out.slot = reply.slot();
  out.old_generation = reply.old_generation();
  out.new_generation = reply.new_generation();
  out.publish_ns = reply.publish_ns();
  out.total_ns = reply.total_ns();
  out.old_state = reply.old_state();
  out.note = reply.note();
  out.lost = texts_of(reply.lost());
  return out;
}

std::vector<PluginDifference> decode(const v1::DiffPluginReply& reply) {
  std::vector<PluginDifference> out;
  for (const v1::PluginDifference& one : reply.differences()) {
    out.push_back({one.kind(), one.what(), one.before(), one.after(), one.needs()});
  }
  return out;
}

}  // namespace opyard::client::wire
