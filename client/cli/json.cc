#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "client/cli/print.h"
#include "client/cpp/elements.h"
#include "opyard/base/check.h"

namespace opyard::cli {
namespace {

using client::DtypeFacts;
using client::Element;
using client::ElementKind;
using client::HostTensor;
using client::Output;
using client::Value;

std::string number_json(double value, std::string_view dtype) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  std::string text = real_text(value, dtype);
  // A whole number stays a real one: 2.0, not 2.
  if (text.find_first_of(".e") == text.npos) text += ".0";
  return text;
}

std::string element_json(const HostTensor& tensor, const DtypeFacts& dtype, size_t index) {
  const Element element = client::element_at(tensor, dtype, index);
  switch (dtype.kind) {
    case ElementKind::kBool:
      return element.integer ? "true" : "false";
    case ElementKind::kInteger:
      return dtype.name == "uint64" ? std::to_string(static_cast<uint64_t>(element.integer))
                                    : std::to_string(element.integer);
    case ElementKind::kReal:
      return number_json(element.number.real(), dtype.name);
    case ElementKind::kComplex:
      break;
  }
  const std::string_view part = dtype.bytes == 16 ? "float64" : "float32";
  return str_cat("[", number_json(element.number.real(), part), ", ",
                 number_json(element.number.imag(), part), "]");
}

// Depth is bounded by the dimensions of a tensor.
void data_json(const HostTensor& tensor, const DtypeFacts& dtype, size_t dim, size_t* next,
               std::string* out) {
  if (dim == tensor.sizes.size()) {
    *out += element_json(tensor, dtype, (*next)++);
    return;
  }
  *out += '[';
  for (int64_t i = 0; i < tensor.sizes[dim]; ++i) {
    if (i > 0) *out += ", ";
    data_json(tensor, dtype, dim + 1, next, out);
  }
  *out += ']';
}

// A tensor without elements may have huge sizes before the zero: more empty lists than this are not
// written.
constexpr int64_t kMaxLists = 10'000;

// Lists before the first size of zero; 0 for a tensor with elements.
int64_t lists_of(const std::vector<int64_t>& sizes) {
  if (client::element_count(sizes) > 0) return 0;
  int64_t lists = 1;
  for (const int64_t size : sizes) {
    if (size == 0 || lists > kMaxLists) break;
    lists *= std::min(size, kMaxLists + 1);
  }
  return lists;
}

std::string tensor_json(const HostTensor& tensor) {
  std::string shape;
  for (const int64_t size : tensor.sizes) {
    shape += (shape.empty() ? "" : ", ") + std::to_string(size);
  }
  std::string out =
      str_cat("{\"dtype\": ", quoted_json(tensor.dtype), ", \"shape\": [", shape,
              "], \"device\": ", quoted_json(tensor.device.empty() ? "cpu" : tensor.device));
  if (tensor.has_data) {
    out += ", \"data\": ";
    size_t next = 0;
    const DtypeFacts& dtype = client::dtype_facts(tensor.dtype);
    if (lists_of(tensor.sizes) > kMaxLists) {
      out += "[]";
    } else {
      data_json(tensor, dtype, 0, &next, &out);
    }
  }
  return out + "}";
}

struct ValueToJson {
  std::string operator()(client::None) const { return "null"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return number_json(value, "float64"); }
  std::string operator()(const std::complex<double>& value) const {
    return str_cat("[", number_json(value.real(), "float64"), ", ",
                   number_json(value.imag(), "float64"), "]");
  }
  std::string operator()(const std::string& value) const { return quoted_json(value); }
  std::string operator()(const client::Name& value) const { return quoted_json(value.text); }
  std::string operator()(const client::Ref& value) const { return std::to_string(value.id); }
  std::string operator()(const client::Refs& value) const { return list(value.ids); }
  std::string operator()(const HostTensor& value) const { return tensor_json(value); }
  template <typename T>
  std::string operator()(const std::vector<T>& value) const {
    return list(value);
  }

  template <typename T>
  static std::string list(const std::vector<T>& values) {
    std::string out = "[";
    for (const auto& each : values) {
      out += out.size() > 1 ? ", " : "";
      if constexpr (std::is_same_v<T, Value>) {
        out += std::visit(ValueToJson{}, each.data);
      } else if constexpr (std::is_same_v<T, client::Id>) {
        out += std::to_string(each);
      } else {
        out += ValueToJson{}(T(each));
      }
    }
    return out + "]";
  }
};

}  // namespace

std::string json_list(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + quoted_json(text);
  return "[" + out + "]";
}

std::string quoted_json(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string real_text(double value, std::string_view dtype) {
  char buffer[40];
  if (dtype == "float64" || dtype == "float32") {
    const auto end = dtype == "float64" ? std::to_chars(buffer, buffer + sizeof(buffer), value)
                                        : std::to_chars(buffer, buffer + sizeof(buffer),
                                                        static_cast<float>(value));
    return std::string(buffer, end.ptr);
  }
  // The 16-bit types: as few digits as tell the element from its neighbours.
  const DtypeFacts& facts = client::dtype_facts(dtype);
  const auto bits = [&](double number) {
    std::string data;
    client::append_element(data, facts, {ElementKind::kReal, 0, number});
    return data;
  };
  for (int digits = 1; digits < 9; ++digits) {
    const auto end =
        std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::general, digits);
    std::string text(buffer, end.ptr);
    if (bits(std::strtod(text.c_str(), nullptr)) == bits(value)) return text;
  }
  return real_text(value, "float32");
}

std::string results_json(const std::vector<Output>& outputs) {
  std::string out = "{\"results\": [";
  bool first = true;
  for (const Output& output : outputs) {
    if (!first) out += ", ";
    first = false;
    if (output.kind == Output::Kind::kValue) {
      out += std::visit(ValueToJson{}, output.value.data);
    } else if (output.kind == Output::Kind::kTensor) {
      out += tensor_json(output.tensors.at(0));
    } else {
      out += ValueToJson::list(std::vector<Value>(output.tensors.begin(), output.tensors.end()));
    }
  }
  return out + "]}";
}

}  // namespace opyard::cli
