/* The C interface between libopyard and plugins. C11, no dependency.
 *
 * Rules. Every struct that crosses starts with struct_size and flags; a reader takes a field only
 * when struct_size covers it, and missing fields mean zero. Fields are appended, never changed: a
 * struct_size below that of version 1.0 is refused. The records of one array have one struct_size,
 * and that is the distance between them. Strings are borrowed for the call, UTF-8, not terminated.
 * Whoever allocates frees. Functions return one of the canonical codes of gRPC (0 is success) and
 * put the details into the host's status. Thread classes: [any] may be called from any thread, at
 * the same time from several; [control] from the host's control thread only, one at a time.
 */
#ifndef OPYARD_PLUGIN_H
#define OPYARD_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Minor versions only append, so a side speaks all from MAJOR.0 to its own. */
#define OPYARD_ABI_MAJOR 1
#define OPYARD_ABI_MINOR 0
#define OPYARD_ABI_OLDEST (OPYARD_ABI_MAJOR * 65536u)
#define OPYARD_ABI_VERSION (OPYARD_ABI_OLDEST + OPYARD_ABI_MINOR)

typedef struct opyard_str {
  const char* data;
  uint32_t size;
  uint32_t reserved;
} opyard_str;

/* What a value holds. Numbers are final. */
enum opyard_tag {
  OPYARD_NONE = 0,
  OPYARD_BOOL = 1,    /* payload: 0 or 1 */
  OPYARD_INT = 2,     /* payload: int64 */
  OPYARD_DOUBLE = 3,  /* payload: the bits of a double */
  OPYARD_COMPLEX = 4, /* payload: address of two doubles (counted block) */
  OPYARD_STR = 5,     /* payload: address of the bytes (counted block), not terminated */
  OPYARD_TENSOR = 6,  /* payload: tensor handle; 0 is the undefined tensor */
  OPYARD_DEVICE = 7,  /* aux: kind of device; payload: index (int64, -1: current) */
  OPYARD_DTYPE = 8,   /* payload: number of the dtype */
  OPYARD_LAYOUT = 9,
  OPYARD_MEMORY_FORMAT = 10,
  OPYARD_GENERATOR = 11, /* payload: generator handle */
  OPYARD_STREAM = 12,
  OPYARD_SCALAR = 13, /* reserved: a Scalar is stored as BOOL, INT, DOUBLE or COMPLEX */
  OPYARD_LIST = 14,   /* aux: tag of the elements; payload: address of the first (counted block) */
  OPYARD_TUPLE = 15,  /* payload: address of the first value (counted block) */
  OPYARD_SYM_INT = 16,
  OPYARD_SYM_FLOAT = 17,
  OPYARD_SYM_BOOL = 18,
  OPYARD_STORAGE = 19,
  OPYARD_DICT = 20 /* payload: address of the first of key, value, key, value, … (counted block) */
};

/* One argument or result. A counted block lies behind an address: the two words before the first
 * element are {int64 reference count, uint64 number of elements}. Lists of INT, DOUBLE, BOOL (one
 * byte each) and TENSOR are contiguous arrays of these; other lists (aux = OPYARD_NONE), tuples and
 * dicts are arrays of opyard_value; a dict's count is that of its keys and values together, its
 * keys stand in the order of insertion, each once. What is empty may have a null address. SYM_INT,
 * SYM_FLOAT and SYM_BOOL are reserved: a concrete number is an INT, DOUBLE or BOOL. */
typedef struct opyard_value {
  uint32_t tag;
  uint32_t aux;
  uint64_t payload;
} opyard_value;

/* Where a callee leaves the reason of a failure. Owned by the host; write it with host->set_status.
 */
typedef struct opyard_status opyard_status;

/* What a boxed kernel is told about its call. Valid while it runs. */
typedef struct opyard_call {
  uint32_t struct_size;
  uint32_t flags;
  uint64_t keys;         /* dispatch keys of the call; the highest is the kernel's own */
  const void* table;     /* the operator's table in the pinned snapshot: for redispatch */
  opyard_status* status; /* host-owned */
  uint64_t snapshot;     /* of the tables: the same in all calls within one outermost call */
} opyard_call;

/* [any] A boxed kernel: n_in arguments in schema order, borrowed; n_out results, owned by the
 * caller afterwards, all OPYARD_NONE on entry. */
typedef int32_t (*opyard_boxed_fn)(void* self, opyard_call* call, const opyard_value* in,
                                   uint32_t n_in, opyard_value* out, uint32_t n_out);

enum opyard_registration_kind {
  OPYARD_REGISTER_DEF = 1,
  OPYARD_REGISTER_IMPL = 2,
  OPYARD_REGISTER_FALLBACK = 3
};

