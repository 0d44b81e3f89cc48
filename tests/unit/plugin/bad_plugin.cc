// One plugin that is wrong in the way that its BAD_… definition says.
#include "opyard_plugin.h"

namespace {

constexpr opyard_str text(const char* data, uint32_t size) { return {data, size, 0}; }

[[maybe_unused]] int32_t failing_init(const opyard_host* host, void**, opyard_status* status) {
  host->set_status(status, 14, text("the device is asleep", 20));
  return 14;
}

// A block with a kernel for the namespace of the test, at a key that does not exist or of C++ kind.
[[maybe_unused]] int32_t blocks(void*, const opyard_block** out, uint64_t* count, opyard_status*) {
  static opyard_registration registration{};
  static opyard_block block{};
  registration.struct_size = sizeof(registration);
  registration.kind = OPYARD_REGISTER_IMPL;
  registration.text = text("f", 1);
#if defined(BAD_bad_block)
  registration.key = text("Nowhere", 7);
#else
  registration.key = text("CPU", 3);
  registration.flags = OPYARD_CXX_KERNEL;
#endif
  block.struct_size = sizeof(block);
  block.kind = OPYARD_BLOCK_IMPL;
  block.name_space = text("bad_plugin", 10);
  block.registrations = &registration;
  block.count = 1;
  *out = &block;
  *count = 1;
  return 0;
}

const void* get_extension(void*, opyard_str, uint32_t) {
#if defined(BAD_other_build) || defined(BAD_bad_block)
  static const opyard_kernels_ext kernels{sizeof(opyard_kernels_ext), 0, &blocks};
  return &kernels;
#else
  return nullptr;
#endif
}

const opyard_plugin_table table {
  sizeof(opyard_plugin_table), 0,
#if defined(BAD_init_fails)
      &failing_init,
#else
      nullptr,
#endif
      nullptr, nullptr, nullptr, nullptr, &get_extension
};

}  // namespace

#if !defined(BAD_no_entry)
extern "C" int32_t opyard_plugin_entry(const opyard_host_handshake*,
                                       opyard_plugin_handshake* plugin) {
  plugin->abi = OPYARD_ABI_VERSION;
  plugin->name = text("bad", 3);
  plugin->version = text("1.0.0", 5);
  plugin->fingerprint = text("another build", 13);
  plugin->table = &table;
#if defined(BAD_refuses)
  plugin->message = text("needs a newer host", 18);
  return 9;
#elif defined(BAD_other_abi)
  plugin->abi = OPYARD_ABI_VERSION + 1;
#elif defined(BAD_no_table)
  plugin->table = nullptr;
#endif
  return 0;
}
#endif
