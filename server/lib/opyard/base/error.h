#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

namespace opyard {

// The canonical status codes; numbers and meanings are those of gRPC.
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

// "INVALID_ARGUMENT" and so on; an unknown number gives "UNKNOWN".
std::string_view code_name(Code code) noexcept;

// The reverse of code_name; false when the text names no code.
bool parse_code(std::string_view text, Code* code) noexcept;

// The one exception of the library. It owns copies of all its texts, and its members live in
// libopyard, so it may outlive the plugin that threw it. Copying never throws.
class Error : public std::exception {
 public:
  Error(Code code, std::string message);
  Error(const Error&) noexcept;
  Error& operator=(const Error&) noexcept;
  ~Error() override;

  Code code() const noexcept;
  const std::string& message() const noexcept;
  // The operator, dispatch key and source place that the error belongs to; empty when unknown.
  const std::string& op() const noexcept;
  const std::string& key() const noexcept;
  const std::string& place() const noexcept;
  const char* what() const noexcept override;

  Error& with_op(std::string op);
  Error& with_key(std::string key);
  Error& with_place(std::string place);
  // Puts `context` before the message, as in "context: message".
  Error& prefix(std::string_view context);

 private:
  struct Facts;
  std::shared_ptr<Facts> facts_;
};

[[noreturn]] void raise(Code code, std::string message);

// Turns the exception now being handled into an Error: an Error passes unchanged, std::bad_alloc
// becomes RESOURCE_EXHAUSTED, anything else INTERNAL. Call it inside a catch block only.
Error current_error() noexcept;

}  // namespace opyard
