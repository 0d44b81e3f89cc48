#pragma once

#include <string>

#include "opyard/plugin/describe.h"
#include "opyard/plugin/file_store.h"
#include "opyard/plugin/host.h"

namespace opyard::plugin {

// Where the worker is: as the options say, else ../bin/opyard-worker seen from the folder of this
// library. Empty when there is none.
std::string find_worker(const HostOptions& options);

// What a whole life of the plugin in a process of its own has shown.
struct Verdict {
  bool lived = false;                  // loaded, active, ended
  std::string problem;                 // what went wrong, in the plugin's or the worker's words
  std::string left_mapped;             // why it was not unmapped, when it was not
  std::vector<std::string> leftovers;  // threads, descriptors that it left
  Description description;
  uint64_t ms = 0;
};
std::string to_json(const Verdict& verdict);
Verdict verdict_from_json(std::string_view text);

// Lets the worker carry out the life of the plugin at `path`, a copy of this library's own. What
// crashes, hangs or leaves the process there is a verdict, not an error. Raises UNAVAILABLE when
// the worker cannot be started. Any thread; starts a process without copying this one.
Verdict probe(const std::string& worker, const std::string& path,
              std::chrono::milliseconds patience);

// The same, or what it said of a file with these bytes before.
Verdict remembered_probe(const std::string& worker, const StoredFile& file,
                         std::chrono::milliseconds patience);

}  // namespace opyard::plugin
