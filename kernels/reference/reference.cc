#include "kernels/reference/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "opyard/base/check.h"

namespace opyard::reference {
namespace {

using Sizes = std::vector<int64_t>;

int64_t count(const Sizes& sizes) {
  int64_t n = 1;
  for (const int64_t size : sizes) n *= size;
  return n;
}

Sizes position_of(int64_t index, const Sizes& sizes) {
  Sizes position(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    position[i] = index % sizes[i];
    index /= sizes[i];
  }
  return position;
}

int64_t index_of(const Sizes& position, const Sizes& sizes) {
  int64_t index = 0;
  for (size_t i = 0; i < sizes.size(); ++i) index = index * sizes[i] + position[i];
  return index;
}

double& element(Array& a, const Sizes& position) {
  return a.values[static_cast<size_t>(index_of(position, a.sizes))];
}
double element(const Array& a, const Sizes& position) {
  return a.values[static_cast<size_t>(index_of(position, a.sizes))];
}

Array array(Sizes sizes) {
  const auto n = static_cast<size_t>(count(sizes));
  return {std::move(sizes), std::vector<double>(n)};
}

double load(const Tensor& tensor, int64_t at) {
  switch (tensor.dtype()) {
    case ScalarType::kFloat32:
      return static_cast<double>(tensor.data<float>()[at]);
    case ScalarType::kFloat64:
      return tensor.data<double>()[at];
    case ScalarType::kInt64:
      return static_cast<double>(tensor.data<int64_t>()[at]);
    case ScalarType::kInt32:
      return tensor.data<int32_t>()[at];
    case ScalarType::kUInt8:
      return tensor.data<uint8_t>()[at];
    case ScalarType::kBool:
      return tensor.data<bool>()[at] ? 1 : 0;
    default:
      raise(Code::kUnimplemented, str_cat("the reference has no ", to_string(tensor.dtype())));
  }
}

// A whole number modulo 2^bits, as a signed or unsigned number of that many bits.
double wrap(double value, int bits, bool is_signed) {
  const double range = std::ldexp(1.0, bits);
  double wrapped = std::fmod(std::trunc(value), range);
  if (wrapped < 0) wrapped += range;
  return is_signed && wrapped >= range / 2 ? wrapped - range : wrapped;
}

}  // namespace

Array read(const Tensor& tensor) {
  Array result = array(tensor.sizes().vec());
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    const Sizes position = position_of(i, result.sizes);
    int64_t at = 0;
    for (size_t d = 0; d < position.size(); ++d) at += position[d] * tensor.strides()[d];
    result.values[static_cast<size_t>(i)] = load(tensor, at);
  }
  return result;
}

Array rounded(Array a, ScalarType dtype) {
  for (double& value : a.values) {
    if (dtype == ScalarType::kFloat32) value = static_cast<double>(static_cast<float>(value));
    if (dtype == ScalarType::kBool) value = value != 0 ? 1 : 0;
    if (dtype == ScalarType::kUInt8) value = wrap(value, 8, false);
    if (dtype == ScalarType::kInt32) value = wrap(value, 32, true);
    if (dtype == ScalarType::kInt64) value = std::trunc(value);
  }
  return a;
}

Sizes broadcast_sizes(const Sizes& a, const Sizes& b) {
  Sizes result(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < result.size(); ++i) {
    const int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t right = i < b.size() ? b[b.size() - 1 - i] : 1;
    result[result.size() - 1 - i] = left == 1 ? right : left;
  }
  return result;
}

Array expand(const Array& a, const Sizes& sizes) {
  Array result = array(sizes);
  for (int64_t i = 0; i < count(sizes); ++i) {
    Sizes position = position_of(i, sizes);
    position.erase(position.begin(),
                   position.begin() + static_cast<int64_t>(sizes.size() - a.sizes.size()));
    for (size_t d = 0; d < position.size(); ++d) position[d] = a.sizes[d] == 1 ? 0 : position[d];
    result.values[static_cast<size_t>(i)] = element(a, position);
  }
  return result;
}

Array map(const Array& a, const std::function<double(double)>& f) {
  Array result = a;
  for (double& value : result.values) value = f(value);
  return result;
}

Array map(const Array& a, const Array& b, const std::function<double(double, double)>& f) {
  Array result = expand(a, broadcast_sizes(a.sizes, b.sizes));
  const Array other = expand(b, result.sizes);
  for (size_t i = 0; i < result.values.size(); ++i) {
    result.values[i] = f(result.values[i], other.values[i]);
  }
  return result;
}

