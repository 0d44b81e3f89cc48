#include "client/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace opyard::cli {
namespace {

constexpr uint32_t kUsualWidth = 80;

constexpr int kSignals[] = {SIGINT, SIGTERM};
constexpr std::chrono::milliseconds kLook(50);

std::atomic<bool> interrupted{false};

void note(int) { interrupted.store(true); }

}  // namespace

uint32_t output_width() {
  if (const char* columns = std::getenv("COLUMNS")) {
    const std::string_view text = columns;
    uint32_t width = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), width);
    if (error == std::errc() && end == text.data() + text.size()) return width;
  }
  if (isatty(STDOUT_FILENO) == 0) return 0;
  winsize size = {};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsualWidth;
}

// A handler, not a mask: threads that were there before would take the signal.
Interrupts::Interrupts(std::function<void()> stop) {
  for (const int signal : kSignals) std::signal(signal, &note);
  thread_ = std::thread([this, stop = std::move(stop)] {
    while (!done_.load()) {
      if (interrupted.exchange(false)) return stop();
      std::this_thread::sleep_for(kLook);
    }
  });
}

Interrupts::~Interrupts() {
  done_.store(true);
  thread_.join();
  for (const int signal : kSignals) std::signal(signal, SIG_DFL);
}

}  // namespace opyard::cli
