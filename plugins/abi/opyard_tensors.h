/* Host extension "opyard.tensors", version 1: tensors, storage and values for kernels that see them
 * as handles only. C11. Get the table with host->get_extension(host, "opyard.tensors", 1); it is
 * valid until fini returns, the same for all plugins of a process.
 *
 * Handles are counted: who makes or retains one releases it. The arguments of a kernel are
 * borrowed; what it leaves as a result becomes the caller's. The zero handle is the undefined
 * tensor, which may be retained and released. All functions are [any] and reentrant; those with a
 * status return a canonical code and leave what they would give untouched unless that is 0. Null
 * pointers, a tensor that is not defined, and numbers out of range are INVALID_ARGUMENT; memory
 * that is not to be had is RESOURCE_EXHAUSTED. `status` may be null. */
#ifndef OPYARD_TENSORS_H
#define OPYARD_TENSORS_H

#include "opyard_layout.h"
#include "opyard_plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t opyard_tensor;  /* the payload of a value with OPYARD_TENSOR */
typedef uint64_t opyard_storage; /* the payload of a value with OPYARD_STORAGE */

/* Numbers of element types: the payload of OPYARD_DTYPE. */
enum opyard_dtype {
  OPYARD_UINT8 = 0,
  OPYARD_INT8 = 1,
  OPYARD_INT16 = 2,
  OPYARD_INT32 = 3,
  OPYARD_INT64 = 4,
  OPYARD_FLOAT16 = 5,
  OPYARD_FLOAT32 = 6,
  OPYARD_FLOAT64 = 7,
  OPYARD_COMPLEX32 = 8,
  OPYARD_COMPLEX64 = 9,
  OPYARD_COMPLEX128 = 10,
  OPYARD_BOOL8 = 11,
  OPYARD_QINT8 = 12,
  OPYARD_QUINT8 = 13,
  OPYARD_QINT32 = 14,
  OPYARD_BFLOAT16 = 15,
  OPYARD_FLOAT8_E5M2 = 23,
  OPYARD_FLOAT8_E4M3FN = 24,
  OPYARD_FLOAT8_E5M2FNUZ = 25,
  OPYARD_FLOAT8_E4M3FNUZ = 26,
  OPYARD_UINT16 = 27,
  OPYARD_UINT32 = 28,
  OPYARD_UINT64 = 29
};

/* Kinds of device: the aux word of OPYARD_DEVICE. */
enum opyard_device_kind {
  OPYARD_DEVICE_CPU = 1,
  OPYARD_DEVICE_CUDA = 2,
  OPYARD_DEVICE_PRIVATE1 = 13,
  OPYARD_DEVICE_PRIVATE2 = 14,
  OPYARD_DEVICE_PRIVATE3 = 15,
  OPYARD_DEVICE_META = 16 /* shapes without memory */
};

typedef struct opyard_device {
  uint32_t kind;
  int32_t index; /* -1: the current one of its kind */
} opyard_device;

enum opyard_tensor_flags {                        /* bits of a view */
                           OPYARD_CONTIGUOUS = 1, /* row-major without gaps */
                           OPYARD_WRAPPED_NUMBER =
                               2 /* stands for a bare number: it yields in type promotion */
};

/* What a tensor is. The fields up to byte_offset are laid out as DLPack's DLTensor, so that code
 * for that can read them. All pointers are borrowed: valid while the caller holds the tensor and
 * nobody resizes it. */
typedef struct opyard_tensor_view {
  void* data; /* first element, on the device; null when there is none */
  struct {
    int32_t type; /* DLPack's: 1 CPU, 2 CUDA, 10 ROCm, 8 Metal, 14 oneAPI; 12 anything else */
    int32_t id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code; /* DLPack's: 0 int, 1 uint, 2 float, 3 opaque, 4 bfloat, 5 complex, 6 bool, … */
    uint8_t bits;
    uint16_t lanes;
  } dtype;
  const int64_t* shape;
  const int64_t* strides; /* in elements */
  uint64_t byte_offset;   /* always 0: `data` is the first element */

  opyard_tensor handle; /* borrowed */
  void* storage_data;
  uint64_t storage_bytes;
  int64_t numel;
  uint32_t dtype_number; /* one of opyard_dtype */
  uint32_t flags;
  opyard_device on; /* tells private devices apart, too */
  uint64_t reserved;
} opyard_tensor_view;

/* Foreign memory that is to become a storage. */
typedef struct opyard_memory {
  uint32_t struct_size;
  uint32_t flags;
  void* data;
  uint64_t bytes;
  opyard_device device;
  /* [any] Runs once, when the last tensor on it is gone, on whatever thread that happens; must not
   * call operators. Null: the memory needs no end. */
  void (*deleter)(void* context);
  void* context;
} opyard_memory;

