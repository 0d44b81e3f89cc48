#include "client/cli/print.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

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

constexpr size_t kShowAll = 1000;
constexpr int64_t kEdge = 3;
constexpr size_t kLineWidth = 100;
constexpr int kMaxDigits = 8;

// Positions along one dimension that are shown; -1 stands for the dots.
std::vector<int64_t> shown_positions(int64_t size, bool all) {
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < size; ++i) {
    if (!all && size > 2 * kEdge && i == kEdge) {
      positions.push_back(-1);
      i = size - kEdge;
    }
    positions.push_back(i);
  }
  return positions;
}

// How all reals of a tensor are written, so that their points stand below each other.
struct RealFormat {
  bool scientific = false;
  int digits = 0;  // behind the point

  // As NumPy decides: scientific for very large, very small or very different magnitudes.
  static RealFormat of(const std::vector<double>& values, std::string_view dtype) {
    double largest = 0;
    double smallest = INFINITY;
    for (const double value : values) {
      if (!std::isfinite(value) || value == 0) continue;
      largest = std::max(largest, std::fabs(value));
      smallest = std::min(smallest, std::fabs(value));
    }
    RealFormat format;
    format.scientific = largest >= 1e8 || smallest < 1e-4 || largest / smallest > 1e3;
    if (largest / smallest > 1e3 && largest < 1e5 && smallest >= 1e-3) format.scientific = false;
    for (const double value : values) {
      if (std::isfinite(value))
        format.digits = std::max(format.digits, format.needed(value, dtype));
    }
    return format;
  }

  // Digits behind the point that tell the value from its neighbours, at most eight.
  int needed(double value, std::string_view dtype) const {
    const std::string wanted = real_text(value, dtype);
    const double exact = std::strtod(wanted.c_str(), nullptr);
    for (int n = 0; n < kMaxDigits; ++n) {
      if (std::strtod(text(value, n).c_str(), nullptr) == exact) return n;
    }
    return kMaxDigits;
  }
  std::string text(double value, int n) const {
    char buffer[400];
    std::snprintf(buffer, sizeof(buffer), scientific ? "%.*e" : "%.*f", n, value);
    return buffer;
  }
  // NumPy drops zeros at the end and keeps the column: "1. ", "2.5".
  std::string operator()(double value) const {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    std::string out = text(value, digits);
    if (scientific) return out;
    if (digits == 0) return out + ".";
    size_t end = out.size();
    while (out[end - 1] == '0') --end;
    return out.substr(0, end) + std::string(out.size() - end, ' ');
  }
};

class Printer {
 public:
  Printer(const HostTensor& tensor, size_t indent)
      : tensor_(tensor), dtype_(client::dtype_facts(tensor.dtype)), indent_(indent) {
    all_ = client::element_count(tensor.sizes) <= kShowAll;
    std::vector<double> reals;
    visit(0, 0, [&](size_t index) {
      const Element element = client::element_at(tensor_, dtype_, index);
      if (dtype_.kind == ElementKind::kReal || dtype_.kind == ElementKind::kComplex) {
        reals.push_back(element.number.real());
        if (dtype_.kind == ElementKind::kComplex) reals.push_back(element.number.imag());
      }
    });
    format_ = RealFormat::of(reals, dtype_.kind == ElementKind::kComplex
                                        ? (dtype_.bytes == 16 ? "float64" : "float32")
                                        : dtype_.name);
    visit(0, 0, [&](size_t index) { width_ = std::max(width_, element(index).size()); });
  }

  std::string text() {
    std::string out;
    print(0, 0, &out);
    return out;
  }

 private:
  std::string element(size_t index) const {
    const Element element = client::element_at(tensor_, dtype_, index);
    switch (dtype_.kind) {
      case ElementKind::kBool:
        return element.integer ? "true" : "false";
      case ElementKind::kInteger:
        return dtype_.name == "uint64" ? std::to_string(static_cast<uint64_t>(element.integer))
                                       : std::to_string(element.integer);
      case ElementKind::kReal:
        return format_(element.number.real());
      case ElementKind::kComplex:
        break;
    }
    std::string imaginary = format_(std::fabs(element.number.imag()));
    const size_t end = imaginary.find_last_not_of(' ') + 1;
    imaginary.insert(end, "j");
    return format_(element.number.real()) + (std::signbit(element.number.imag()) ? "-" : "+") +
           imaginary;
  }

