// The CPU plugin: a pure kernel pack. Host memory belongs to libopyard, so there is no device
// runtime here; the kernels register themselves where they are defined.
#include "kernels/cpu/gemm.h"
#include "opyard/base/check.h"
#include "opyard/base/log.h"
#include "plugins/sdk/opyard_sdk.h"

namespace {

// Tells which BLAS came with us, and whether it can be trusted, before anybody computes with it.
void start(const opyard_host& host) {
  const bool sound = opyard::cpu::openblas_is_sound();
  const std::string text = opyard::str_cat(
      "cpu plugin: float64 matrix products by ",
      sound ? opyard::cpu::openblas_description()
            : "our own loop, because the OpenBLAS that was loaded failed its check");
  const auto level = sound ? opyard::LogLevel::kInfo : opyard::LogLevel::kWarning;
  if (host.log) host.log(static_cast<uint32_t>(level), opyard::sdk::as_str(text));
}

}  // namespace

// libgomp, oneDNN and OpenBLAS have threads and state that outlive us.
OPYARD_PLUGIN("cpu", "0.1.0", .start = &start, .unload_class = OPYARD_UNLOADABLE_BUT_DEPENDENCIES,
              .claims = "CPU");