enum opyard_registration_flags {
  OPYARD_FALLTHROUGH = 1u,    /* impl, fallback: skip this key */
  OPYARD_CXX_KERNEL = 2u,     /* cxx_boxed is set instead of boxed, and typed and signature may be;
                                 refused without this. Builds of an equal fingerprint only */
  OPYARD_OVERRIDES = 4u,      /* impl: replacing another kernel at this key is meant */
  OPYARD_PASS_DOWN = 16u,     /* fallback: go on below all Autograd keys */
  OPYARD_SCHEMA_INFERRED = 8u /* def: `text` is a name, the schema is in `schema` */
};

/* What may be assumed about memory that an operator's arguments and results share. The default is
 * FROM_SCHEMA, for an inferred schema CONSERVATIVE. The others than FROM_SCHEMA are refused where
 * the schema has alias annotations. */
enum opyard_alias_analysis {
  OPYARD_ALIAS_DEFAULT = 0,
  OPYARD_ALIAS_FROM_SCHEMA = 1,  /* what its annotations say */
  OPYARD_ALIAS_CONSERVATIVE = 2, /* anything */
  OPYARD_ALIAS_PURE_FUNCTION = 3 /* nothing is shared or written to */
};

/* One definition, kernel or fallback. */
typedef struct opyard_registration {
  uint32_t struct_size;
  uint32_t flags;
  uint32_t kind;
  uint32_t line; /* place of the registration, with `file` */
  opyard_str file;
  opyard_str text; /* def: schema or name; impl: operator name */
  opyard_str
      key; /* dispatch key, an alias too; empty: the block's, else CompositeImplicitAutograd */
  opyard_boxed_fn boxed;
  void* self;
  opyard_str schema; /* inferred from a typed kernel; empty otherwise */
  /* Typed kernel and its adapters (dispatch/signature.h), for builds of an equal fingerprint. */
  const void* typed;
  const void* cxx_boxed;
  const void* signature;
  opyard_str debug;        /* label of the kernel; empty: the place */
  opyard_str tags;         /* def: names of small letters, digits and underscores, by commas */
  uint32_t alias_analysis; /* def: one of opyard_alias_analysis */
  uint32_t reserved;
} opyard_registration;

enum opyard_block_kind { OPYARD_BLOCK_DEF = 1, OPYARD_BLOCK_FRAGMENT = 2, OPYARD_BLOCK_IMPL = 3 };

/* One OPYARD_LIBRARY* block, already run. */
typedef struct opyard_block {
  uint32_t struct_size;
  uint32_t flags;
  uint32_t kind;
  uint32_t line;
  opyard_str file;
  opyard_str name_space; /* "_" for fallbacks */
  opyard_str key;
  const opyard_registration* registrations;
  uint64_t count;
} opyard_block;

/* What may keep a plugin mapped after its last call. */
enum opyard_lease_kind {
  OPYARD_LEASE_STORAGE = 0,
  OPYARD_LEASE_STREAM = 1,
  OPYARD_LEASE_EVENT = 2,
  OPYARD_LEASE_CALLBACK = 3,
  OPYARD_LEASE_OTHER = 4
};

/* What the host offers to one plugin: each gets a table of its own, valid until its fini returns.
 * All functions [any]. */
typedef struct opyard_host opyard_host;
struct opyard_host {
  uint32_t struct_size;
  uint32_t flags;
  void (*set_status)(opyard_status* status, int32_t code, opyard_str message);
  void (*log)(uint32_t level, opyard_str message);
  void* (*alloc)(uint64_t bytes); /* host memory, 64-byte aligned; null when there is none */
  void (*free)(void* memory);
  /* Tables by name, null when there is none: see opyard_tensors.h and its neighbours. */
  const void* (*get_extension)(const opyard_host* host, opyard_str id, uint32_t min_version);
  /* Keeps the plugin from ending until it is released: for whatever lives longer than a call. To be
   * acquired from within a kernel, an init or under another lease. */
  void (*lease_acquire)(const opyard_host* host, uint32_t kind);
  void (*lease_release)(const opyard_host* host, uint32_t kind);
  uint64_t (*now_ns)(void); /* CLOCK_MONOTONIC */
};

/* Extension "opyard.kernels/1" of a plugin: its registrations. */
typedef struct opyard_kernels_ext {
  uint32_t struct_size;
  uint32_t flags;
  /* [control] Fills *blocks; the array stays the plugin's and valid until fini. */
  int32_t (*blocks)(void* instance, const opyard_block** blocks, uint64_t* count,
                    opyard_status* status);
} opyard_kernels_ext;

/* The plugin's table. Null entries are "not provided". Order of calls: init, the extensions,
 * activate; then the kernels are published and called; when they are gone again quiesce (end own
 * threads), drain (all work is done, by now no kernel runs), fini. A failed init has undone itself;
 * fini is not called after it. After a failed activate comes fini alone. A failed quiesce or drain
 * says that work is still going on: fini is not called then. Deadlines are times of
 * CLOCK_MONOTONIC. */
