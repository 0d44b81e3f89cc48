// A device that is none: host memory behind addresses that only the toy understands, streams that
// work later. Shows what a private backend takes: a runtime (device.h), its functions for the host
// (table.cc), kernels at the key of the claimed name (kernels.cc), and this entry.
#include "device.h"
#include "plugins/sdk/opyard_sdk.h"

#define TOY_TEXT_(name) #name
#define TOY_TEXT(name) TOY_TEXT_(name)

namespace {

const void* give_extension(std::string_view id, uint32_t min_version) noexcept {
  return id == "opyard.device" && min_version <= 1 ? &toy::extension() : nullptr;
}

// The threads end with their work done; memory lives on, served without threads.
void quiesce(uint64_t) { toy::runtime().end_threads(); }

}  // namespace

OPYARD_PLUGIN(TOY_TEXT(TOY_NAME), "1.0.0", .start = &toy::start, .quiesce = &quiesce,
              .stop = &toy::stop, .extension = &give_extension,
              .kind = OPYARD_KIND_KERNELS | OPYARD_KIND_DEVICE,
              .claims = "device:" TOY_TEXT(TOY_NAME));
