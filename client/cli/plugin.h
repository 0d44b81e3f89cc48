#pragma once

#include <iosfwd>
#include <string>

#include "client/cli/commands.h"

namespace opyard::cli {

// The commands of `opyard plugin`. Results and errors as of the others in commands.h.
int plugin_list(const Options& options, std::ostream& out);
int plugin_load(const Options& options, std::ostream& out);
int plugin_swap(const Options& options, std::ostream& out);
int plugin_unload(const Options& options, std::ostream& out);
int plugin_rollback(const Options& options, std::ostream& out);
// Two files are compared in the worker, without a daemon.
int plugin_diff(const Options& options, std::ostream& out);
// The author's kit: every check of the worker's, in a process of its own. 1 unless all pass.
int plugin_validate(const Options& options, std::ostream& out);

}  // namespace opyard::cli