typedef struct opyard_tensors {
  uint32_t struct_size;
  uint32_t flags;

  /* Fills the first view_bytes bytes of *view, a multiple of 8 from 48 on (a DLTensor alone); what
   * lies behind this host's view becomes zero. */
  int32_t (*view)(opyard_tensor tensor, opyard_tensor_view* view, uint64_t view_bytes,
                  opyard_status* status);
  void (*retain)(opyard_tensor tensor);
  void (*release)(opyard_tensor tensor);
  /* A new tensor, row-major for null strides. Its elements are not set. Owned by the caller. */
  int32_t (*empty)(const int64_t* sizes, const int64_t* strides, uint32_t ndim, uint32_t dtype,
                   opyard_device device, opyard_tensor* made, opyard_status* status);
  /* A tensor on a storage, with an offset in elements; retains the storage. Owned by the caller. */
  int32_t (*on_storage)(opyard_storage storage, uint32_t dtype, const int64_t* sizes,
                        const int64_t* strides, uint32_t ndim, int64_t offset, opyard_tensor* made,
                        opyard_status* status);
  /* Another window on the memory of `base`, with its dispatch keys. Owned by the caller. */
  int32_t (*window)(opyard_tensor base, const int64_t* sizes, const int64_t* strides, uint32_t ndim,
                    int64_t offset, opyard_tensor* made, opyard_status* status);

  /* Makes a storage of foreign memory. It holds a lease on the plugin until its deleter has
   * returned: from within a kernel, an init or under another lease only. When it fails, the memory
   * stays the caller's. Owned by the caller. */
  int32_t (*storage_create)(const opyard_host* host, const opyard_memory* memory,
                            opyard_storage* made, opyard_status* status);
  /* The storage of a tensor, owned by the caller. */
  int32_t (*storage_of)(opyard_tensor tensor, opyard_storage* storage, opyard_status* status);
  void (*storage_retain)(opyard_storage storage);
  void (*storage_release)(opyard_storage storage);
  /* Address and size; either may be null. */
  int32_t (*storage_data)(opyard_storage storage, void** data, uint64_t* bytes,
                          opyard_status* status);

  /* Values with a counted block. Copies what is given: tensors and values in it are retained. The
   * value that is made is owned by the caller: a kernel's result, or to be released. */
  int32_t (*make_str)(opyard_str text, opyard_value* made, opyard_status* status);
  int32_t (*make_complex)(double real, double imaginary, opyard_value* made, opyard_status* status);
  int32_t (*make_ints)(const int64_t* values, uint64_t count, opyard_value* made,
                       opyard_status* status);
  int32_t (*make_doubles)(const double* values, uint64_t count, opyard_value* made,
                          opyard_status* status);
  int32_t (*make_bools)(const uint8_t* values, uint64_t count, opyard_value* made,
                        opyard_status* status);
  int32_t (*make_tensors)(const opyard_tensor* values, uint64_t count, opyard_value* made,
                          opyard_status* status);
  /* `tag`: OPYARD_LIST, OPYARD_TUPLE, or OPYARD_DICT for key, value, key, value, … */
  int32_t (*make_values)(uint32_t tag, const opyard_value* values, uint64_t count,
                         opyard_value* made, opyard_status* status);
  void (*value_retain)(const opyard_value* value);
  void (*value_release)(opyard_value* value); /* becomes OPYARD_NONE */

  /* "cpu", "cuda:1", or the name of a private device. */
  int32_t (*device_named)(opyard_str name, opyard_device* device, opyard_status* status);

  /* Room for one status of the calling thread, empty: for who wants to know why a function failed
   * without telling its own caller. The next call on the thread empties it. */
  opyard_status* (*own_status)(void);
  /* What was written to it last; borrowed until the next write. */
  opyard_str (*status_text)(const opyard_status* status);
} opyard_tensors;

#ifdef __cplusplus
}
#endif

enum opyard_tensors_sizes_1 { OPYARD_DLTENSOR_SIZE = 48, OPYARD_MEMORY_SIZE_1_0 = 48 };

OPYARD_SIZE_IS(opyard_device, 8);
OPYARD_SIZE_IS(opyard_tensor_view, 104);
OPYARD_PLACE_IS(opyard_tensor_view, device, 8);
OPYARD_PLACE_IS(opyard_tensor_view, ndim, 16);
OPYARD_PLACE_IS(opyard_tensor_view, dtype, 20);
OPYARD_PLACE_IS(opyard_tensor_view, shape, 24);
OPYARD_PLACE_IS(opyard_tensor_view, strides, 32);
OPYARD_PLACE_IS(opyard_tensor_view, byte_offset, 40);
OPYARD_PLACE_IS(opyard_tensor_view, handle, 48);
OPYARD_PLACE_IS(opyard_tensor_view, storage_data, 56);
OPYARD_PLACE_IS(opyard_tensor_view, storage_bytes, 64);
OPYARD_PLACE_IS(opyard_tensor_view, numel, 72);
OPYARD_PLACE_IS(opyard_tensor_view, dtype_number, 80);
OPYARD_PLACE_IS(opyard_tensor_view, flags, 84);
OPYARD_PLACE_IS(opyard_tensor_view, on, 88);
OPYARD_SIZE_IS(opyard_memory, 48);
OPYARD_PLACE_IS(opyard_memory, data, 8);
OPYARD_PLACE_IS(opyard_memory, bytes, 16);
OPYARD_PLACE_IS(opyard_memory, device, 24);
OPYARD_PLACE_IS(opyard_memory, deleter, 32);
OPYARD_PLACE_IS(opyard_memory, context, 40);
OPYARD_SIZE_IS(opyard_tensors, 192);
OPYARD_PLACE_IS(opyard_tensors, view, 8);
OPYARD_PLACE_IS(opyard_tensors, status_text, 184);

#endif
