/* That the compiler lays out the structs of opyard_plugin.h as every other compiler does. Appending
 * a field adds a line here and changes the line of the size, no other. C11 and C++. */
#ifndef OPYARD_PLUGIN_LAYOUT_H
#define OPYARD_PLUGIN_LAYOUT_H

#include "opyard_plugin.h"

#ifdef __cplusplus
#define OPYARD_LAYOUT(condition, text) static_assert(condition, text)
#else
#define OPYARD_LAYOUT(condition, text) _Static_assert(condition, text)
#endif
#define OPYARD_SIZE(type, bytes) OPYARD_LAYOUT(sizeof(type) == (bytes), "size of " #type)
#define OPYARD_PLACE(type, field, at) \
  OPYARD_LAYOUT(offsetof(type, field) == (at), "place of " #type "." #field)

OPYARD_SIZE(opyard_str, 16);
OPYARD_PLACE(opyard_str, data, 0);
OPYARD_PLACE(opyard_str, size, 8);
OPYARD_PLACE(opyard_str, reserved, 12);

OPYARD_SIZE(opyard_value, 16);
OPYARD_PLACE(opyard_value, tag, 0);
OPYARD_PLACE(opyard_value, aux, 4);
OPYARD_PLACE(opyard_value, payload, 8);

OPYARD_SIZE(opyard_call, 40);
OPYARD_PLACE(opyard_call, struct_size, 0);
OPYARD_PLACE(opyard_call, flags, 4);
OPYARD_PLACE(opyard_call, keys, 8);
OPYARD_PLACE(opyard_call, table, 16);
OPYARD_PLACE(opyard_call, status, 24);
OPYARD_PLACE(opyard_call, snapshot, 32);

OPYARD_SIZE(opyard_registration, 160);
OPYARD_PLACE(opyard_registration, struct_size, 0);
OPYARD_PLACE(opyard_registration, flags, 4);
OPYARD_PLACE(opyard_registration, kind, 8);
OPYARD_PLACE(opyard_registration, line, 12);
OPYARD_PLACE(opyard_registration, file, 16);
OPYARD_PLACE(opyard_registration, text, 32);
OPYARD_PLACE(opyard_registration, key, 48);
OPYARD_PLACE(opyard_registration, boxed, 64);
OPYARD_PLACE(opyard_registration, self, 72);
OPYARD_PLACE(opyard_registration, schema, 80);
OPYARD_PLACE(opyard_registration, typed, 96);
OPYARD_PLACE(opyard_registration, cxx_boxed, 104);
OPYARD_PLACE(opyard_registration, signature, 112);
OPYARD_PLACE(opyard_registration, debug, 120);
OPYARD_PLACE(opyard_registration, tags, 136);
OPYARD_PLACE(opyard_registration, alias_analysis, 152);
OPYARD_PLACE(opyard_registration, reserved, 156);

OPYARD_SIZE(opyard_block, 80);
OPYARD_PLACE(opyard_block, struct_size, 0);
OPYARD_PLACE(opyard_block, flags, 4);
OPYARD_PLACE(opyard_block, kind, 8);
OPYARD_PLACE(opyard_block, line, 12);
OPYARD_PLACE(opyard_block, file, 16);
OPYARD_PLACE(opyard_block, name_space, 32);
OPYARD_PLACE(opyard_block, key, 48);
OPYARD_PLACE(opyard_block, registrations, 64);
OPYARD_PLACE(opyard_block, count, 72);

OPYARD_SIZE(opyard_host, 72);
OPYARD_PLACE(opyard_host, struct_size, 0);
OPYARD_PLACE(opyard_host, flags, 4);
OPYARD_PLACE(opyard_host, set_status, 8);
OPYARD_PLACE(opyard_host, log, 16);
OPYARD_PLACE(opyard_host, alloc, 24);
OPYARD_PLACE(opyard_host, free, 32);
OPYARD_PLACE(opyard_host, get_extension, 40);
OPYARD_PLACE(opyard_host, lease_acquire, 48);
OPYARD_PLACE(opyard_host, lease_release, 56);
OPYARD_PLACE(opyard_host, now_ns, 64);

OPYARD_SIZE(opyard_kernels_ext, 16);
OPYARD_PLACE(opyard_kernels_ext, struct_size, 0);
OPYARD_PLACE(opyard_kernels_ext, flags, 4);
OPYARD_PLACE(opyard_kernels_ext, blocks, 8);

OPYARD_SIZE(opyard_plugin_table, 56);
OPYARD_PLACE(opyard_plugin_table, struct_size, 0);
OPYARD_PLACE(opyard_plugin_table, flags, 4);
OPYARD_PLACE(opyard_plugin_table, init, 8);
OPYARD_PLACE(opyard_plugin_table, activate, 16);
OPYARD_PLACE(opyard_plugin_table, quiesce, 24);
OPYARD_PLACE(opyard_plugin_table, drain, 32);
OPYARD_PLACE(opyard_plugin_table, fini, 40);
OPYARD_PLACE(opyard_plugin_table, get_extension, 48);

OPYARD_SIZE(opyard_host_handshake, 32);
OPYARD_PLACE(opyard_host_handshake, struct_size, 0);
OPYARD_PLACE(opyard_host_handshake, flags, 4);
OPYARD_PLACE(opyard_host_handshake, abi_min, 8);
OPYARD_PLACE(opyard_host_handshake, abi_max, 12);
OPYARD_PLACE(opyard_host_handshake, fingerprint, 16);

OPYARD_SIZE(opyard_plugin_handshake, 88);
OPYARD_PLACE(opyard_plugin_handshake, struct_size, 0);
OPYARD_PLACE(opyard_plugin_handshake, flags, 4);
OPYARD_PLACE(opyard_plugin_handshake, abi, 8);
OPYARD_PLACE(opyard_plugin_handshake, reserved, 12);
OPYARD_PLACE(opyard_plugin_handshake, name, 16);
OPYARD_PLACE(opyard_plugin_handshake, version, 32);
OPYARD_PLACE(opyard_plugin_handshake, fingerprint, 48);
OPYARD_PLACE(opyard_plugin_handshake, message, 64);
OPYARD_PLACE(opyard_plugin_handshake, table, 80);

OPYARD_SIZE(opyard_note, 520);
OPYARD_PLACE(opyard_note, struct_size, 0);
OPYARD_PLACE(opyard_note, flags, 4);
OPYARD_PLACE(opyard_note, magic, 8);
OPYARD_PLACE(opyard_note, kind, 12);
OPYARD_PLACE(opyard_note, abi_min, 16);
OPYARD_PLACE(opyard_note, abi_max, 20);
OPYARD_PLACE(opyard_note, unload_class, 24);
OPYARD_PLACE(opyard_note, isa_level, 28);
OPYARD_PLACE(opyard_note, isa_features, 32);
OPYARD_PLACE(opyard_note, reserved, 36);
OPYARD_PLACE(opyard_note, name, 40);
OPYARD_PLACE(opyard_note, version, 104);
OPYARD_PLACE(opyard_note, fingerprint, 136);
OPYARD_PLACE(opyard_note, claims, 264);
OPYARD_PLACE(opyard_note, needs, 392);

#undef OPYARD_PLACE
#undef OPYARD_SIZE
#undef OPYARD_LAYOUT

#endif
