#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "opyard/core/tensor.h"

// What operators mean, written down as plainly as possible: loops over row-major arrays of double,
// without strides, dtypes, threads or care for speed. Backends are compared with it.
namespace opyard::reference {

// Elements in row-major order. double holds every value that the comparison uses exactly.
struct Array {
  std::vector<int64_t> sizes;
  std::vector<double> values;
};

// Any host tensor of a dtype that has kernels.
Array read(const Tensor& tensor);
// Each value as an element of this dtype would hold it: rounded, cut off, wrapped.
Array rounded(Array array, ScalarType dtype);

std::vector<int64_t> broadcast_sizes(const std::vector<int64_t>& a, const std::vector<int64_t>& b);
Array expand(const Array& array, const std::vector<int64_t>& sizes);
Array map(const Array& a, const std::function<double(double)>& f);
Array map(const Array& a, const Array& b, const std::function<double(double, double)>& f);
Array where(const Array& condition, const Array& a, const Array& b);

// The elements that share the same place in all other dimensions, folded to one. An empty list of
// dimensions means all.
Array fold(const Array& a, std::vector<int64_t> dims, bool keepdim,
           const std::function<double(const std::vector<double>&)>& f);
double sum(const std::vector<double>& values);
double mean(const std::vector<double>& values);
double greatest(const std::vector<double>& values);     // nan wins
double greatest_at(const std::vector<double>& values);  // its position, the first of equals

Array softmax(const Array& a, int64_t dim);
Array mm(const Array& a, const Array& b);
Array cat(const std::vector<Array>& arrays, int64_t dim);
Array index_select(const Array& a, int64_t dim, const Array& index);

}  // namespace opyard::reference
