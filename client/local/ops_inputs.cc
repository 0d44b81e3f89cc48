#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "client/cpp/elements.h"
#include "client/cpp/literal.h"
#include "client/local/ops_case.h"
#include "opyard/base/check.h"

namespace opyard::client {
namespace {

const std::set<std::string> kTensorKeys = {
    "tensor", "dtype", "shape", "fill",          "arange",  "seed",    "transpose", "slice",
    "expand", "conj",  "neg",   "requires_grad", "same_as", "wrapped", "device"};
constexpr size_t kMaxElements = size_t{1} << 26;

bool is_quoted(const YAML::Node& node) { return node.Tag() == "!"; }

// A plain scalar as YAML 1.2 and the cases read it.
Literal read_literal(const YAML::Node& node) {
  if (node.IsNull()) return {};
  if (node.IsSequence()) {
    Literal::List list;
    for (const YAML::Node& item : node) list.push_back(read_literal(item));
    return Literal{std::move(list)};
  }
  if (!node.IsScalar()) fail_case("a mapping stands where a number or a list is wanted");
  const std::string text = node.Scalar();
  if (is_quoted(node)) return Literal{text};
  if (text == "true" || text == "True") return Literal{true};
  if (text == "false" || text == "False") return Literal{false};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "nan" || text == ".nan") return Literal{std::numeric_limits<double>::quiet_NaN()};
  if (text == "inf" || text == ".inf" || text == "+inf") return Literal{kInfinity};
  if (text == "-inf" || text == "-.inf") return Literal{-kInfinity};
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* end = text.data() + text.size();
  int64_t integer = 0;
  if (const auto [stop, error] = std::from_chars(begin, end, integer);
      error == std::errc() && stop == end) {
    return Literal{integer};
  }
  double real = 0;
  if (const auto [stop, error] = std::from_chars(begin, end, real);
      error == std::errc() && stop == end) {
    return Literal{real};
  }
  return Literal{text};
}

Value value_of(const Literal& literal) {
  if (const auto* boolean = literal.get_if<bool>()) return *boolean;
  if (const auto* integer = literal.get_if<int64_t>()) return *integer;
  if (const auto* real = literal.get_if<double>()) return *real;
  if (const auto* text = literal.get_if<std::string>()) return *text;
  return None{};
}

bool is_tensor(const YAML::Node& node) {
  return node.IsMap() && (node["tensor"] || node["shape"] || node["same_as"]);
}

// Elements for {shape: …}: one value, the numbers from 0, or normal ones where values do not
// matter.
void fill_shape(const YAML::Node& node, HostTensor* tensor) {
  const DtypeFacts& dtype = dtype_facts(tensor->dtype);
  tensor->sizes = node["shape"].as<std::vector<int64_t>>();
  const size_t count = element_count(tensor->sizes);
  if (count > kMaxElements) fail_case("the tensor has more than 2^26 elements");
  if (node["fill"]) {
    const HostTensor one = tensor_from_literal(read_literal(node["fill"]), tensor->dtype);
    if (one.data.size() != dtype.bytes) fail_case("'fill' is one value");
    for (size_t i = 0; i < count; ++i) tensor->data += one.data;
    return;
  }
  const bool arange = node["arange"].as<bool>(false);
  std::mt19937_64 random(node["seed"].as<uint64_t>(0));
  std::normal_distribution<double> normal;
  for (size_t i = 0; i < count; ++i) {
    Element element;
    if (arange || !node["seed"]) {
      element.integer = arange ? static_cast<int64_t>(i) : 0;
    } else {
      const double value = normal(random);
      const bool real = dtype.kind == ElementKind::kReal || dtype.kind == ElementKind::kComplex;
      element = {ElementKind::kReal, 0, real ? value : std::trunc(std::fabs(value) * 10)};
    }
    append_element(tensor->data, dtype, element);
  }
}

// Lists of one kind travel in their own form; a mixed one element by element.
Value pack(const std::vector<Value>& items) {
  const auto all = [&]<typename T>(T) {
    return std::all_of(items.begin(), items.end(), [](const Value& v) { return v.get_if<T>(); });
  };
  const auto typed = [&]<typename T>(T) -> Value {
    std::vector<T> list;
    for (const Value& item : items) list.push_back(*item.get_if<T>());
    return list;
  };
  if (all(int64_t{})) return typed(int64_t{});
  if (all(double{})) return typed(double{});
  if (all(bool{})) return typed(bool{});
  return Value::List(items);
}

}  // namespace

Value read_scalar(const YAML::Node& node) { return value_of(read_literal(node)); }

