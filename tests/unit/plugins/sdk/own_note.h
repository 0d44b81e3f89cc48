#pragma once

#include <link.h>

#include <cstring>
#include <optional>
#include <string_view>

#include "opyard_plugin.h"

namespace opyard::testing {

// The note of the running program, which is a plugin too, as the loader has mapped it.
inline std::optional<opyard_note> own_note() {
  const auto look = [](dl_phdr_info* object, size_t, void* found) {
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const auto& header = object->dlpi_phdr[i];
      if (header.p_type != PT_NOTE || header.p_align > 4) continue;
      const auto* at = reinterpret_cast<const char*>(object->dlpi_addr + header.p_vaddr);
      const char* end = at + header.p_memsz;
      while (at < end) {
        ElfW(Nhdr) note;
        std::memcpy(&note, at, sizeof(note));
        const char* owner = at + sizeof(note);
        const char* content = owner + (note.n_namesz + 3) / 4 * 4;
        if (std::string_view(owner, note.n_namesz) == std::string_view("OPYARD", 7) &&
            note.n_type == OPYARD_NOTE_TYPE && note.n_descsz == sizeof(opyard_note)) {
          std::memcpy(&static_cast<std::optional<opyard_note>*>(found)->emplace(), content,
                      sizeof(opyard_note));
        }
        at = content + (note.n_descsz + 3) / 4 * 4;
      }
    }
    return 1;  // the program comes first
  };
  std::optional<opyard_note> note;
  dl_iterate_phdr(look, &note);
  return note;
}

}  // namespace opyard::testing
