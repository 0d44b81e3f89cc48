#include "opyard/plugin/quiet_thread.h"

#include <pthread.h>
#include <signal.h>

#include <string>
#include <system_error>

#include "opyard/base/check.h"

namespace opyard::plugin {

std::thread start_quiet_thread(std::string_view name, std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  std::string refused;
  try {
    thread = std::thread(std::move(body));
  } catch (const std::system_error& error) {
    refused = error.what();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  OPYARD_CHECK(thread.joinable(), kResourceExhausted, "there is no thread '", name,
               "' to be had: ", refused);
  pthread_setname_np(thread.native_handle(), std::string(name.substr(0, 15)).c_str());
  return thread;
}

}  // namespace opyard::plugin
