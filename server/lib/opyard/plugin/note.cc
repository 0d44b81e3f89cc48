#include "opyard/plugin/note.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <string_view>

#include "opyard/base/check.h"
#include "opyard/core/dispatch_key.h"

namespace opyard::plugin {
namespace {

constexpr uint32_t kKnownKinds =
    OPYARD_KIND_KERNELS | OPYARD_KIND_DEVICE | OPYARD_KIND_OBSERVER | OPYARD_KIND_SCHEMAS;
constexpr std::string_view kDevice = "device:";

bool is_word(std::string_view text, std::string_view also = "") {
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) || c == '_' ||
                  also.find(c) != std::string_view::npos;
         });
}

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

class NoteReader {
 public:
  NoteReader(const ElfFile& file, const HostOffers& host) : name_(file.name()), host_(host) {}

  NoteFacts check(const opyard_note& note) const {
    NoteFacts facts;
    facts.name = text(note.name, "name");
    facts.version = text(note.version, "version");
    facts.fingerprint = text(note.fingerprint, "fingerprint");
    OPYARD_CHECK(is_word(facts.name, "-."), kFailedPrecondition,
                 refusal("the name in its note is '", facts.name,
                         "'; wanted is a letter, then letters, digits, '_', '-' and '.'"));
    OPYARD_CHECK(!facts.version.empty() && facts.version.find(' ') == std::string::npos,
                 kFailedPrecondition, refusal("its note gives no version"));
    take_abi(note, facts);
    take_numbers(note, facts);
    facts.claims = list(text(note.claims, "claims"), "claims");
    for (const std::string& claim : facts.claims) check_claim(claim);
    facts.needs = list(text(note.needs, "needs"), "needs");
    for (const std::string& need : facts.needs) check_need(need);
    return facts;
  }

  template <typename... Parts>
  std::string refusal(const Parts&... parts) const {
    return str_cat("the plugin '", name_, "' is refused: ", parts...);
  }

