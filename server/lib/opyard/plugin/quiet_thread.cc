#include "opyard/plugin/quiet_thread.h"

#include <signal.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "opyard/base/check.h"

namespace opyard::plugin {
namespace {

void* run(void* argument) {
  const std::unique_ptr<std::function<void()>> body(static_cast<std::function<void()>*>(argument));
  (*body)();
  return nullptr;
}

}  // namespace

QuietThread::QuietThread(std::string_view name, std::function<void()> body) {
  auto argument = std::make_unique<std::function<void()>>(std::move(body));
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&thread_, nullptr, &run, argument.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  OPYARD_CHECK(error == 0, kResourceExhausted, "there is no thread '", name,
               "' to be had: ", std::strerror(error));
  static_cast<void>(argument.release());
  started_ = true;
  pthread_setname_np(thread_, std::string(name.substr(0, 15)).c_str());
}

QuietThread::QuietThread(QuietThread&& other) noexcept
    : thread_(other.thread_), started_(std::exchange(other.started_, false)) {}

QuietThread& QuietThread::operator=(QuietThread&& other) noexcept {
  if (this == &other) return *this;
  join();
  thread_ = other.thread_;
  started_ = std::exchange(other.started_, false);
  return *this;
}

void QuietThread::join() noexcept {
  if (std::exchange(started_, false)) pthread_join(thread_, nullptr);
}

bool QuietThread::try_join() noexcept {
  if (started_ && pthread_tryjoin_np(thread_, nullptr) != 0) return false;
  started_ = false;
  return true;
}

void QuietThread::detach() noexcept {
  if (std::exchange(started_, false)) pthread_detach(thread_);
}

}  // namespace opyard::plugin
