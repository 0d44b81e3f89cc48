#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace opyard::plugin {

// Places of the process that would call code after its library is gone: signal handlers,
// destructors of pthread keys (read from the C library's own table, where it shows it), the
// terminate and the new handler. One sentence for each whose function lies `inside`. Any thread;
// what other threads change meanwhile may be missed.
std::vector<std::string> hooks_into(const std::function<bool(uintptr_t)>& inside);

// False where the destructors of pthread keys cannot be seen.
bool can_see_pthread_keys();

}  // namespace opyard::plugin
