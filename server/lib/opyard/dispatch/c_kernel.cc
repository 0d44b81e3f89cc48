#include "opyard/base/check.h"
#include "opyard/dispatch/registry.h"

// Room for what a C kernel reports; the host's set_status function writes it.
struct opyard_status {
  opyard::Code code = opyard::Code::kOk;
  std::string message;
};

namespace opyard {

void set_c_status(opyard_status* status, int32_t code, opyard_str message) noexcept {
  try {
    status->code = static_cast<Code>(code);
    status->message = to_std(message);
  } catch (...) {
    status->message.clear();
  }
}

void call_c_kernel(const Kernel& kernel, Keys keys, const IValue* in, uint32_t n_in, IValue* out,
                   uint32_t n_out) {
  opyard_status status;
  opyard_call call{sizeof(opyard_call), 0, keys.set.bits(), keys.table, &status};
  const int32_t code =
      kernel.c_boxed(kernel.self, &call, reinterpret_cast<const opyard_value*>(in), n_in,
                     reinterpret_cast<opyard_value*>(out), n_out);
  if (code == 0) return;
  const bool known = code > 0 && code <= static_cast<int32_t>(Code::kUnauthenticated);
  throw Error(known ? static_cast<Code>(code) : Code::kInternal,
              status.message.empty()
                  ? str_cat("the kernel of '", keys.op().name(), "' (", kernel.plugin,
                            ") failed with code ", code, " and gave no reason")
                  : status.message)
      .with_op(keys.op().name())
      .with_key(to_string(keys.set.highest_priority()));
}

}  // namespace opyard
