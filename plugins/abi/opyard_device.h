/* Extension "opyard.device", version 1, of a plugin: a kind of device with memory of its own. C11,
 * with the rules of opyard_plugin.h.
 *
 * The plugin claims a name ("device:toy" in its note); the host gives it a private backend. Devices
 * of the kind are numbered from 0. An address is a number that the host adds to (a view's offset)
 * and otherwise only hands back; no host reads or writes there. A stream does its work in order; 0
 * is the device's default stream, which is there from init to fini and which all work of the host
 * runs on. So copies need no waiting among each other, and memory may be freed while work on it is
 * still queued: free takes its turn, too.
 *
 * All functions are [any] and are called between init and fini; none may call an operator or end in
 * an exception. Memory may outlive quiesce: from then on, with the plugin's threads gone, a
 * function does its work before it returns. `status` is the host's. Handles and addresses are the
 * plugin's: what a create or alloc gave is given back by the host with destroy or free, each once,
 * before fini. A null entry is "not provided": the host answers UNIMPLEMENTED, or does without it
 * where that is said. An entry that fails has done nothing, and gives nothing.
 *
 * Kernels do their work before they return, or queue it on the default stream and hold their
 * tensors until it is done. While tensors of an earlier instance live, kernels of a later one may
 * get them; the host sees to it that the work of one is done before the other's begins.
 */
#ifndef OPYARD_DEVICE_H
#define OPYARD_DEVICE_H

#include "opyard_layout.h"
#include "opyard_plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t opyard_address; /* 0: none */
typedef uint64_t opyard_stream;  /* 0: the default stream of the device */
typedef uint64_t opyard_event;

/* Bits of opyard_device_ext. SHARES_MEMORY: another instance of this plugin, of this or another
 * version with the flag, may use and free what an instance has allocated, also when that one is
 * gone: needed for the tensor policy "share". */
enum opyard_device_flags { OPYARD_DEVICE_SHARES_MEMORY = 1 };

/* Filled by the plugin as far as struct_size, which the host sets, covers it. */
typedef struct opyard_device_info {
  uint32_t struct_size;
  uint32_t flags;
  opyard_str name;      /* of the product; the plugin's, valid until fini; the host copies it */
  uint64_t total_bytes; /* of memory; 0: not known */
} opyard_device_info;

