#include "opyard/base/check.h"
#include "opyard/core/thread_state.h"
#include "opyard/dispatch/boxing.h"
#include "opyard/dispatch/c_status.h"
#include "opyard/dispatch/library.h"
#include "opyard/dispatch/registry.h"

namespace opyard {

void set_c_status(opyard_status* status, int32_t code, opyard_str message) noexcept {
  try {
    status->code = static_cast<Code>(code);
    status->message = to_std(message);
  } catch (...) {
    status->message.clear();
  }
}

Error c_status_error(const opyard_status& status, int32_t code, std::string_view context) {
  const bool known = code > 0 && code <= static_cast<int32_t>(Code::kUnauthenticated);
  const std::string reason = status.message.empty()
                                 ? str_cat("it failed with code ", code, " and gave no reason")
                                 : status.message;
  return Error(known ? static_cast<Code>(code) : Code::kInternal, str_cat(context, ": ", reason));
}

namespace {

// That no tensor's memory was taken away with the plugin that it came from.
void check_usable(const IValue& value) {
  const auto check = [](const Tensor& tensor) {
    if (tensor.defined()) tensor.storage()->check_usable();
  };
  if (value.is(Tag::kTensor)) check(value.to_tensor());
  if (value.is_list_of(Tag::kTensor)) {
    for (const Tensor& each : value.to_tensor_list()) check(each);
  }
  if (value.is_list_of(Tag::kNone)) {
    for (const IValue& each : value.to_list()) check_usable(each);
  }
}

}  // namespace

void call_c_kernel(const Kernel& kernel, Keys keys, const IValue* in, uint32_t n_in, IValue* out,
                   uint32_t n_out) {
  if (keys.set.highest_backend() > Backend::kCPU) {
    for (uint32_t i = 0; i < n_in; ++i) check_usable(in[i]);
  }
  opyard_status status;
  opyard_call call{
      sizeof(opyard_call), 0,       keys.set.bits(),
      keys.table,          &status, thread_state.root ? thread_state.root->generation : 0};
  int32_t code = 0;
  try {
    code = kernel.c_boxed(kernel.self, &call, reinterpret_cast<const opyard_value*>(in), n_in,
                          reinterpret_cast<opyard_value*>(out), n_out);
  } catch (...) {
    // None may come, but one whose type is the plugin's would not survive it.
    const Error error = current_error();
    code = static_cast<int32_t>(error.code());
    status.message = str_cat("an exception left it: ", error.message());
  }
  if (code == 0) return check_results(kernel, keys, out, n_out);
  throw c_status_error(
      status, code,
      str_cat("the kernel of '", keys.op().name(), "' of the plugin '", kernel.plugin, "'"))
      .with_op(keys.op().name())
      .with_key(to_string(keys.set.highest_priority()));
}

void call_guarded_kernel(const Kernel& kernel, Keys keys, const IValue* in, uint32_t n_in,
                         IValue* out, uint32_t n_out) {
  try {
    const auto function = reinterpret_cast<BoxedFn>(reinterpret_cast<void*>(kernel.c_boxed));
    function(kernel, keys, in, n_in, out, n_out);
  } catch (...) {
    detail::raise_as_error();
  }
}

}  // namespace opyard
