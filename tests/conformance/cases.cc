#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "kernels/shape/promotion.h"
#include "tests/conformance/generate.h"

namespace opyard::conformance {
namespace {

using reference::Array;
using Sizes = std::vector<int64_t>;
using Maker = std::function<Case(Random&)>;

double tolerance_of(ScalarType dtype) { return dtype == ScalarType::kFloat64 ? 1e-12 : 2e-6; }

// A dtype's value of an operand after promotion; sums and products wrap with it.
Array promoted(const Tensor& tensor, ScalarType dtype) {
  return reference::rounded(reference::read(tensor), dtype);
}

struct Pair {
  Tensor a;
  Tensor b;
};
Pair two_operands(Random& random, bool with_bool = true) {
  const Sizes sizes = random.sizes();
  Pair pair{random.tensor(sizes, random.dtype(with_bool)),
            random.tensor(random.narrowed(sizes), random.dtype(with_bool))};
  if (random.chance(0.1)) pair.b = wrapped_number(random.chance(0.5) ? Scalar(2) : Scalar(1.5));
  if (random.chance(0.3)) std::swap(pair.a, pair.b);
  return pair;
}

Maker arithmetic(const std::string& name, bool has_alpha, bool with_bool,
                 const std::function<double(double, double, double)>& f) {
  return [=](Random& random) {
    const auto [a, b] = two_operands(random, with_bool);
    const ScalarType dtype = shape::result_type(a, b);
    const bool real = is_floating(dtype);
    const Scalar alpha = dtype == ScalarType::kBool   ? Scalar(true)
                         : real && random.chance(0.5) ? Scalar(0.5)
                                                      : Scalar(random.between(1, 3));
    Case c{"aten::" + name + ".Tensor", "aten::" + name + ".out", "", {a, b}, {}, dtype,
           tolerance_of(dtype)};
    if (has_alpha) c.arguments.push_back(alpha);
    c.wanted = reference::map(promoted(a, dtype), promoted(b, dtype),
                              [&](double x, double y) { return f(x, y, alpha.to_double()); });
    if (a.sizes().vec() == c.wanted.sizes && a.dtype() == dtype) {
      c.in_place_op = "aten::" + name + "_.Tensor";
    }
    return c;
  };
}

Case division(Random& random) {
  const auto [a, b] = two_operands(random);
  const ScalarType dtype = shape::to_floating(shape::result_type(a, b));
  return {"aten::div.Tensor",
          "aten::div.out",
          "",
          {a, b},
          reference::map(promoted(a, dtype), promoted(b, dtype),
                         [](double x, double y) { return x / y; }),
          dtype,
          tolerance_of(dtype)};
}

Maker comparison(const std::string& name, const std::function<bool(double, double)>& f) {
  return [=](Random& random) {
    const auto [a, b] = two_operands(random);
    const ScalarType common = shape::result_type(a, b);
    return Case{"aten::" + name + ".Tensor",
                "aten::" + name + ".Tensor_out",
                "",
                {a, b},
                reference::map(promoted(a, common), promoted(b, common),
                               [&](double x, double y) { return f(x, y) ? 1.0 : 0.0; }),
                ScalarType::kBool,
                0};
  };
}

Maker unary(const std::string& name, bool real, const std::function<double(double)>& f) {
  return [=](Random& random) {
    const Tensor a = random.tensor(random.sizes(), random.dtype(real));
    const ScalarType dtype = real ? shape::to_floating(a.dtype()) : a.dtype();
    return Case{"aten::" + name,
                "aten::" + name + ".out",
                a.dtype() == dtype ? "aten::" + name + "_" : "",
                {a},
                reference::map(reference::read(a), f),
                dtype,
                tolerance_of(dtype)};
  };
}

Case selection(Random& random) {
  const auto [a, b] = two_operands(random);
  const Sizes sizes = reference::broadcast_sizes(a.sizes().vec(), b.sizes().vec());
  const Tensor condition = random.tensor(random.narrowed(sizes), ScalarType::kBool);
  const ScalarType dtype = shape::result_type(a, b);
  return {"aten::where.self",
          "aten::where.self_out",
          "",
          {condition, a, b},
          reference::where(reference::read(condition), promoted(a, dtype), promoted(b, dtype)),
          dtype,
          0};
}

Sizes some_dims(Random& random, int64_t ndim) {
  Sizes dims;
  for (int64_t dim = 0; dim < ndim; ++dim) {
    if (random.chance(0.4)) dims.push_back(random.chance(0.5) ? dim : dim - ndim);
  }
  return dims;
}

Case sums(Random& random) {
  const Tensor a = random.tensor(random.sizes(), random.dtype());
  const Sizes dims = some_dims(random, a.dim());
  const bool keepdim = random.chance(0.5);
  ScalarType dtype = is_floating(a.dtype()) ? a.dtype() : ScalarType::kInt64;
  std::optional<ScalarType> asked;
  if (is_floating(dtype) && random.chance(0.2)) asked = dtype = ScalarType::kFloat64;
  return {"aten::sum.dim_IntList",
          "aten::sum.IntList_out",
          "",
          {a, dims, keepdim, asked},
          reference::fold(reference::read(a), dims, keepdim, reference::sum),
          dtype,
          10 * tolerance_of(dtype)};
}

Case means(Random& random) {
  const Tensor a = random.tensor(random.sizes(), random.real_dtype());
  const Sizes dims = some_dims(random, a.dim());
  const bool keepdim = random.chance(0.5);
  return {"aten::mean.dim",
          "aten::mean.out",
          "",
          {a, dims, keepdim, IValue()},
          reference::fold(reference::read(a), dims, keepdim, reference::mean),
          a.dtype(),
          10 * tolerance_of(a.dtype())};
}

// At least one element in every dimension: extremes of nothing are errors.
Sizes filled_sizes(Random& random) {
  Sizes sizes = random.sizes();
  for (int64_t& size : sizes) size = std::max<int64_t>(1, size);
  return sizes;
}

Case greatest(Random& random) {
  const Tensor a = random.tensor(filled_sizes(random), random.dtype());
  const Sizes dims = some_dims(random, a.dim());
  const bool keepdim = random.chance(0.5);
  return {"aten::amax",
          "aten::amax.out",
          "",
          {a, dims, keepdim},
          reference::fold(reference::read(a), dims, keepdim, reference::greatest),
          a.dtype(),
          0};
}

Case greatest_at(Random& random) {
  const Tensor a = random.tensor(filled_sizes(random), random.dtype());
  const bool keepdim = random.chance(0.5);
  IValue dim;
  Sizes dims;
  if (a.dim() > 0 && random.chance(0.8)) {
    dims.push_back(random.between(-a.dim(), a.dim() - 1));
    dim = IValue(dims[0]);
  }
  return {"aten::argmax",
          "aten::argmax.out",
          "",
          {a, dim, keepdim},
          reference::fold(reference::read(a), dims, keepdim, reference::greatest_at),
          ScalarType::kInt64,
          0};
}

Case softmax(Random& random) {
  const Tensor a = random.tensor(random.sizes(), random.real_dtype());
  const int64_t range = std::max<int64_t>(1, a.dim());
  const int64_t dim = random.between(-range, range - 1);
  return {"aten::_softmax",
          "aten::_softmax.out",
          "",
          {a, dim, false},
          reference::softmax(reference::read(a), dim),
          a.dtype(),
          tolerance_of(a.dtype())};
}

int64_t side(Random& random) {
  return random.chance(0.05)  ? 0
         : random.chance(0.1) ? random.between(60, 90)
                              : random.between(1, 9);
}

Case products(Random& random) {
  const ScalarType dtype = random.dtype(false);
  const int64_t inner = side(random);
  const Tensor a = random.tensor({side(random), inner}, dtype, true);
  const Tensor b = random.tensor({inner, side(random)}, dtype, true);
  return {"aten::mm",
          "aten::mm.out",
          "",
          {a, b},
          reference::mm(reference::read(a), reference::read(b)),
          dtype,
          100 * tolerance_of(dtype)};
}

Case products_plus(Random& random) {
  const ScalarType dtype = random.dtype(false);
  const int64_t inner = side(random);
  const Tensor a = random.tensor({side(random), inner}, dtype, true);
  const Tensor b = random.tensor({inner, side(random)}, dtype, true);
  const Scalar beta = random.between(0, 2);
  const Scalar alpha = random.between(1, 2);
  const Sizes sizes = {a.sizes()[0], b.sizes()[1]};
  // With beta 0 whatever stands in the first argument must not show.
  const Tensor bias = random.tensor(random.narrowed(sizes), dtype, beta.to_int() != 0);
  const Array product = reference::mm(reference::read(a), reference::read(b));
  const double factor = alpha.to_double();
  const double scale = beta.to_double();
  return {
      "aten::addmm",
      "aten::addmm.out",
      "",
      {bias, a, b, beta, alpha},
      reference::map(product, reference::expand(reference::read(bias), sizes),
                     [=](double p, double s) { return factor * p + (scale == 0 ? 0 : scale * s); }),
      dtype,
      100 * tolerance_of(dtype)};
}

Case joined(Random& random) {
  Sizes sizes = random.sizes();
  if (sizes.empty()) sizes = {2};
  const auto ndim = static_cast<int64_t>(sizes.size());
  const int64_t dim = random.between(-ndim, ndim - 1);
  std::vector<Tensor> tensors;
  std::vector<Array> arrays;
  shape::Promotion promotion;
  for (int64_t i = random.between(1, 4); i > 0; --i) {
    sizes[static_cast<size_t>(dim < 0 ? dim + ndim : dim)] = random.between(0, 4);
    tensors.push_back(random.tensor(sizes, random.dtype()));
    promotion.add(tensors.back());
  }
  for (const Tensor& tensor : tensors) arrays.push_back(promoted(tensor, promotion.result()));
  return {"aten::cat",
          "aten::cat.out",
          "",
          {tensors, dim},
          reference::cat(arrays, dim),
          promotion.result(),
          0};
}

Case indexed(Random& random) {
  const Tensor a = random.tensor(filled_sizes(random), random.dtype());
  const int64_t range = std::max<int64_t>(1, a.dim());
  const int64_t dim = random.between(-range, range - 1);
  const int64_t size = a.dim() == 0 ? 1 : a.size(dim);
  const Tensor index = random.tensor({a.dim() == 0 ? 1 : random.between(0, 9)},
                                     random.chance(0.5) ? ScalarType::kInt64 : ScalarType::kInt32);
  for (int64_t i = 0; i < index.numel(); ++i) {
    const int64_t at = i * index.strides()[0];
    const int64_t value = random.between(0, size - 1);
    if (index.dtype() == ScalarType::kInt64) {
      index.data<int64_t>()[at] = value;
    } else {
      index.data<int32_t>()[at] = static_cast<int32_t>(value);
    }
  }
  return {"aten::index_select",
          "aten::index_select.out",
          "",
          {a, dim, index},
          reference::index_select(reference::read(a), dim, reference::read(index)),
          a.dtype(),
          0};
}

Case copied(Random& random) {
  const Sizes sizes = random.sizes();
  const Tensor to = random.place(sizes, random.dtype());
  ScalarType from = random.dtype();
  // What a nan becomes as an integer is the kernels' own affair; their unit tests say what.
  const Tensor source = random.tensor(random.narrowed(sizes), from, true);
  return {"",
          "",
          "aten::copy_",
          {to, source, false},
          reference::expand(promoted(source, to.dtype()), sizes),
          to.dtype(),
          0};
}

const std::map<std::string, Maker>& makers() {
  static const std::map<std::string, Maker> kMakers = {
      {"add",
       arithmetic("add", true, true, [](double x, double y, double f) { return x + f * y; })},
      {"sub",
       arithmetic("sub", true, false, [](double x, double y, double f) { return x - f * y; })},
      {"mul", arithmetic("mul", false, true, [](double x, double y, double) { return x * y; })},
      {"div", division},
      {"neg", unary("neg", false, [](double x) { return -x; })},
      {"relu", unary("relu", false, [](double x) { return x < 0 ? 0 : x; })},
      {"exp", unary("exp", true, [](double x) { return std::exp(x); })},
      {"log", unary("log", true, [](double x) { return std::log(x); })},
      {"sqrt", unary("sqrt", true, [](double x) { return std::sqrt(x); })},
      {"tanh", unary("tanh", true, [](double x) { return std::tanh(x); })},
      {"sigmoid", unary("sigmoid", true, [](double x) { return 1 / (1 + std::exp(-x)); })},
      {"eq", comparison("eq", [](double x, double y) { return x == y; })},
      {"ne", comparison("ne", [](double x, double y) { return x != y; })},
      {"gt", comparison("gt", [](double x, double y) { return x > y; })},
      {"lt", comparison("lt", [](double x, double y) { return x < y; })},
      {"ge", comparison("ge", [](double x, double y) { return x >= y; })},
      {"le", comparison("le", [](double x, double y) { return x <= y; })},
      {"where", selection},
      {"sum", sums},
      {"mean", means},
      {"amax", greatest},
      {"argmax", greatest_at},
      {"softmax", softmax},
      {"mm", products},
      {"addmm", products_plus},
      {"cat", joined},
      {"index_select", indexed},
      {"copy_", copied},
  };
  return kMakers;
}

}  // namespace

const std::vector<std::string>& operators() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const auto& [name, maker] : makers()) names.push_back(name);
    return names;
  }();
  return kNames;
}

Case make_case(const std::string& op, Random& random) { return makers().at(op)(random); }

}  // namespace opyard::conformance
