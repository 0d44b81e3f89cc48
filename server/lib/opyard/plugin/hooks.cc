#include "opyard/plugin/hooks.h"

#include <dlfcn.h>
#include <pthread.h>

#include <climits>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>

#include "opyard/base/check.h"

namespace opyard::plugin {
namespace {

void keep(void*) {}

// As the C library shows it to debuggers: odd numbers are keys in use.
struct Key {
  uintptr_t sequence;
  void (*destructor)(void*);
};

// Null where the table is not to be found, or is something else.
const volatile Key* find_keys() noexcept {
  const auto* keys =
      static_cast<const Key*>(dlvsym(RTLD_DEFAULT, "__pthread_keys", "GLIBC_PRIVATE"));
  pthread_key_t mine{};
  if (!keys || pthread_key_create(&mine, &keep) != 0) return nullptr;
  const volatile Key& entry = keys[mine];
  const bool sound = (entry.sequence & 1) == 1 && entry.destructor == &keep;
  pthread_key_delete(mine);
  return sound && (entry.sequence & 1) == 0 ? keys : nullptr;
}

const volatile Key* keys() noexcept {
  static const volatile Key* const found = find_keys();
  return found;
}

template <typename F>
uintptr_t address_of(F* function) noexcept {
  return reinterpret_cast<uintptr_t>(function);
}

}  // namespace

bool can_see_pthread_keys() { return keys() != nullptr; }

std::vector<std::string> hooks_into(const std::function<bool(uintptr_t)>& inside) {
  std::vector<std::string> found;
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) != 0) continue;
    const bool with_facts = action.sa_flags & SA_SIGINFO;
    if (inside(with_facts ? address_of(action.sa_sigaction) : address_of(action.sa_handler))) {
      found.push_back(str_cat("its handler of the signal ", number, " (",
                              sigabbrev_np(number) ? sigabbrev_np(number) : "real time",
                              ") is still in place; put the former one back in fini"));
    }
  }
  for (int i = 0; keys() && i < PTHREAD_KEYS_MAX; ++i) {
    const volatile Key& key = keys()[i];
    if ((key.sequence & 1) == 1 && inside(address_of(key.destructor))) {
      found.push_back(str_cat("its pthread key ", i,
                              " still has a destructor, which threads would call as they end; "
                              "delete the key in fini"));
    }
  }
  if (inside(address_of(std::get_terminate()))) {
    found.emplace_back("its terminate handler is still in place; put the former one back in fini");
  }
  if (inside(address_of(std::get_new_handler()))) {
    found.emplace_back("its new handler is still in place; put the former one back in fini");
  }
  return found;
}

}  // namespace opyard::plugin
