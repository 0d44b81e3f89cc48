#include <unistd.h>

#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "app/daemon.h"
#include "app/lifecycle.h"
#include "app/logging.h"
#include "app/options.h"
#include "opyard/base/check.h"
#include "opyard/base/log.h"

namespace {

int fail(const opyard::Error& error) {
  std::fprintf(stderr, "opyardd: %s\n", error.message().c_str());
  return error.code() == opyard::Code::kInvalidArgument ? 2 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace opyard::daemon;
  try {
    const CommandLine line = read_command_line(argc, argv);
    if (line.done) {
      std::fputs(line.text.c_str(), stdout);
      return 0;
    }
    block_signals();
    // Idle threads of the compute pool sleep instead of spinning; read when a plugin brings
    // libgomp.
    setenv("OMP_WAIT_POLICY", "passive", 0);
    // Large blocks are mapped by themselves, so that those of a session that ends go back to the
    // system. By default the limit grows with the first large block that is freed, and tensors stay
    // in heaps that a small neighbour keeps.
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    start_logging(line.options.log_level, line.options.log_file);
    Daemon daemon(line.options);
    bool ended = false;
    run_until_signalled([&] { ended = daemon.drain(); });
    // Threads that hang in a plugin cannot be ended, and must not find the daemon torn down.
    if (!ended) {
      std::fflush(nullptr);
      _exit(0);
    }
    return 0;
  } catch (const opyard::Error& error) {
    return fail(error);
  } catch (const std::exception&) {
    return fail(opyard::current_error());
  }
}
