#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "opyard_calls.h"
#include "opyard_tensors.h"
#include "opyard_threads.h"

// Everything of the stable layer is hidden in the plugin that includes it, and lives in the
// namespace of the interface's version that it was written for: plugins never share its code.
#define OPYARD_STABLE_BEGIN  \
  namespace opyard::stable { \
  inline namespace abi_1_0 { \
  _Pragma("GCC visibility push(hidden)")
#define OPYARD_STABLE_END       \
  _Pragma("GCC visibility pop") \
  } /* namespace abi_1_0 */     \
  } /* namespace opyard::stable */
static_assert(OPYARD_ABI_VERSION == 0x10000, "give the namespace above the new version");

OPYARD_STABLE_BEGIN

// The canonical codes of gRPC.
enum class Code : int32_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// What kernels raise and what the host's functions raise through this layer. It never leaves the
// plugin: the thunks turn it into the call's status.
class Error : public std::exception {
 public:
  Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}
  Code code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  Code code_;
  std::string message_;
};

[[noreturn]] inline void raise(Code code, std::string message) {
  throw Error(code, std::move(message));
}
// Refuses input: raises when `condition` does not hold.
inline void require(bool condition, Code code, const char* message) {
  if (!condition) [[unlikely]]
    raise(code, message);
}

inline opyard_str as_str(std::string_view text) {
  return {text.data(), static_cast<uint32_t>(text.size()), 0};
}

// What the plugin was given by its host; defined by OPYARD_STABLE_PLUGIN, valid from init to fini.
struct Host {
  const opyard_host* host = nullptr;
  const opyard_tensors* tensors = nullptr;
  const opyard_calls* calls = nullptr;      // null in a host without it
  const opyard_threads* threads = nullptr;  // null in a host without it
};
extern Host the_host;

// Calls a function of the host, whose last argument is a status; a failure is raised.
template <typename F, typename... A>
void ask(F* function, A... arguments) {
  opyard_status* status = the_host.tensors->own_status();
  const int32_t code = function(arguments..., status);
  if (code == 0) [[likely]]
    return;
  const opyard_str why = the_host.tensors->status_text(status);
  raise(static_cast<Code>(code), std::string(why.data ? why.data : "", why.size));
}

// Writes the exception that is being handled into a status, and gives its code.
inline int32_t report_current(const opyard_host* host, opyard_status* status) noexcept {
  const auto tell = [&](Code code, std::string_view message) {
    if (host->set_status && status) {
      host->set_status(status, static_cast<int32_t>(code), as_str(message));
    }
    return static_cast<int32_t>(code);
  };
  try {
    throw;
  } catch (const Error& error) {
    return tell(error.code(), error.message());
  } catch (const std::bad_alloc&) {
    return tell(Code::kResourceExhausted, "out of memory");
  } catch (const std::exception& error) {
    return tell(Code::kInternal, error.what());
  } catch (...) {
    return tell(Code::kInternal, "an exception of an unknown kind");
  }
}

// Runs `body` for a function of the C interface: no exception leaves it.
template <typename F>
int32_t guarded(const opyard_host* host, opyard_status* status, F&& body) noexcept {
  try {
    body();
    return 0;
  } catch (...) {
    return report_current(host, status);
  }
}

OPYARD_STABLE_END
