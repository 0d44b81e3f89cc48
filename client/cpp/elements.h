#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/cpp/value.h"

// The elements of host tensors, one by one.

namespace opyard::client {

enum class ElementKind : uint8_t { kBool, kInteger, kReal, kComplex };

// What a client knows of a dtype.
struct DtypeFacts {
  std::string_view name;
  size_t bytes;
  ElementKind kind;
};
// Null for a name that it does not know. Takes the reference's other names, too ("float", "long").
const DtypeFacts* find_dtype(std::string_view name) noexcept;
// Raises INVALID_ARGUMENT naming the known ones.
const DtypeFacts& dtype_facts(std::string_view name);

// One element, wide enough for every dtype.
struct Element {
  ElementKind kind = ElementKind::kInteger;
  int64_t integer = 0;            // bools and integers; uint64 keeps its bits
  std::complex<double> number{};  // reals and complex numbers
  std::complex<double> as_complex() const noexcept {
    return kind == ElementKind::kReal || kind == ElementKind::kComplex
               ? number
               : std::complex<double>(static_cast<double>(integer), 0);
  }
};

// Appends the element as `dtype` writes it. Rounds reals to nearest even; INVALID_ARGUMENT when the
// value does not fit: a fraction or overflow for integers, an imaginary part for reals.
void append_element(std::string& data, const DtypeFacts& dtype, const Element& element);
// The element at position `index`; the tensor must have its data.
Element element_at(const HostTensor& tensor, const DtypeFacts& dtype, size_t index) noexcept;

// Product of the sizes; raises INVALID_ARGUMENT for negative ones and for more than 2^40 elements.
size_t element_count(const std::vector<int64_t>& sizes);

}  // namespace opyard::client