 private:
  // The text in an array that is filled up with zeros.
  template <size_t N>
  std::string text(const char (&array)[N], std::string_view what) const {
    const std::string_view all(array, N);
    const std::string_view text = all.substr(0, all.find('\0'));
    const std::string_view rest = all.substr(text.size());
    OPYARD_CHECK(std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 127; }),
                 kFailedPrecondition,
                 refusal("the ", what, " in its note ('", shown(text),
                         "') has characters that do not print"));
    OPYARD_CHECK(std::all_of(rest.begin(), rest.end(), [](char c) { return c == 0; }),
                 kFailedPrecondition,
                 refusal("the ", what, " in its note is not filled up with zeros"));
    return std::string(text);
  }

  std::vector<std::string> list(std::string_view text, std::string_view what) const {
    std::vector<std::string> parts;
    while (!text.empty()) {
      const size_t comma = text.find(',');
      const std::string_view part = text.substr(0, comma);
      const bool ends_in_comma = comma != std::string_view::npos && comma + 1 == text.size();
      OPYARD_CHECK(!part.empty() && !ends_in_comma, kFailedPrecondition,
                   refusal("the ", what, " in its note have an empty entry"));
      OPYARD_CHECK(std::find(parts.begin(), parts.end(), part) == parts.end(), kFailedPrecondition,
                   refusal("the ", what, " in its note name '", part, "' twice"));
      parts.emplace_back(part);
      text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    }
    return parts;
  }

  void take_abi(const opyard_note& note, NoteFacts& facts) const {
    facts.abi_min = note.abi_min;
    facts.abi_max = note.abi_max;
    OPYARD_CHECK(note.abi_min <= note.abi_max, kFailedPrecondition,
                 refusal("its note gives the versions ", abi_text(note.abi_min), " to ",
                         abi_text(note.abi_max), " of the plugin interface, which is no range"));
    OPYARD_CHECK(
        note.abi_min <= host_.abi_max && note.abi_max >= host_.abi_min, kFailedPrecondition,
        refusal("it speaks the versions ", abi_text(note.abi_min), " to ", abi_text(note.abi_max),
                " of the plugin interface, this host ", abi_text(host_.abi_min), " to ",
                abi_text(host_.abi_max), "; build it against this host's opyard_plugin.h"));
  }

  void take_numbers(const opyard_note& note, NoteFacts& facts) const {
    facts.kind = note.kind;
    OPYARD_CHECK(note.kind != 0 && (note.kind & ~kKnownKinds) == 0, kFailedPrecondition,
                 refusal("its note has the kind ", note.kind, "; this host knows the bits of ",
                         kKnownKinds, " (opyard_plugin_kind), at least one is wanted"));
    facts.unload_class = note.unload_class;
    OPYARD_CHECK(
        note.unload_class >= OPYARD_UNLOADABLE && note.unload_class <= OPYARD_NEVER_UNLOADABLE,
        kFailedPrecondition,
        refusal("its note has the unload class ", note.unload_class,
                "; wanted is 1, 2 or 3 (opyard_unload_class)"));
    facts.isa = {note.isa_level, note.isa_features};
    OPYARD_CHECK(note.isa_level == 0 || (note.isa_level >= 2 && note.isa_level <= 4),
                 kFailedPrecondition,
                 refusal("its note asks for the instruction set level ", note.isa_level,
                         "; wanted is 0 or 2 to 4"));
    const std::string missing = missing_isa(facts.isa, host_.isa);
    OPYARD_CHECK(
        missing.empty(), kFailedPrecondition,
        refusal("it needs ", missing, "; take a build of it for this machine's instruction set"));
  }

  // A device's name is checked by its form here; whether it is free shows when it is claimed.
  void check_claim(const std::string& claim) const {
    if (claim.compare(0, kDevice.size(), kDevice) != 0) {
      OPYARD_CHECK(try_parse_dispatch_key(claim).has_value(), kFailedPrecondition,
                   refusal("it claims '", claim,
                           "', which is no dispatch key here; keys look like CPU or AutogradCPU, "
                           "devices like device:toy, and a private device's keys are known while "
                           "its runtime is loaded"));
      return;
    }
    const std::string_view device = std::string_view(claim).substr(kDevice.size());
    OPYARD_CHECK(is_word(device) && device.size() <= 64, kFailedPrecondition,
                 refusal("it claims the device '", device,
                         "'; wanted is a letter, then letters, digits and '_', at most 64"));
    for (int i = 1; i <= kNumBackends; ++i) {
      OPYARD_CHECK(!same_letters(to_string(static_cast<Backend>(i)), device), kFailedPrecondition,
                   refusal("it claims the device '", device, "', which is a backend's own name"));
    }
  }

  void check_need(const std::string& need) const {
    uint32_t version = 0;
    const std::string_view id = split(need, &version);
    OPYARD_CHECK(!id.empty(), kFailedPrecondition,
                 refusal("it needs '", need, "'; wanted is an extension like opyard.tensors/1"));
    if (!host_.extensions) return;
    std::string all;
    for (const std::string& offer : *host_.extensions) {
      uint32_t offered = 0;
      if (split(offer, &offered) == id && offered >= version) return;
      all += str_cat(all.empty() ? "" : ", ", offer);
    }
    raise(Code::kFailedPrecondition, refusal("it needs the host's extension '", need,
                                             "'; this host has ", all.empty() ? "none" : all));
  }

  // The id before the slash, empty when the text is no extension; the version behind it.
  static std::string_view split(std::string_view text, uint32_t* version) {
    const size_t slash = text.find('/');
    if (slash == std::string_view::npos || !is_word(text.substr(0, slash), ".-")) return {};
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + slash + 1, end, *version);
    return error == std::errc() && stop == end && *version > 0 ? text.substr(0, slash)
                                                               : std::string_view();
  }

  const std::string& name_;
  const HostOffers& host_;
};

}  // namespace

std::string abi_text(uint32_t version) { return str_cat(version >> 16, ".", version & 0xffff); }

NoteFacts read_note(const ElfFile& file, const HostOffers& host) {
  const NoteReader reader(file, host);
  const ElfNote* ours = nullptr;
  for (const ElfNote& note : file.notes()) {
    if (note.owner != OPYARD_NOTE_OWNER || note.type != OPYARD_NOTE_TYPE) continue;
    OPYARD_CHECK(!ours, kFailedPrecondition,
                 reader.refusal("it has more than one note; write OPYARD_PLUGIN or OPYARD_NOTE in "
                                "one source of it only"));
    ours = &note;
  }
  OPYARD_CHECK(ours, kFailedPrecondition,
               reader.refusal("it has no note; use OPYARD_PLUGIN, or OPYARD_NOTE in one of its "
                              "sources (plugins/sdk)"));
  opyard_note note{};
  std::memcpy(&note, ours->bytes.data(), std::min(ours->bytes.size(), sizeof(note)));
  OPYARD_CHECK(note.struct_size >= OPYARD_NOTE_SIZE_1_0 && note.struct_size <= ours->bytes.size(),
               kFailedPrecondition,
               reader.refusal("the struct_size of its note is ", note.struct_size, " in a note of ",
                              ours->bytes.size(), " bytes; at least ", OPYARD_NOTE_SIZE_1_0,
                              " are wanted, and not more than the note has"));
  OPYARD_CHECK(note.magic == OPYARD_NOTE_MAGIC, kFailedPrecondition,
               reader.refusal("the magic number of its note is ", note.magic, ", wanted is ",
                              OPYARD_NOTE_MAGIC));
  return reader.check(note);
}

}  // namespace opyard::plugin