typedef struct opyard_device_ext {
  uint32_t struct_size;
  uint32_t flags;
  /* Must be provided. The number stays what it was at the first call; at least 1. */
  int32_t (*device_count)(void* instance, uint32_t* count, opyard_status* status);
  int32_t (*device_info)(void* instance, uint32_t device, opyard_device_info* info,
                         opyard_status* status);
  int32_t (*mem_info)(void* instance, uint32_t device, uint64_t* free_bytes, uint64_t* total_bytes,
                      opyard_status* status);

  /* Must be provided, both. bytes > 0. Memory may be used by what is queued on `stream` after alloc
   * returned, is aligned for every kernel of the plugin (64 bytes at least), and never 0. free gets
   * the size that alloc got; what was queued on `stream` before may still use the memory.
   * RESOURCE_EXHAUSTED when there is none left. */
  int32_t (*alloc)(void* instance, uint32_t device, uint64_t bytes, opyard_stream stream,
                   opyard_address* memory, opyard_status* status);
  int32_t (*free)(void* instance, uint32_t device, opyard_address memory, uint64_t bytes,
                  opyard_stream stream, opyard_status* status);

  /* Work on memory: queued, and done when the stream gets there. Addresses may lie within a block.
   * Host memory stays as it is until the work is done: the host sees to that. copy_h2d and copy_d2h
   * must be provided. Without memset and copy_d2d the host goes by its own memory. */
  int32_t (*memset)(void* instance, uint32_t device, opyard_address to, uint32_t byte,
                    uint64_t bytes, opyard_stream stream, opyard_status* status);
  int32_t (*copy_h2d)(void* instance, uint32_t device, opyard_address to, const void* from,
                      uint64_t bytes, opyard_stream stream, opyard_status* status);
  int32_t (*copy_d2h)(void* instance, uint32_t device, void* to, opyard_address from,
                      uint64_t bytes, opyard_stream stream, opyard_status* status);
  /* Within one device: `stream` is one of it. */
  int32_t (*copy_d2d)(void* instance, uint32_t device, opyard_address to, opyard_address from,
                      uint64_t bytes, opyard_stream stream, opyard_status* status);

  /* stream_create and stream_destroy are provided together. stream_destroy lets queued work be
   * done first. stream_synchronise must be provided; it returns when all that was queued before is
   * done, and tells of work that failed. stream_query: *done is 1 when nothing is queued, else 0.
   */
  int32_t (*stream_create)(void* instance, uint32_t device, opyard_stream* stream,
                           opyard_status* status);
  int32_t (*stream_destroy)(void* instance, uint32_t device, opyard_stream stream,
                            opyard_status* status);
  int32_t (*stream_synchronise)(void* instance, uint32_t device, opyard_stream stream,
                                opyard_status* status);
  int32_t (*stream_query)(void* instance, uint32_t device, opyard_stream stream, uint32_t* done,
                          opyard_status* status);

  /* Events, provided all together or not at all; the host then waits for whole streams. An event
   * that was never recorded counts as done. event_wait holds `stream` up until the event is done,
   * not the caller. event_query: *done is 1 or 0. A destroyed event may still be queued. */
  int32_t (*event_create)(void* instance, uint32_t device, opyard_event* event,
                          opyard_status* status);
  int32_t (*event_record)(void* instance, uint32_t device, opyard_event event, opyard_stream stream,
                          opyard_status* status);
  int32_t (*event_wait)(void* instance, uint32_t device, opyard_event event, opyard_stream stream,
                        opyard_status* status);
  int32_t (*event_query)(void* instance, uint32_t device, opyard_event event, uint32_t* done,
                         opyard_status* status);
  int32_t (*event_destroy)(void* instance, uint32_t device, opyard_event event,
                           opyard_status* status);

  /* Returns when all streams of the device are empty. Without it the host waits for the default
   * stream. */
  int32_t (*device_synchronise)(void* instance, uint32_t device, opyard_status* status);
  /* The stream that 0 stands for. */
  int32_t (*default_stream)(void* instance, uint32_t device, opyard_stream* stream,
                            opyard_status* status);
} opyard_device_ext;

#ifdef __cplusplus
}
#endif

enum opyard_device_sizes_1_0 { OPYARD_DEVICE_INFO_SIZE_1_0 = 32, OPYARD_DEVICE_EXT_SIZE_1_0 = 168 };

OPYARD_SIZE_IS(opyard_device_info, 32);
OPYARD_PLACE_IS(opyard_device_info, name, 8);
OPYARD_PLACE_IS(opyard_device_info, total_bytes, 24);
OPYARD_SIZE_IS(opyard_device_ext, 168);
OPYARD_PLACE_IS(opyard_device_ext, device_count, 8);
OPYARD_PLACE_IS(opyard_device_ext, device_info, 16);
OPYARD_PLACE_IS(opyard_device_ext, mem_info, 24);
OPYARD_PLACE_IS(opyard_device_ext, alloc, 32);
OPYARD_PLACE_IS(opyard_device_ext, free, 40);
OPYARD_PLACE_IS(opyard_device_ext, memset, 48);
OPYARD_PLACE_IS(opyard_device_ext, copy_h2d, 56);
OPYARD_PLACE_IS(opyard_device_ext, copy_d2h, 64);
OPYARD_PLACE_IS(opyard_device_ext, copy_d2d, 72);
OPYARD_PLACE_IS(opyard_device_ext, stream_create, 80);
OPYARD_PLACE_IS(opyard_device_ext, stream_destroy, 88);
OPYARD_PLACE_IS(opyard_device_ext, stream_synchronise, 96);
OPYARD_PLACE_IS(opyard_device_ext, stream_query, 104);
OPYARD_PLACE_IS(opyard_device_ext, event_create, 112);
OPYARD_PLACE_IS(opyard_device_ext, event_record, 120);
OPYARD_PLACE_IS(opyard_device_ext, event_wait, 128);
OPYARD_PLACE_IS(opyard_device_ext, event_query, 136);
OPYARD_PLACE_IS(opyard_device_ext, event_destroy, 144);
OPYARD_PLACE_IS(opyard_device_ext, device_synchronise, 152);
OPYARD_PLACE_IS(opyard_device_ext, default_stream, 160);

#endif
