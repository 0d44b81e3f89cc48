// One plugin of the zoo, wrong (or special) in the way that BAD names. It tells the program that
// loads it which of its functions were called: I(nit), B(locks), A(ctivate), Q(uiesce), D(rain),
// F(ini).
#include <string_view>

#include "opyard_note.h"
#if defined(BAD_no_cxx_function)
#include "opyard/base/fingerprint.h"
#define BAD_FINGERPRINT OPYARD_BUILD_FINGERPRINT
#else
#define BAD_FINGERPRINT "another build"
#endif
#if defined(BAD_library_name)
#define BAD_NAME "opyard"
#elif !defined(BAD_NAME)  // tests/plugins/zoo has one of its own
#define BAD_NAME "bad"
#endif

extern "C" __attribute__((weak)) void zoo_note(char step);  // the program's, where it has one

OPYARD_NOTE(BAD_NAME, "1.0.0", OPYARD_KIND_KERNELS, OPYARD_UNLOADABLE, "CPU", "", BAD_FINGERPRINT);

namespace {

constexpr bool is(std::string_view bad) { return bad == BAD; }

constexpr opyard_str text(std::string_view s) {
  return {s.data(), static_cast<uint32_t>(s.size()), 0};
}

void note(char step) {
  if (zoo_note) zoo_note(step);
}

int32_t fail(opyard_status* status, const opyard_host* host) {
  host->set_status(nullptr, 13, {nullptr, 4, 0});  // nobody is there to read it: no harm
  host->log(77, {nullptr, 9, 0});
  host->set_status(status, 14, text("the device is asleep"));
  return 14;
}

const opyard_host* the_host;
int32_t init(const opyard_host* host, void**, opyard_status* status) {
  note('I');
  the_host = host;
  return is("init_fails") ? fail(status, host) : 0;
}
int32_t activate(void*, opyard_status* status) {
  note('A');
  return is("activate_fails") ? fail(status, the_host) : 0;
}
int32_t quiesce(void*, uint64_t, opyard_status*) {
  note('Q');
  return 0;
}
int32_t drain(void*, uint64_t, opyard_status* status) {
  note('D');
  return is("drain_fails") ? fail(status, the_host) : 0;
}
void fini(void*) { note('F'); }

int32_t kernel(void*, opyard_call*, const opyard_value*, uint32_t, opyard_value*, uint32_t) {
  return 0;
}

// Records as a later version of the interface may have them.
struct Registration : opyard_registration {
  uint64_t later[3];
};
struct Block : opyard_block {
  uint64_t later;
};
struct Table : opyard_plugin_table {
  uint64_t later;
};

void spoil(Registration& record, Block& block) {
  if (is("bad_block")) record.key = text("Nowhere");
  if (is("other_build") || is("no_cxx_function")) record.flags = OPYARD_CXX_KERNEL;
  if (is("typed_unflagged")) record.typed = &record;
  if (is("cxx_unflagged")) record.cxx_boxed = &record;
  if (is("signature_unflagged")) record.signature = &record;
  if (is("no_cxx_function")) record.boxed = nullptr;
  if (is("small_record")) record.struct_size = 8;
  if (is("record_kind")) record.kind = 77;
  if (is("null_tags")) record.tags = {nullptr, 5, 0};
  if (is("tagged_kernel")) record.alias_analysis = OPYARD_ALIAS_PURE_FUNCTION;
  if (is("null_text")) record.text = {nullptr, 5, 0};
  if (is("block_kind")) block.kind = 77;
  if (is("small_block")) block.struct_size = 8;
  if (is("huge_block")) block.struct_size = 0xfffffff8u;
  if (is("odd_block")) block.struct_size = sizeof(Block) - 3;
  if (is("null_records")) block.registrations = nullptr;
  if (is("many_records")) block.count = uint64_t{1} << 40;
}

// Two blocks of two kernels each for the namespace of the test.
int32_t give_blocks(void*, const opyard_block** out, uint64_t* count, opyard_status*) {
  static Registration records[2][2];
  static Block blocks[2];
  static constexpr std::string_view kNames[2][2] = {{"f", "g"}, {"h", "i"}};
  note('B');
  for (int b = 0; b < 2; ++b) {
    for (int r = 0; r < 2; ++r) {
      Registration& record = records[b][r];
      record = {};
      record.struct_size = sizeof(Registration);
      record.kind = OPYARD_REGISTER_IMPL;
      record.text = text(kNames[b][r]);
      record.key = text("CPU");
      record.boxed = &kernel;
      record.later[2] = ~uint64_t{0};
    }
    blocks[b] = {};
    blocks[b].struct_size = sizeof(Block);
    blocks[b].kind = OPYARD_BLOCK_IMPL;
    blocks[b].name_space = text("bad_plugin");
    blocks[b].registrations = records[b];
    blocks[b].count = 2;
    blocks[b].later = ~uint64_t{0};
    spoil(records[b][0], blocks[b]);
  }
  if (is("mixed_blocks")) blocks[1].struct_size = sizeof(opyard_block);
  *out = is("null_array") ? nullptr : blocks;
  *count = 2;
  return 0;
}

const void* get_extension(void*, opyard_str id, uint32_t) {
  if (std::string_view(id.data, id.size) != "opyard.kernels") return nullptr;
  static const opyard_kernels_ext extension{
      is("small_extension") ? 8u : static_cast<uint32_t>(sizeof(opyard_kernels_ext)), 0,
      is("null_function") ? nullptr : &give_blocks};
  return &extension;
}

const Table& table() {
  static Table made{};
  made.struct_size = is("small_table") ? 8 : sizeof(Table);
  made.init = &init;
  made.activate = &activate;
  made.quiesce = &quiesce;
  made.drain = &drain;
  made.fini = &fini;
  made.get_extension = is("no_extension") ? nullptr : &get_extension;
  return made;
}

}  // namespace

#if !defined(BAD_no_entry)
extern "C" __attribute__((visibility("default"))) int32_t opyard_plugin_entry(
    const opyard_host_handshake* host, opyard_plugin_handshake* plugin) {
  static const char long_name[300] = {'x'};
  plugin->abi = host->abi_max;
  if (is("newer_abi")) plugin->abi = host->abi_max + 1;
  if (is("older_abi")) plugin->abi = host->abi_min - 1;
  plugin->name = is("long_name") ? text({long_name, sizeof(long_name)}) : text(BAD_NAME);
  if (is("other_name")) plugin->name = text("good");
  plugin->version = text(is("other_version") ? "2.0.0" : "1.0.0");
  plugin->fingerprint = text(is("other_fingerprint") ? "my build" : BAD_FINGERPRINT);
  plugin->table = is("no_table") ? nullptr : &table();
  if (!is("refuses")) return 0;
  plugin->message = text("needs a newer host");
  return 9;
}
#endif
