#include "opyard/base/error.h"

#include <array>
#include <new>
#include <utility>

namespace opyard {
namespace {

constexpr std::array<std::string_view, 17> kCodeNames = {
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
};

}  // namespace

std::string_view code_name(Code code) noexcept {
  const auto index = static_cast<size_t>(code);
  return index < kCodeNames.size() ? kCodeNames[index] : kCodeNames[2];
}

bool parse_code(std::string_view text, Code* code) noexcept {
  for (size_t i = 0; i < kCodeNames.size(); ++i) {
    if (kCodeNames[i] != text) continue;
    *code = static_cast<Code>(i);
    return true;
  }
  return false;
}

struct Error::Facts {
  Code code;
  std::string message;
  std::string op;
  std::string key;
  std::string place;
};

Error::Error(Code code, std::string message)
    : facts_(std::make_shared<Facts>(Facts{code, std::move(message), {}, {}, {}})) {}
Error::Error(const Error&) noexcept = default;
Error& Error::operator=(const Error&) noexcept = default;
Error::~Error() = default;

Code Error::code() const noexcept { return facts_->code; }
const std::string& Error::message() const noexcept { return facts_->message; }
const std::string& Error::op() const noexcept { return facts_->op; }
const std::string& Error::key() const noexcept { return facts_->key; }
const std::string& Error::place() const noexcept { return facts_->place; }
const char* Error::what() const noexcept { return facts_->message.c_str(); }

Error& Error::with_op(std::string op) {
  facts_->op = std::move(op);
  return *this;
}
Error& Error::with_key(std::string key) {
  facts_->key = std::move(key);
  return *this;
}
Error& Error::with_place(std::string place) {
  facts_->place = std::move(place);
  return *this;
}
Error& Error::prefix(std::string_view context) {
  facts_->message = std::string(context) + ": " + facts_->message;
  return *this;
}

void raise(Code code, std::string message) { throw Error(code, std::move(message)); }

namespace {

// Made while there is memory.
const Error& out_of_memory() {
  static const Error error(Code::kResourceExhausted, "out of memory");
  return error;
}
[[maybe_unused]] const Error& made_early = out_of_memory();

Error convert_current() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::exception& error) {
    return Error(Code::kInternal, error.what());
  } catch (...) {
    return Error(Code::kInternal, "an exception that is not a std::exception was thrown");
  }
}

}  // namespace

Error current_error() noexcept {
  try {
    return convert_current();
  } catch (...) {
    return out_of_memory();
  }
}

}  // namespace opyard
