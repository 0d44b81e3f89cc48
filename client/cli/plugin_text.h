#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/cpp/admin.h"

namespace opyard::cli {

// Puts the hits that were counted in place of those in `list`.
void add_hits(const client::PluginList& counted, client::PluginList* list);

// The slots as a table for people, what is not as it should be below each generation. `width`: most
// columns of a line; 0: as many as it takes. `all`: closed and failed ones, too, and warnings in
// full length; otherwise those are counted only, and a warning is cut to its line.
std::string pretty(const client::PluginList& list, uint32_t width, bool all);
// The kernels of every generation that has some listed; of closed and failed ones with `all`.
std::string pretty_kernels(const client::PluginList& list, bool all);
// `verb` is "loaded", "swapped", "unloaded" or "rolled back".
std::string pretty(const client::PluginChange& change, const std::string& verb);
std::string pretty(const std::vector<client::PluginDifference>& differences);

// One object in one line.
std::string to_json(const client::PluginList& list);
std::string to_json(const client::PluginChange& change);
std::string to_json(const std::vector<client::PluginDifference>& differences);

}  // namespace opyard::cli
