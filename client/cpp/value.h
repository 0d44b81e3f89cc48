#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

// What a client sends and gets, in plain C++: nothing of the wire and nothing of the library.

namespace opyard::client {

// A value that lives in the session, by the number that the client chose for it. 0 is none.
using Id = uint64_t;

// The elements of a tensor in this process: row-major, contiguous, little-endian; bool is one byte.
struct HostTensor {
  std::string dtype = "float32";
  std::vector<int64_t> sizes;  // elements; empty for a 0-d tensor
  std::string data;            // sizes × element size bytes
  std::string device;          // where it lives or is to live; empty: cpu
  // Whether it had elements at all: false for a description only (a large result not sent inline).
  bool has_data = true;
};

struct None {};

// A name of a dtype, device, layout or memory format.
struct Name {
  enum class Kind : uint8_t { kDtype, kDevice, kLayout, kMemoryFormat };
  Kind kind;
  std::string text;
};

struct Ref {
  Id id;
};
// A list of tensors by their ids; 0 stands for None.
struct Refs {
  std::vector<Id> ids;
};

// One argument or result.
struct Value {
  using List = std::vector<Value>;
  std::variant<None, bool, int64_t, double, std::complex<double>, std::string, Name, Ref, Refs,
               std::vector<int64_t>, std::vector<double>, std::vector<bool>, List, HostTensor>
      data = None{};

  Value() = default;
  template <typename T>
  Value(T value) : data(std::move(value)) {}

  template <typename T>
  const T* get_if() const noexcept {
    return std::get_if<T>(&data);
  }
  bool is_none() const noexcept { return std::holds_alternative<None>(data); }
};

struct NamedValue {
  std::string name;
  Value value;
};

// What a tensor is, without its elements.
struct TensorMeta {
  Id id = 0;
  std::string dtype;
  std::vector<int64_t> sizes;    // elements
  std::vector<int64_t> strides;  // elements
  std::string device;
  int64_t storage_offset = 0;  // elements
  uint64_t bytes = 0;          // of a contiguous copy
};

}  // namespace opyard::client