typedef struct opyard_plugin_table {
  uint32_t struct_size;
  uint32_t flags;
  int32_t (*init)(const opyard_host* host, void** instance, opyard_status* status);  /* [control] */
  int32_t (*activate)(void* instance, opyard_status* status);                        /* [control] */
  int32_t (*quiesce)(void* instance, uint64_t deadline_ns, opyard_status* status);   /* [control] */
  int32_t (*drain)(void* instance, uint64_t deadline_ns, opyard_status* status);     /* [control] */
  void (*fini)(void* instance);                                                      /* [control] */
  const void* (*get_extension)(void* instance, opyard_str id, uint32_t min_version); /* [any] */
} opyard_plugin_table;

/* What is readable before any code of the file runs: an ELF note of owner "OPYARD" and type 1, in
 * the section .note.opyard. One for a file. Texts are filled up with zeros and need not end in one.
 */
#define OPYARD_NOTE_OWNER "OPYARD"
#define OPYARD_NOTE_TYPE 1u
#define OPYARD_NOTE_MAGIC 0x4452594fu /* "OYRD" */

enum opyard_plugin_kind { /* bits */
  OPYARD_KIND_KERNELS = 1,  /* kernels for devices that are there */
  OPYARD_KIND_DEVICE = 2,   /* a device runtime: extension opyard.device */
  OPYARD_KIND_OBSERVER = 4, /* reserved */
  OPYARD_KIND_SCHEMAS = 8   /* defines operators */
};

/* What the author claims; the host looks for itself, too. */
enum opyard_unload_class {
  OPYARD_UNLOADABLE = 1,
  OPYARD_UNLOADABLE_BUT_DEPENDENCIES = 2, /* a library that it brings stays mapped */
  OPYARD_NEVER_UNLOADABLE = 3
};

typedef struct opyard_note {
  uint32_t struct_size;
  uint32_t flags;
  uint32_t magic;
  uint32_t kind;    /* bits of opyard_plugin_kind */
  uint32_t abi_min; /* versions of this interface that it speaks, major * 65536 + minor */
  uint32_t abi_max;
  uint32_t unload_class;
  uint32_t isa_level;    /* 0: any; on x86-64 the level of the psABI, 2 to 4 */
  uint32_t isa_features; /* beyond the level; bits of opyard_isa_feature */
  uint32_t reserved;
  char name[64];         /* as the handshake says it */
  char version[32];
  char fingerprint[128]; /* of the build; empty without C++ kernels */
  char claims[128];      /* by commas: dispatch keys ("CPU"), private devices ("device:toy") */
  char needs[128];       /* by commas: host extensions it cannot do without ("opyard.tensors/1") */
} opyard_note;

enum opyard_isa_feature { /* bits */
  OPYARD_ISA_AVX512_BF16 = 1,
  OPYARD_ISA_AVX512_VNNI = 2,
  OPYARD_ISA_AMX_TILE = 4,
  OPYARD_ISA_AVX_VNNI = 8
};

typedef struct opyard_host_handshake {
  uint32_t struct_size;
  uint32_t flags;
  uint32_t abi_min;
  uint32_t abi_max;
  opyard_str fingerprint; /* of the host's build */
} opyard_host_handshake;

typedef struct opyard_plugin_handshake {
  uint32_t struct_size; /* set by the host: the room that there is */
  uint32_t flags;
  uint32_t abi; /* the version that the plugin chose: the highest common one */
  uint32_t reserved;
  opyard_str name;
  opyard_str version;
  opyard_str fingerprint; /* of the build that made the plugin; equal: typed kernels are used */
  opyard_str message;     /* why not, when the result is not 0 */
  const opyard_plugin_table* table;
} opyard_plugin_handshake;

/* The one exported function of a plugin. [control], no side effects, no allocation. Returns
 * FAILED_PRECONDITION (9) with a message when no version is common. */
int32_t opyard_plugin_entry(const opyard_host_handshake* host, opyard_plugin_handshake* plugin);
typedef int32_t (*opyard_plugin_entry_fn)(const opyard_host_handshake*, opyard_plugin_handshake*);

#ifdef __cplusplus
}
#endif

/* How large the structs were in version 1.0: the least that a reader takes. */
enum opyard_sizes_1_0 {
  OPYARD_CALL_SIZE_1_0 = 40,
  OPYARD_REGISTRATION_SIZE_1_0 = 160,
  OPYARD_BLOCK_SIZE_1_0 = 80,
  OPYARD_HOST_SIZE_1_0 = 72,
  OPYARD_KERNELS_EXT_SIZE_1_0 = 16,
  OPYARD_PLUGIN_TABLE_SIZE_1_0 = 56,
  OPYARD_HOST_HANDSHAKE_SIZE_1_0 = 32,
  OPYARD_PLUGIN_HANDSHAKE_SIZE_1_0 = 88,
  OPYARD_NOTE_SIZE_1_0 = 520
};

#include "opyard_plugin_layout.h"

#endif
