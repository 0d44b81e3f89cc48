#include <cmath>

#include "client/cpp/elements.h"
#include "client/local/ops_case.h"
#include "opyard/base/check.h"

namespace opyard::client {
namespace {

struct Limits {
  double rtol;
  double atol;
};

// The reference's tolerances for results of a dtype (torch.testing.assert_close, its table of
// defaults).
Limits default_limits(std::string_view dtype) {
  if (dtype == "float16") return {1e-3, 1e-5};
  if (dtype == "bfloat16") return {1.6e-2, 1e-5};
  if (dtype == "float32" || dtype == "complex64") return {1.3e-6, 1e-5};
  if (dtype == "float64" || dtype == "complex128") return {1e-7, 1e-7};
  return {0, 0};
}

Limits limits_for(const Tolerance& tolerance, std::string_view dtype) {
  Limits limits = default_limits(dtype);
  if (tolerance.rtol) limits.rtol = *tolerance.rtol;
  if (tolerance.atol) limits.atol = *tolerance.atol;
  return limits;
}

bool close(double got, double wanted, const Limits& limits) {
  if (std::isnan(got) || std::isnan(wanted)) return std::isnan(got) && std::isnan(wanted);
  if (std::isinf(got) || std::isinf(wanted)) return got == wanted;
  return std::fabs(got - wanted) <= limits.atol + limits.rtol * std::fabs(wanted);
}

bool close(const Element& got, const Element& wanted, const Limits& limits) {
  if (got.kind == ElementKind::kInteger || got.kind == ElementKind::kBool) {
    return got.integer == wanted.integer;
  }
  if (got.kind == ElementKind::kReal) return close(got.number.real(), wanted.number.real(), limits);
  const bool plain = std::isfinite(std::abs(got.number)) && std::isfinite(std::abs(wanted.number));
  if (plain) {
    return std::abs(got.number - wanted.number) <=
           limits.atol + limits.rtol * std::abs(wanted.number);
  }
  return close(got.number.real(), wanted.number.real(), limits) &&
         close(got.number.imag(), wanted.number.imag(), limits);
}

std::string shown(const Element& element) {
  if (element.kind == ElementKind::kInteger || element.kind == ElementKind::kBool) {
    return std::to_string(element.integer);
  }
  if (element.kind == ElementKind::kReal) return str_cat(element.number.real());
  return str_cat(element.number);
}

std::string shown(const std::vector<int64_t>& sizes) {
  std::string text;
  for (const int64_t size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

void compare_elements(const HostTensor& wanted, const HostTensor& got, const Tolerance& tolerance,
                      const std::string& what) {
  const DtypeFacts& dtype = dtype_facts(got.dtype);
  const Limits limits = limits_for(tolerance, dtype.name);
  const size_t count = element_count(got.sizes);
  if (got.data.size() != count * dtype.bytes)
    fail_case(str_cat(what, ": its elements did not come"));
  for (size_t i = 0; i < count; ++i) {
    const Element a = element_at(got, dtype, i);
    const Element b = element_at(wanted, dtype, i);
    if (close(a, b, limits)) continue;
    fail_case(str_cat(what, ": element ", i, " of ", shown(got.sizes), " is ", shown(a),
                      ", wanted ", shown(b)));
  }
}

struct NumberOf {
  std::optional<double> operator()(bool value) const { return value; }
  std::optional<double> operator()(int64_t value) const { return static_cast<double>(value); }
  std::optional<double> operator()(double value) const { return value; }
  template <typename T>
  std::optional<double> operator()(const T&) const {
    return std::nullopt;
  }
};

void compare_scalar(const Value& wanted, const Value& got, const Tolerance& tolerance,
                    const std::string& what) {
  if (wanted.data.index() != got.data.index()) {
    fail_case(str_cat(what, ": a value of another type than wanted"));
  }
  if (const auto* text = wanted.get_if<std::string>()) {
    if (*text != *got.get_if<std::string>()) {
      fail_case(str_cat(what, " is '", *got.get_if<std::string>(), "', wanted '", *text, "'"));
    }
    return;
  }
  const auto a = std::visit(NumberOf{}, got.data);
  const auto b = std::visit(NumberOf{}, wanted.data);
  if (!a && !b) return;
  const bool real = wanted.get_if<double>() != nullptr;
  const Limits limits = real ? limits_for(tolerance, "float64") : Limits{0, 0};
  if (!close(*a, *b, limits)) fail_case(str_cat(what, " is ", *a, ", wanted ", *b));
}

// What a result is, read as a case would write it: names as texts, lists element by element.
Value as_written(const Value& value) {
  if (const Name* name = value.get_if<Name>()) return name->text;
  Value::List list;
  if (const auto* ints = value.get_if<std::vector<int64_t>>()) {
    list.assign(ints->begin(), ints->end());
  } else if (const auto* reals = value.get_if<std::vector<double>>()) {
    list.assign(reals->begin(), reals->end());
  } else if (const auto* bools = value.get_if<std::vector<bool>>()) {
    for (const bool item : *bools) list.emplace_back(item);
  } else {
    return value;
  }
  return list;
}

void compare_value(const YAML::Node& wanted, const Value& result, const Tolerance& tolerance,
                   const std::string& what) {
  const Value got = as_written(result);
  if (wanted.IsNull()) {
    if (!got.is_none()) fail_case(str_cat(what, ": wanted nothing"));
    return;
  }
  if (wanted.IsMap() && wanted["complex"]) {
    const auto parts = wanted["complex"].as<std::vector<double>>();
    const auto* number = got.get_if<std::complex<double>>();
    const Limits limits = limits_for(tolerance, "complex128");
    const bool equal = number && parts.size() == 2 && close(number->real(), parts[0], limits) &&
                       close(number->imag(), parts[1], limits);
    if (!equal) fail_case(str_cat(what, ": the complex number is not as wanted"));
    return;
  }
  if (wanted.IsMap()) fail_case(str_cat(what, ": wanted a tensor, got none"));
  const auto* list = got.get_if<Value::List>();
  if (!wanted.IsSequence()) return compare_scalar(read_scalar(wanted), got, tolerance, what);
  if (!list || list->size() != wanted.size()) {
    fail_case(str_cat(what, ": wanted a list of ", wanted.size(), " values"));
  }
  for (size_t i = 0; i < list->size(); ++i) {
    compare_value(wanted[i], (*list)[i], tolerance, str_cat(what, "[", i, "]"));
  }
}

}  // namespace

void compare_tensor(const YAML::Node& wanted, const HostTensor& got, const TensorMeta& meta,
                    const Tolerance& tolerance, const std::string& what) {
  if (!wanted.IsMap()) fail_case(str_cat(what, ": got a tensor, wanted something else"));
  const std::string dtype = wanted["dtype"].as<std::string>("float32");
  if (got.dtype != dtype)
    fail_case(str_cat(what, " has the dtype ", got.dtype, ", wanted ", dtype));
  const bool values = wanted["tensor"] || wanted["fill"] || wanted["arange"];
  HostTensor expected;
  if (values) expected = read_tensor(wanted);
  const auto sizes = wanted["shape"] ? wanted["shape"].as<std::vector<int64_t>>() : expected.sizes;
  if (got.sizes != sizes) {
    fail_case(str_cat(what, " has the shape ", shown(got.sizes), ", wanted ", shown(sizes)));
  }
  if (wanted["strides"]) {
    const auto strides = wanted["strides"].as<std::vector<int64_t>>();
    if (meta.strides != strides) {
      fail_case(
          str_cat(what, " has the strides ", shown(meta.strides), ", wanted ", shown(strides)));
    }
  }
  if (values) compare_elements(expected, got, tolerance, what);
}

void compare_output(const YAML::Node& wanted, const Output& got, const Tolerance& tolerance,
                    const std::string& what) {
  if (wanted.IsScalar() && wanted.Tag() != "!" && wanted.Scalar() == "any") return;
  if (got.kind == Output::Kind::kValue) return compare_value(wanted, got.value, tolerance, what);
  if (got.kind == Output::Kind::kTensor) {
    return compare_tensor(wanted, got.tensors[0], got.metas[0], tolerance, what);
  }
  if (!wanted.IsSequence() || wanted.size() != got.tensors.size()) {
    fail_case(str_cat(what, ": got a list of ", got.tensors.size(), " tensors, wanted ",
                      wanted.IsSequence() ? wanted.size() : 1));
  }
  for (size_t i = 0; i < got.tensors.size(); ++i) {
    compare_tensor(wanted[i], got.tensors[i], got.metas[i], tolerance, str_cat(what, "[", i, "]"));
  }
}

}  // namespace opyard::client