HostTensor read_tensor(const YAML::Node& node) {
  HostTensor tensor;
  tensor.dtype = node["dtype"].as<std::string>("float32");
  if (node["tensor"]) return tensor_from_literal(read_literal(node["tensor"]), tensor.dtype);
  fill_shape(node, &tensor);
  return tensor;
}

CaseInputs::~CaseInputs() {
  try {
    if (!ids_.empty()) yard_.release(ids_);
  } catch (...) {  // the session drops them at its end
  }
}

Id CaseInputs::keep(Id id) {
  ids_.push_back(id);
  return id;
}

Id CaseInputs::make_views(const YAML::Node& node, Id id) {
  const auto dims = [&](const char* key) { return node[key].as<std::vector<int64_t>>(); };
  if (node["transpose"]) {
    const std::vector<int64_t> pair = dims("transpose");
    const auto rank = static_cast<int64_t>(yard_.describe(id).sizes.size());
    std::vector<int64_t> order(static_cast<size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
    if (pair.size() != 2) fail_case("'transpose' is written [d0, d1]");
    const auto at = [&](int64_t dim) {
      const int64_t place = dim < 0 ? dim + rank : dim;
      if (place < 0 || place >= rank) fail_case("'transpose' names no dimension");
      return static_cast<size_t>(place);
    };
    std::swap(order[at(pair[0])], order[at(pair[1])]);
    id = keep(yard_.run("aten::permute", {Ref{id}, order}));
  }
  if (node["slice"]) {
    std::vector<Value> arguments = {Ref{id}};
    for (const YAML::Node& item : node["slice"]) arguments.push_back(read_scalar(item));
    id = keep(yard_.run("aten::slice.Tensor", arguments));
  }
  if (node["expand"]) id = keep(yard_.run("aten::expand", {Ref{id}, dims("expand")}));
  if (node["conj"].as<bool>(false)) id = keep(yard_.run("aten::_conj", {Ref{id}}));
  if (node["neg"].as<bool>(false)) id = keep(yard_.run("aten::_neg_view", {Ref{id}}));
  if (node["requires_grad"].as<bool>(false)) report_.note("requires_grad has no effect yet");
  return id;
}

Value CaseInputs::build_tensor(const YAML::Node& node) {
  report_.note_unknown(node, kTensorKeys);
  if (node["same_as"]) {
    const auto at = node["same_as"].as<size_t>();
    const Ref* base = at < built_.size() ? built_[at].get_if<Ref>() : nullptr;
    if (!base) fail_case("'same_as' names no tensor argument before this one");
    return Ref{make_views(node, base->id)};
  }
  // A bare number is what the yard makes a wrapped tensor of.
  if (node["wrapped"].as<bool>(false)) {
    if (!node["tensor"] || !node["tensor"].IsScalar()) fail_case("'wrapped' is for one number");
    return read_scalar(node["tensor"]);
  }
  Id id = keep(yard_.put(read_tensor(node)));
  const std::string device = node["device"].as<std::string>(device_);
  if (device != "cpu" && !device.empty()) {
    id = keep(yard_.run("aten::_to_copy", {Ref{id}}, {{"device", device}}));
  }
  return Ref{make_views(node, id)};
}

Value CaseInputs::build_list(const YAML::Node& node) {
  std::vector<Value> items;
  bool tensors = false;
  for (const YAML::Node& item : node) {
    tensors = tensors || is_tensor(item);
    items.push_back(build(item));
  }
  if (!tensors) return pack(items);
  Refs refs;
  for (const Value& item : items) {
    if (!item.is_none() && !item.get_if<Ref>()) fail_case("a list mixes tensors and other values");
    refs.ids.push_back(item.is_none() ? 0 : item.get_if<Ref>()->id);
  }
  return refs;
}

Value CaseInputs::build(const YAML::Node& node) {
  if (node.IsSequence()) return build_list(node);
  if (!node.IsMap()) return read_scalar(node);
  if (node["complex"]) {
    const auto parts = node["complex"].as<std::vector<double>>();
    if (parts.size() != 2) fail_case("a complex number is written {complex: [re, im]}");
    return std::complex<double>(parts[0], parts[1]);
  }
  if (!is_tensor(node)) fail_case("a mapping that is neither a tensor nor a complex number");
  return build_tensor(node);
}

std::vector<Value> CaseInputs::build_all(const YAML::Node& nodes) {
  built_.clear();
  if (!nodes) return {};
  for (const YAML::Node& node : nodes) built_.push_back(build(node));
  return built_;
}

}  // namespace opyard::client
