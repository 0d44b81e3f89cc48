#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "client/cpp/value.h"

namespace opyard::client {

// A value as a person writes it, in JSON or YAML: null, a bool, a number, a text, or a list.
struct Literal {
  using List = std::vector<Literal>;
  std::variant<std::monostate, bool, int64_t, double, std::string, List> data;

  template <typename T>
  const T* get_if() const noexcept {
    return std::get_if<T>(&data);
  }
  bool is_null() const noexcept { return std::holds_alternative<std::monostate>(data); }
};

// A number or nested list as a tensor. `dtype` empty: bool if all are bools, int64 if all are
// integers, else float32. A complex element is written [re, im]. INVALID_ARGUMENT for uneven lists
// and for elements that do not fit. The literal must not be nested deeper than the stack allows:
// its parser sees to that.
HostTensor tensor_from_literal(const Literal& literal, const std::string& dtype);

}  // namespace opyard::client