Array where(const Array& condition, const Array& a, const Array& b) {
  const Sizes sizes = broadcast_sizes(condition.sizes, broadcast_sizes(a.sizes, b.sizes));
  const Array pick = expand(condition, sizes);
  Array result = expand(a, sizes);
  const Array other = expand(b, sizes);
  for (size_t i = 0; i < result.values.size(); ++i) {
    if (pick.values[i] == 0) result.values[i] = other.values[i];
  }
  return result;
}

Array fold(const Array& a, Sizes dims, bool keepdim,
           const std::function<double(const std::vector<double>&)>& f) {
  std::vector<bool> folded(a.sizes.size(), dims.empty());
  for (const int64_t dim : dims) {
    if (a.sizes.empty()) break;
    folded[static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(a.sizes.size()) : dim)] = true;
  }
  Sizes ones = a.sizes;
  Sizes left;
  for (size_t d = 0; d < ones.size(); ++d) {
    if (folded[d]) ones[d] = 1;
    if (!folded[d] || keepdim) left.push_back(ones[d]);
  }
  std::vector<std::vector<double>> groups(static_cast<size_t>(count(ones)));
  for (int64_t i = 0; i < count(a.sizes); ++i) {
    Sizes position = position_of(i, a.sizes);
    for (size_t d = 0; d < position.size(); ++d) position[d] = folded[d] ? 0 : position[d];
    groups[static_cast<size_t>(index_of(position, ones))].push_back(
        a.values[static_cast<size_t>(i)]);
  }
  Array result = array(left);
  std::transform(groups.begin(), groups.end(), result.values.begin(), f);
  return result;
}

double sum(const std::vector<double>& values) {
  double total = 0;
  for (const double value : values) total += value;
  return total;
}

double mean(const std::vector<double>& values) {
  return sum(values) / static_cast<double>(values.size());
}

double greatest_at(const std::vector<double>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) return static_cast<double>(i);
  }
  return static_cast<double>(std::max_element(values.begin(), values.end()) - values.begin());
}

double greatest(const std::vector<double>& values) {
  return values[static_cast<size_t>(greatest_at(values))];
}

Array softmax(const Array& a, int64_t dim) {
  const auto axis = static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(a.sizes.size()) : dim);
  const Sizes dims = a.sizes.empty() ? Sizes{} : Sizes{static_cast<int64_t>(axis)};
  if (a.values.empty()) return a;
  const Array most = fold(a, dims, true, greatest);
  const Array powers = map(a, most, [](double x, double m) { return std::exp(x - m); });
  return map(powers, fold(powers, dims, true, sum), [](double x, double s) { return x / s; });
}

Array mm(const Array& a, const Array& b) {
  Array result = array({a.sizes[0], b.sizes[1]});
  for (int64_t i = 0; i < a.sizes[0]; ++i) {
    for (int64_t j = 0; j < b.sizes[1]; ++j) {
      for (int64_t k = 0; k < a.sizes[1]; ++k) {
        element(result, {i, j}) += element(a, {i, k}) * element(b, {k, j});
      }
    }
  }
  return result;
}

Array cat(const std::vector<Array>& arrays, int64_t dim) {
  Sizes sizes;
  size_t axis = 0;
  for (const Array& a : arrays) {
    if (a.sizes == Sizes{0}) continue;
    axis = static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(a.sizes.size()) : dim);
    if (sizes.empty()) {
      sizes = a.sizes;
    } else {
      sizes[axis] += a.sizes[axis];
    }
  }
  Array result = array(sizes.empty() ? Sizes{0} : sizes);
  int64_t done = 0;
  for (const Array& a : arrays) {
    if (a.sizes == Sizes{0}) continue;
    for (int64_t i = 0; i < count(a.sizes); ++i) {
      Sizes position = position_of(i, a.sizes);
      position[axis] += done;
      element(result, position) = a.values[static_cast<size_t>(i)];
    }
    done += a.sizes[axis];
  }
  return result;
}

Array index_select(const Array& a, int64_t dim, const Array& index) {
  if (a.sizes.empty()) return a;
  const auto axis = static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(a.sizes.size()) : dim);
  Sizes sizes = a.sizes;
  sizes[axis] = static_cast<int64_t>(index.values.size());
  Array result = array(sizes);
  for (int64_t i = 0; i < count(sizes); ++i) {
    Sizes position = position_of(i, sizes);
    position[axis] = static_cast<int64_t>(index.values[static_cast<size_t>(position[axis])]);
    result.values[static_cast<size_t>(i)] = element(a, position);
  }
  return result;
}

}  // namespace opyard::reference
