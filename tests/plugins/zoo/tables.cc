// Plugins whose tables and records are not as they should be: the same source as the unit tests of
// reading them (tests/unit/plugin/bad_plugin.cc), here at all three places.
#include <array>

#include "table.h"

namespace opyard::zoo {
namespace {

struct Row {
  std::string_view animal;
  Code code;
  std::string_view says;
};
constexpr Code kPrecondition = Code::kFailedPrecondition;
constexpr Code kArgument = Code::kInvalidArgument;

constexpr std::array kRows = {
    Row{"table_refuses", kPrecondition, "needs a newer host; this host speaks the versions 1.0"},
    Row{"table_newer_abi", kPrecondition, "chose the version 1.1; this host speaks"},
    Row{"table_older_abi", kPrecondition, "chose the version 0.65535; this host speaks"},
    Row{"table_no_table", kPrecondition, "no plugin table"},
    Row{"table_small_table", kArgument, "the struct_size is 8"},
    Row{"table_long_name", kArgument, "the plugin's name has 300 bytes"},
    Row{"table_other_name", kPrecondition, "says the name 'good' in its handshake and 'zoo'"},
    Row{"table_other_version", kPrecondition, "says the version '2.0.0'"},
    Row{"table_other_fingerprint", kPrecondition, "says the fingerprint 'my build'"},
    Row{"table_init_fails", Code::kUnavailable, "the device is asleep"},
    Row{"table_activate_fails", Code::kUnavailable, "the device is asleep"},
    Row{"table_other_build", kPrecondition, "another build"},
    Row{"table_small_extension", kArgument, "the struct_size is 8"},
    Row{"table_null_function", kArgument, "no function 'blocks'"},
    Row{"table_null_array", kArgument, "the blocks: there is only a null pointer"},
    Row{"table_small_block", kArgument, "the blocks: the struct_size is 8"},
    Row{"table_huge_block", kArgument, "the blocks: the struct_size is 4294967288"},
    Row{"table_odd_block", kArgument, "a multiple of 8"},
    Row{"table_mixed_blocks", kArgument, "records of one array have one size"},
    Row{"table_small_record", kArgument, "the registrations: the struct_size is 8"},
    Row{"table_null_records", kArgument, "the registrations: there is only a null"},
    Row{"table_many_records", kArgument, "are the most"},
    Row{"table_null_text", kArgument, "a null pointer with 5 bytes"},
    Row{"table_bad_block", kArgument, "Nowhere"},
    Row{"table_block_kind", kArgument, "unknown block kind 77"},
    Row{"table_record_kind", kArgument, "unknown registration kind 77"},
    Row{"table_typed_unflagged", kArgument, "without the flag OPYARD_CXX_KERNEL"},
    Row{"table_null_tags", kArgument, "the tags of a registration"},
    Row{"table_tagged_kernel", kArgument, "belong to a definition"},
};

}  // namespace

std::vector<Animal> table_animals() {
  std::vector<Animal> made;
  for (const Row& row : kRows) {
    // Their notes say that another build made them, which the lint warns of.
    made.push_back({.name = row.animal,
                    .lint = {.says = "another build"},
                    .probe = {Life::kFails, row.says},
                    .load = {row.code, row.says}});
  }
  return made;
}

}  // namespace opyard::zoo
