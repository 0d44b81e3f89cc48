#include "slots.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "opyard/base/check.h"

namespace opyard::bench {

namespace fs = std::filesystem;

plugin::ChangeOptions change_options(bool probe, int64_t keep_warm_ms) {
  plugin::ChangeOptions options;
  options.probe = probe;
  options.keep_warm = std::chrono::milliseconds(keep_warm_ms);
  return options;
}

Slots::Slots() : slots_{{"cpu", OPYARD_BENCH_CPU, {}}, {"axpby", OPYARD_BENCH_SMALL, {}}} {
  folder_ = fs::temp_directory_path() / "opyard-bench-XXXXXX";
  OPYARD_CHECK(mkdtemp(folder_.data()), kFailedPrecondition, "cannot make a folder like ", folder_);
  for (const Which slot : {kCpu, kSmall}) {
    slots_[slot].turns = {new_build(slot), new_build(slot)};
    plugin::Host::global().load(next_build(slot), change_options(false, 0));
  }
}

Slots::~Slots() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string Slots::new_build(Which slot) {
  const std::string file = str_cat(folder_, "/", slots_[slot].name, "-", ++builds_, ".so");
  fs::copy_file(slots_[slot].file, file);
  std::ofstream(file, std::ios::app) << "build " << builds_;
  return file;
}

const std::string& Slots::next_build(Which slot) {
  Slot& in = slots_[slot];
  return in.turns[in.turn++ % in.turns.size()];
}

plugin::ChangeReport Slots::swap(Which slot) {
  return plugin::Host::global().swap(name(slot), next_build(slot), change_options(false, 0));
}

bool Slots::all_ended() {
  plugin::Host& host = plugin::Host::global();
  for (const Slot& slot : slots_) host.unload(slot.name);
  bool ended = host.settle(std::chrono::milliseconds(30'000));
  for (const plugin::SlotInfo& slot : host.list()) {
    for (const plugin::GenerationInfo& one : slot.generations) {
      if (one.state == plugin::State::kClosed) continue;
      ended = false;
      std::fprintf(stderr, "error: generation %llu of %s was not proved unmapped: %s\n",
                   static_cast<unsigned long long>(one.number), slot.name.c_str(),
                   one.why_not_unloaded.c_str());
    }
  }
  return ended;
}

}  // namespace opyard::bench
