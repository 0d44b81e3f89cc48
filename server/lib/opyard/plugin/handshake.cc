#include "opyard/plugin/handshake.h"

#include "opyard/base/check.h"
#include "opyard/base/fingerprint.h"

namespace opyard::plugin {
namespace {

constexpr std::string_view kFingerprint = OPYARD_BUILD_FINGERPRINT;
constexpr uint32_t kLongestName = 256;
constexpr uint32_t kLongestMessage = 4096;

opyard_str as_str(std::string_view text) {
  return {text.data(), static_cast<uint32_t>(text.size()), 0};
}

// C++ kernels may only be taken from a build with the same types.
void check_fingerprint(const std::string& theirs, ArrayRef<opyard_block> blocks) {
  if (theirs == kFingerprint) return;
  for (const opyard_block& block : blocks) {
    for (uint64_t i = 0; i < block.count; ++i) {
      OPYARD_CHECK(!(block.registrations[i].flags & OPYARD_CXX_KERNEL), kFailedPrecondition,
                   "it was built against other headers or with another compiler ('", theirs,
                   "') than this library ('", kFingerprint,
                   "'); build it anew, or register boxed kernels of the C interface");
    }
  }
}

// The handshake says what the note said.
void check_agrees(const std::string& file, const NoteFacts& note,
                  const opyard_plugin_handshake& answer) {
  const auto check = [&file](const char* what, opyard_str said, const std::string& noted) {
    const std::string text = take_text(said, kLongestName, str_cat("the plugin's ", what));
    OPYARD_CHECK(text == noted, kFailedPrecondition, "'", file, "' says the ", what, " '", text,
                 "' in its handshake and '", noted, "' in its note");
  };
  check("name", answer.name, note.name);
  check("version", answer.version, note.version);
  check("fingerprint", answer.fingerprint, note.fingerprint);
}

}  // namespace

bool is_same_build(const NoteFacts& note) noexcept { return note.fingerprint == kFingerprint; }

opyard_plugin_table shake_hands(const Image& image, const NoteFacts& note, std::string* abi) {
  const std::string& file = image.file().name;
  const opyard_host_handshake host{sizeof(host), 0, OPYARD_ABI_OLDEST, OPYARD_ABI_VERSION,
                                   as_str(kFingerprint)};
  opyard_plugin_handshake answer{};
  answer.struct_size = sizeof(answer);
  const int32_t code = image.entry()(&host, &answer);
  const std::string versions =
      str_cat("this host speaks the versions ", abi_text(OPYARD_ABI_OLDEST), " to ",
              abi_text(OPYARD_ABI_VERSION), " of the plugin interface");
  const bool other = !note.fingerprint.empty() && !is_same_build(note);
  const std::string builds = other ? str_cat("; its build is '", note.fingerprint,
                                             "', this library's '", kFingerprint, "'")
                                   : std::string();
  OPYARD_CHECK(code == 0, kFailedPrecondition, "'", file,
               "' refuses this host: ", take_text(answer.message, kLongestMessage, "its reason"),
               "; ", versions, builds);
  OPYARD_CHECK(answer.abi >= host.abi_min && answer.abi <= host.abi_max, kFailedPrecondition, "'",
               file, "' chose the version ", abi_text(answer.abi), "; ", versions);
  OPYARD_CHECK(answer.table, kFailedPrecondition, "'", file, "' gives no plugin table");
  check_agrees(file, note, answer);
  *abi = abi_text(answer.abi);
  return take<opyard_plugin_table>(answer.table, OPYARD_PLUGIN_TABLE_SIZE_1_0,
                                   str_cat("the table of the plugin '", note.name, "'"));
}

const void* extension_of(const opyard_plugin_table& table, void* instance, std::string_view id) {
  return table.get_extension ? table.get_extension(instance, as_str(id), 1) : nullptr;
}

Brought read_brought(const opyard_plugin_table& table, void* instance, const NoteFacts& note,
                     StatusRoom& status) {
  const opyard_block* first = nullptr;
  uint64_t count = 0;
  if (const void* offered = extension_of(table, instance, "opyard.kernels")) {
    const auto kernels = take<opyard_kernels_ext>(offered, OPYARD_KERNELS_EXT_SIZE_1_0,
                                                  "the extension opyard.kernels");
    OPYARD_CHECK(kernels.blocks, kInvalidArgument, "plugin '", note.name,
                 "': its extension opyard.kernels has no function 'blocks'");
    const int32_t code = kernels.blocks(instance, &first, &count, status.get());
    if (code != 0) throw status.error(code, str_cat("plugin '", note.name, "' gave no kernels"));
  }
  Brought brought;
  brought.records = std::make_unique<Records>(first, count);
  check_fingerprint(note.fingerprint, brought.records->blocks());
  if (const void* offered = extension_of(table, instance, "opyard.schemas")) {
    brought.schemas = Schemas(offered);
  }
  for (const opyard_block& block : brought.schemas.blocks()) brought.blocks.push_back(block);
  for (const opyard_block& block : brought.records->blocks()) brought.blocks.push_back(block);
  return brought;
}

}  // namespace opyard::plugin