  // Calls `see` with the linear index of every shown element.
  template <typename See>
  void visit(size_t dim, size_t base, const See& see) const {
    if (dim == tensor_.sizes.size()) return see(base);
    for (const int64_t i : shown_positions(tensor_.sizes[dim], all_)) {
      if (i >= 0) {
        visit(dim + 1, base * static_cast<size_t>(tensor_.sizes[dim]) + static_cast<size_t>(i),
              see);
      }
    }
  }

  void print(size_t dim, size_t base, std::string* out) const {
    if (dim == tensor_.sizes.size()) {
      const std::string text = element(base);
      *out += std::string(width_ - std::min(width_, text.size()), ' ') + text;
      return;
    }
    const bool innermost = dim + 1 == tensor_.sizes.size();
    *out += '[';
    bool first = true;
    for (const int64_t i : shown_positions(tensor_.sizes[dim], all_)) {
      if (!first) separate(dim, innermost, out);
      first = false;
      if (i < 0) {
        *out += "...";
        continue;
      }
      print(dim + 1, base * static_cast<size_t>(tensor_.sizes[dim]) + static_cast<size_t>(i), out);
    }
    // Blanks that only keep columns have no place before a bracket.
    *out += ']';
  }

  void separate(size_t dim, bool innermost, std::string* out) const {
    *out += ',';
    const size_t line = out->size() - (out->rfind('\n') + 1);
    if (innermost && line + 1 + width_ < kLineWidth) {
      *out += ' ';
      return;
    }
    const size_t lines = innermost ? 1 : tensor_.sizes.size() - dim - 1;
    *out += std::string(lines, '\n') + std::string(indent_ + dim + 1, ' ');
  }

  const HostTensor& tensor_;
  const DtypeFacts& dtype_;
  const size_t indent_;
  bool all_ = true;
  RealFormat format_;
  size_t width_ = 0;
};

std::string shape_text(const std::vector<int64_t>& sizes) {
  std::string text;
  for (const int64_t size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

struct PrettyValue {
  std::string operator()(client::None) const { return "None"; }
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const {
    const std::string text = real_text(value, "float64");
    return text.find_first_of(".einf") == text.npos ? text + ".0" : text;
  }
  std::string operator()(const std::complex<double>& value) const {
    return str_cat("(", (*this)(value.real()), std::signbit(value.imag()) ? "" : "+",
                   (*this)(value.imag()), "j)");
  }
  std::string operator()(const std::string& value) const { return quoted_json(value); }
  std::string operator()(const client::Name& value) const { return value.text; }
  std::string operator()(const client::Ref& value) const { return str_cat("#", value.id); }
  std::string operator()(const HostTensor& value) const { return pretty(value); }
  std::string operator()(const client::Refs& value) const {
    return str_cat(value.ids.size(), " tensors");
  }
  template <typename T>
  std::string operator()(const std::vector<T>& values) const {
    std::string text;
    for (const auto& each : values) {
      if (!text.empty()) text += ", ";
      if constexpr (std::is_same_v<T, Value>) {
        text += pretty(each);
      } else {
        text += (*this)(T(each));
      }
    }
    return "[" + text + "]";
  }
};

}  // namespace

std::string pretty(const HostTensor& tensor) {
  const bool on_cpu = tensor.device.empty() || tensor.device == "cpu" || tensor.device == "cpu:0";
  const std::string facts =
      str_cat(", dtype=", tensor.dtype, on_cpu ? "" : ", device=" + tensor.device, ")");
  if (!tensor.has_data) return str_cat("tensor(…, shape=", shape_text(tensor.sizes), facts);
  const size_t count = client::element_count(tensor.sizes);
  if (count == 0) {
    const bool flat = tensor.sizes.size() == 1;
    return str_cat("tensor([]", flat ? "" : ", shape=" + shape_text(tensor.sizes), facts);
  }
  std::string text = "tensor(" + Printer(tensor, 7).text();
  if (count > kShowAll) text += ", shape=" + shape_text(tensor.sizes);
  return text + facts;
}

std::string pretty(const Value& value) { return std::visit(PrettyValue{}, value.data); }

std::string pretty(const std::vector<Output>& outputs) {
  std::string text;
  for (const Output& output : outputs) {
    if (output.kind == Output::Kind::kValue) text += pretty(output.value) + "\n";
    for (const HostTensor& tensor : output.tensors) text += pretty(tensor) + "\n";
  }
  return text;
}

}  // namespace opyard::cli
