#include "rpc/status.h"

#include <algorithm>
#include <string>

namespace opyard::daemon {
namespace {

// Length of the valid UTF-8 sequence at the start of `text`; 0 when there is none.
size_t sequence_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t length = lead < 0x80   ? 1
                        : lead < 0xC2 ? 0
                        : lead < 0xE0 ? 2
                        : lead < 0xF0 ? 3
                        : lead < 0xF5 ? 4
                                      : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return 0;
  }
  const auto second = length > 1 ? static_cast<unsigned char>(text[1]) : 0;
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool outside = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);
  return overlong || outside ? 0 : length;
}

// Bounds of the texts within one error.
constexpr size_t kMaxName = 128;
constexpr size_t kMaxStatusMessage = 1024;  // three times as long when it is percent-encoded
constexpr size_t kMaxDetailMessage = 512;

void encode_cause(const runtime::Cause& cause, size_t most, v1::Cause* out) {
  out->set_op(wire_text(cause.op, kMaxName));
  out->set_seq(cause.seq);
  out->set_stream(cause.stream);
  out->set_code(static_cast<int32_t>(cause.code));
  out->set_message(wire_text(cause.message, most));
  out->set_site(wire_text(cause.site, kMaxName));
}

void encode_info(const Error& error, std::string_view reason, const std::string& argument,
                 const runtime::Cause* cause, size_t most, v1::ErrorInfo* out) {
  out->set_reason(std::string(reason));
  out->set_op(wire_text(error.op(), kMaxName));
  out->set_argument(wire_text(argument, kMaxName));
  if (cause != nullptr) encode_cause(*cause, most, out->mutable_cause());
}

}  // namespace

std::string wire_text(std::string_view text, size_t most) {
  std::string out;
  out.reserve(std::min(text.size(), most));
  while (!text.empty()) {
    size_t length = sequence_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    const bool printable = length > 1 || (length == 1 && first >= 0x20 && first != 0x7F);
    const std::string_view piece = printable ? text.substr(0, length) : std::string_view("?");
    if (length == 0) length = 1;
    if (out.size() + piece.size() + 3 > most && out.size() + text.size() > most) {
      out += "...";
      break;
    }
    // The line breaks of a table stay.
    if (first == '\n' || first == '\t') {
      out += static_cast<char>(first);
    } else {
      out += piece;
    }
    text.remove_prefix(length);
  }
  return out;
}

grpc::Status to_status(const Error& error) {
  v1::StatusDetails details;
  details.set_code(static_cast<int32_t>(error.code()));
  details.set_message(wire_text(error.message(), kMaxDetailMessage));
  v1::ErrorInfo info;
  if (const auto* call_error = dynamic_cast<const runtime::CallError*>(&error)) {
    encode_info(error, call_error->reason(), call_error->argument(), call_error->cause().get(),
                kMaxDetailMessage, &info);
  } else {
    encode_info(error, {}, {}, nullptr, kMaxDetailMessage, &info);
  }
  details.add_details()->PackFrom(info);
  return grpc::Status(static_cast<grpc::StatusCode>(error.code()),
                      wire_text(error.message(), kMaxStatusMessage), details.SerializeAsString());
}

grpc::Status current_status() {
  try {
    throw;
  } catch (const Error& error) {
    return to_status(error);
  } catch (...) {
    return to_status(current_error());
  }
}

void encode_failure(const runtime::Failure& failure, v1::OpError* out) {
  out->set_seq(failure.seq);
  out->set_id(failure.id);
  out->set_code(static_cast<int32_t>(failure.error.code()));
  out->set_message(wire_text(failure.error.message()));
  encode_info(failure.error, failure.reason, failure.argument, failure.cause.get(),
              kMaxMessageBytes, out->mutable_info());
}

}  // namespace opyard::daemon
