/* Puts the note of opyard_plugin.h into a plugin, and its entry. C11 and C++. Once, at file scope:
 *
 *   OPYARD_C_PLUGIN(table, "axpby", "1.0.0", OPYARD_KIND_SCHEMAS, OPYARD_UNLOADABLE,
 *                   "CPU",               what it claims; see opyard_note
 *                   "opyard.tensors/1"); host extensions that it cannot do without
 *
 * C++ authors have OPYARD_PLUGIN of opyard_sdk.h and OPYARD_STABLE_PLUGIN of opyard_stable.h. */
#ifndef OPYARD_NOTE_H
#define OPYARD_NOTE_H

#include <string.h>

#include "opyard_plugin.h"

/* What the code needs that is compiled with the flags of this file. A plugin that chooses between
 * several builds of a kernel at run time compiles the file with the note with the least of them. */
#if defined(__AVX512F__) || defined(__AVX512VL__)
#define OPYARD_ISA_LEVEL_HERE 4u
#elif defined(__AVX__) || defined(__AVX2__) || defined(__FMA__) || defined(__BMI__) || \
    defined(__BMI2__) || defined(__F16C__) || defined(__LZCNT__) || defined(__MOVBE__)
#define OPYARD_ISA_LEVEL_HERE 3u
#elif defined(__SSE3__) || defined(__SSSE3__) || defined(__SSE4_1__) || defined(__SSE4_2__) || \
    defined(__POPCNT__)
#define OPYARD_ISA_LEVEL_HERE 2u
#else
#define OPYARD_ISA_LEVEL_HERE 0u
#endif

#if defined(__AVX512BF16__)
#define OPYARD_ISA_BF16_HERE OPYARD_ISA_AVX512_BF16
#else
#define OPYARD_ISA_BF16_HERE 0
#endif
#if defined(__AVX512VNNI__)
#define OPYARD_ISA_VNNI_HERE OPYARD_ISA_AVX512_VNNI
#else
#define OPYARD_ISA_VNNI_HERE 0
#endif
#if defined(__AMX_TILE__)
#define OPYARD_ISA_AMX_HERE OPYARD_ISA_AMX_TILE
#else
#define OPYARD_ISA_AMX_HERE 0
#endif
#if defined(__AVXVNNI__)
#define OPYARD_ISA_AVX_VNNI_HERE OPYARD_ISA_AVX_VNNI
#else
#define OPYARD_ISA_AVX_VNNI_HERE 0
#endif
#define OPYARD_ISA_FEATURES_HERE                                     \
  ((uint32_t)OPYARD_ISA_BF16_HERE | (uint32_t)OPYARD_ISA_VNNI_HERE | \
   (uint32_t)OPYARD_ISA_AMX_HERE | (uint32_t)OPYARD_ISA_AVX_VNNI_HERE)

/* The note as it lies in the file. */
typedef struct opyard_note_section {
  uint32_t owner_size;
  uint32_t note_size;
  uint32_t type;
  char owner[8];
  opyard_note note;
} opyard_note_section;

#define OPYARD_NOTE_ATTRIBUTES __attribute__((used, retain, section(".note.opyard"), aligned(4)))

#ifdef __cplusplus
#define OPYARD_NOTE_FITS(text, size, what) static_assert(sizeof(text) <= (size), what)
#else
#define OPYARD_NOTE_FITS(text, size, what) _Static_assert(sizeof(text) <= (size), what)
#endif

/* The note alone; all texts are literals. */
#define OPYARD_NOTE(name, version, kinds, unloads, claims, needs, fingerprint)                    \
  OPYARD_NOTE_FITS(name, 64, "the plugin's name is longer than 63 characters");                   \
  OPYARD_NOTE_FITS(version, 32, "the plugin's version is longer than 31 characters");             \
  OPYARD_NOTE_FITS(claims, 128, "the plugin's claims are longer than 127 characters");            \
  OPYARD_NOTE_FITS(needs, 128, "the plugin's needs are longer than 127 characters");              \
  OPYARD_NOTE_ATTRIBUTES static const opyard_note_section opyard_note_here = {                    \
      sizeof(OPYARD_NOTE_OWNER),                                                                  \
      sizeof(opyard_note),                                                                        \
      OPYARD_NOTE_TYPE,                                                                           \
      OPYARD_NOTE_OWNER,                                                                          \
      {sizeof(opyard_note), 0, OPYARD_NOTE_MAGIC, (kinds), OPYARD_ABI_OLDEST, OPYARD_ABI_VERSION, \
       (unloads), OPYARD_ISA_LEVEL_HERE, OPYARD_ISA_FEATURES_HERE, 0, name, version, fingerprint, \
       claims, needs}}

#define OPYARD_LITERAL(text) \
  { (text), (uint32_t)(sizeof(text) - 1), 0 }

#ifdef __cplusplus
extern "C" {
#endif

/* [control] An entry's work: takes the highest version that both sides know. `name` and `version`
 * are those of the note. Returns a canonical code, as the entry does. */
static inline int32_t opyard_shake_hands(const opyard_host_handshake* host,
                                         opyard_plugin_handshake* plugin,
                                         const opyard_plugin_table* table, opyard_str name,
                                         opyard_str version) {
  static const char reason[] = "this plugin speaks another version of the plugin interface";
  if (host->struct_size < OPYARD_HOST_HANDSHAKE_SIZE_1_0 ||
      plugin->struct_size < OPYARD_PLUGIN_HANDSHAKE_SIZE_1_0) {
    return 3; /* INVALID_ARGUMENT */
  }
  plugin->name = name;
  plugin->version = version;
  if (host->abi_min > OPYARD_ABI_VERSION || host->abi_max < OPYARD_ABI_OLDEST) {
    plugin->message.data = reason;
    plugin->message.size = sizeof(reason) - 1;
    return 9; /* FAILED_PRECONDITION */
  }
  plugin->abi = host->abi_max < OPYARD_ABI_VERSION ? host->abi_max : OPYARD_ABI_VERSION;
  plugin->table = table;
  return 0;
}

#ifdef __cplusplus
}
#endif

/* Note and entry of a plugin with this opyard_plugin_table, boxed kernels only. */
#define OPYARD_C_PLUGIN(table, name, version, kinds, unloads, claims, needs)                      \
  OPYARD_NOTE(name, version, kinds, unloads, claims, needs, "");                                  \
  __attribute__((visibility("default"))) int32_t opyard_plugin_entry(                             \
      const opyard_host_handshake* opyard_host, opyard_plugin_handshake* opyard_plugin) {         \
    const opyard_str opyard_name = OPYARD_LITERAL(name);                                          \
    const opyard_str opyard_version = OPYARD_LITERAL(version);                                    \
    return opyard_shake_hands(opyard_host, opyard_plugin, &(table), opyard_name, opyard_version); \
  }                                                                                               \
  typedef char opyard_note_takes_the_semicolon

#endif
