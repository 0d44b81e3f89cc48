#include <nlohmann/json.hpp>

#include "client/cli/plugin_text.h"

namespace opyard::cli {
namespace {

using Json = nlohmann::ordered_json;

// Texts of a daemon may be anything: what is no UTF-8 is replaced.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json counted(const std::vector<client::CountedText>& texts) {
  Json out = Json::object();
  for (const auto& [text, count] : texts) out[text] = count;
  return out;
}

Json to_value(const client::PluginGeneration& one) {
  Json kernels = Json::array();
  for (const client::PluginKernel& kernel : one.kernels) {
    kernels.push_back({{"op", kernel.op},
                       {"key", kernel.key},
                       {"typed", kernel.typed},
                       {"why_boxed", kernel.why_boxed}});
  }
  Json pins = Json::array();
  for (const client::PluginPin& pin : one.pins) {
    pins.push_back({{"thread", pin.thread_id}, {"holder", pin.holder}, {"age_ns", pin.age_ns}});
  }
  return {{"generation", one.number},
          {"state", one.state},
          {"age_ms", one.age_ms},
          {"file", one.file},
          {"path", one.path},
          {"hash", one.hash},
          {"version", one.version},
          {"abi", one.abi},
          {"fingerprint", one.fingerprint},
          {"same_build", one.same_build},
          {"probe", one.probe},
          {"typed_kernels", one.typed_kernels},
          {"boxed_kernels", one.boxed_kernels},
          {"why_boxed", counted(one.why_boxed)},
          {"kernels", std::move(kernels)},
          {"hits_typed", one.hits_typed},
          {"hits_boxed", one.hits_boxed},
          {"pins", std::move(pins)},
          {"leases", counted(one.leases)},
          {"bytes_held", one.bytes_held},
          {"pinned_dependencies", one.pinned_dependencies},
          {"warnings", one.warnings},
          {"last_error", one.last_error},
          {"why_not_unloaded", one.why_not_unloaded},
          {"fallbacks", counted(one.fallbacks)}};
}

Json to_value(const client::PluginSlot& slot) {
  Json generations = Json::array();
  for (const client::PluginGeneration& one : slot.generations) {
    generations.push_back(to_value(one));
  }
  return {{"slot", slot.name},
          {"device", slot.device},
          {"backend", slot.backend},
          {"active", slot.active},
          {"changes", slot.changes},
          {"refused", slot.refused},
          {"generations", std::move(generations)}};
}

}  // namespace

std::string to_json(const client::PluginList& list) {
  Json slots = Json::array();
  for (const client::PluginSlot& slot : list.slots) slots.push_back(to_value(slot));
  Json under_way = Json::array();
  for (const client::PluginChangeUnderWay& one : list.under_way) {
    under_way.push_back({{"what", one.what}, {"age_ms", one.age_ms}});
  }
  return text_of({{"slots", std::move(slots)},
                  {"available", list.available},
                  {"calls",
                   {{"accepted", list.calls.accepted},
                    {"completed", list.calls.completed},
                    {"failed", list.calls.failed},
                    {"cancelled", list.calls.cancelled},
                    {"in_flight", list.calls.in_flight}}},
                  {"under_way", std::move(under_way)},
                  {"counted_ns", list.counted_ns}});
}

std::string to_json(const client::PluginChange& change) {
  return text_of({{"slot", change.slot},
                  {"old_generation", change.old_generation},
                  {"new_generation", change.new_generation},
                  {"publish_ns", change.publish_ns},
                  {"total_ns", change.total_ns},
                  {"old_state", change.old_state},
                  {"note", change.note},
                  {"lost", change.lost}});
}

std::string to_json(const std::vector<client::PluginDifference>& differences) {
  Json all = Json::array();
  for (const client::PluginDifference& one : differences) {
    all.push_back({{"kind", one.kind},
                   {"what", one.what},
                   {"before", one.before},
                   {"after", one.after},
                   {"needs", one.needs}});
  }
  return text_of({{"differences", std::move(all)}});
}

}  // namespace opyard::cli
