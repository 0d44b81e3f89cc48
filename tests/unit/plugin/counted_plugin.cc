// A plugin whose kernels say which of its builds they belong to (COUNTED). Version 3 lacks one
// operator, has another schema for a second, and hangs in its init when told so.
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string_view>

#include "opyard_note.h"

namespace {

constexpr opyard_str text(std::string_view s) {
  return {s.data(), static_cast<uint32_t>(s.size()), 0};
}

const opyard_host* host;

// The program that loads it holds calls, init and quiesce up, and says how they end.
extern "C" int32_t counted_wait(const char* where);

int32_t init(const opyard_host* given, void**, opyard_status*) {
  host = given;
  return counted_wait("init");
}
int32_t quiesce(void*, uint64_t, opyard_status*) { return counted_wait("quiesce"); }
void fini(void*) { counted_wait("fini"); }

int32_t which(void*, opyard_call* call, const opyard_value*, uint32_t, opyard_value* out,
              uint32_t) {
  out[0] = {OPYARD_INT, 0, COUNTED};
  return call->snapshot ? 0 : 13;
}
// Takes until it is let go, then says the same.
int32_t slow(void* self, opyard_call* call, const opyard_value* in, uint32_t n_in,
             opyard_value* out, uint32_t n_out) {
  counted_wait("slow");
  return which(self, call, in, n_in, out, n_out);
}
// Takes or gives back a lease.
int32_t lease(void*, opyard_call*, const opyard_value* in, uint32_t, opyard_value*, uint32_t) {
  (in[0].payload ? host->lease_acquire : host->lease_release)(host, OPYARD_LEASE_EVENT);
  return 0;
}

struct Record {
  uint32_t kind;
  std::string_view text;
  opyard_boxed_fn function;
};
constexpr std::array kRecords = {
    Record{OPYARD_REGISTER_DEF, "which(Tensor x) -> int", nullptr},
    Record{OPYARD_REGISTER_IMPL, "which", &which},
    Record{OPYARD_REGISTER_DEF, "slow(Tensor x) -> int", nullptr},
    Record{OPYARD_REGISTER_IMPL, "slow", &slow},
#if COUNTED == 3
    Record{OPYARD_REGISTER_DEF, "lease(bool take, int more=0) -> ()", nullptr},
#else
    Record{OPYARD_REGISTER_DEF, "lease(bool take) -> ()", nullptr},
    Record{OPYARD_REGISTER_DEF, "only_early(Tensor x) -> int", nullptr},
    Record{OPYARD_REGISTER_IMPL, "only_early", &which},
#endif
    Record{OPYARD_REGISTER_IMPL, "lease", &lease},
};

int32_t give_blocks(void*, const opyard_block** blocks, uint64_t* count, opyard_status*) {
  static std::array<opyard_registration, kRecords.size()> records;
  static opyard_block block;
  for (size_t i = 0; i < kRecords.size(); ++i) {
    records[i] = {};
    records[i].struct_size = sizeof(opyard_registration);
    records[i].kind = kRecords[i].kind;
    records[i].text = text(kRecords[i].text);
    records[i].boxed = kRecords[i].function;
    records[i].file = text("counted_plugin.cc");
  }
  block = {};
  block.struct_size = sizeof(opyard_block);
  block.kind = OPYARD_BLOCK_DEF;
  block.file = text("counted_plugin.cc");
  block.name_space = text("counted");
  block.registrations = records.data();
  block.count = records.size();
  *blocks = &block;
  *count = 1;
  return 0;
}

const void* get_extension(void*, opyard_str id, uint32_t) {
  static const opyard_kernels_ext kernels{sizeof(opyard_kernels_ext), 0, &give_blocks};
  return std::string_view(id.data, id.size) == "opyard.kernels" ? &kernels : nullptr;
}

const opyard_plugin_table table{
    sizeof(opyard_plugin_table), 0, &init, nullptr, &quiesce, nullptr, &fini, &get_extension};

#define COUNTED_TEXT_(x) #x
#define COUNTED_TEXT(x) COUNTED_TEXT_(x)

}  // namespace

extern "C" {
OPYARD_C_PLUGIN(table, "counted", COUNTED_TEXT(COUNTED) ".0.0", OPYARD_KIND_KERNELS,
                OPYARD_UNLOADABLE, "CPU", "");
}
