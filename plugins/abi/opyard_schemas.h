/* Extension "opyard.schemas", version 1, of a plugin: the operators that it defines. C11. The host
 * asks for it between init and activate, and copies everything: schemas belong to the host, and
 * outlive the plugin. Kernels for them come by "opyard.kernels". */
#ifndef OPYARD_SCHEMAS_H
#define OPYARD_SCHEMAS_H

#include "opyard_layout.h"
#include "opyard_plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One definition. Empty texts and zeros mean "not said". */
typedef struct opyard_schema {
  uint32_t struct_size;
  uint32_t flags;
  opyard_str name_space;    /* "axpby" */
  opyard_str schema;        /* "axpby(Tensor x, Tensor y, *, Scalar a=1, Scalar b=1) -> Tensor" */
  opyard_str tags;          /* small letters, digits and underscores, by commas: "pointwise" */
  opyard_str preconditions; /* for people: what callers have to see to, by semicolons */
  opyard_str doc;           /* for people: a sentence or a few */
  opyard_str file;          /* where it is written, for messages */
  uint32_t line;
  uint32_t alias_analysis; /* one of opyard_alias_analysis */
} opyard_schema;

typedef struct opyard_schemas_ext {
  uint32_t struct_size;
  uint32_t flags;
  const opyard_schema* schemas; /* the plugin's, valid until fini; records of one struct_size */
  uint64_t count;
} opyard_schemas_ext;

#ifdef __cplusplus
}
#endif

enum opyard_schemas_sizes_1_0 { OPYARD_SCHEMA_SIZE_1_0 = 112, OPYARD_SCHEMAS_EXT_SIZE_1_0 = 24 };

OPYARD_SIZE_IS(opyard_schema, 112);
OPYARD_PLACE_IS(opyard_schema, name_space, 8);
OPYARD_PLACE_IS(opyard_schema, schema, 24);
OPYARD_PLACE_IS(opyard_schema, tags, 40);
OPYARD_PLACE_IS(opyard_schema, preconditions, 56);
OPYARD_PLACE_IS(opyard_schema, doc, 72);
OPYARD_PLACE_IS(opyard_schema, file, 88);
OPYARD_PLACE_IS(opyard_schema, line, 104);
OPYARD_PLACE_IS(opyard_schema, alias_analysis, 108);
OPYARD_SIZE_IS(opyard_schemas_ext, 24);
OPYARD_PLACE_IS(opyard_schemas_ext, schemas, 8);
OPYARD_PLACE_IS(opyard_schemas_ext, count, 16);

#endif
