#include "kernels/shape/functions.h"

namespace opyard::shape {
namespace {

using Flags = SmallVector<bool, 8>;

template <typename Int>
Result<Int> reduce(const Operand<Int>& self, const Flags& reduced, bool keepdim, ScalarType dtype) {
  Result<Int> result;
  result.dtype = dtype;
  for (size_t i = 0; i < self.sizes.size(); ++i) {
    if (!reduced[i]) {
      result.sizes.push_back(self.sizes[i]);
    } else if (keepdim) {
      result.sizes.push_back(1);
    }
  }
  return result;
}

// There is no greatest of nothing.
template <typename Int>
void check_not_empty(const Operand<Int>& self, const Flags& reduced, bool named) {
  for (size_t i = 0; i < self.sizes.size(); ++i) {
    OPYARD_CHECK(!reduced[i] || !(self.sizes[i] == 0), kInvalidArgument, "dimension ", i,
                 " of the shape ", to_string(self.sizes), " is empty, so it has no extremum",
                 named ? "" : "; name dimensions that are not empty");
  }
}

}  // namespace

SmallVector<bool, 8> reduced_dims(std::optional<IntList> dims, int64_t ndim) {
  const bool all = !dims || dims->empty();
  Flags reduced(static_cast<size_t>(ndim), all);
  if (all) return reduced;
  for (const int64_t dim : *dims) {
    const auto at = static_cast<size_t>(wrap_dim(dim, ndim));
    if (at >= reduced.size()) continue;  // dimension 0 of a 0-d tensor
    OPYARD_CHECK(!reduced[at], kInvalidArgument, "dimension ", at, " is named twice in ",
                 to_string(*dims));
    reduced[at] = true;
  }
  return reduced;
}

template <typename Int>
Result<Int> sum(const Operand<Int>& self, std::optional<IntList> dims, bool keepdim,
                std::optional<ScalarType> dtype) {
  const bool counts = is_integral(self.dtype) || self.dtype == ScalarType::kBool;
  return reduce(self, reduced_dims(dims, self.dim()), keepdim,
                dtype.value_or(counts ? ScalarType::kInt64 : self.dtype));
}

template <typename Int>
Result<Int> mean(const Operand<Int>& self, std::optional<IntList> dims, bool keepdim,
                 std::optional<ScalarType> dtype) {
  const ScalarType result = dtype.value_or(self.dtype);
  OPYARD_CHECK(is_floating(result) || is_complex(result), kInvalidArgument, "the mean of ",
               to_string(self.dtype), " would be ", to_string(result),
               "; pass a floating dtype, as in dtype=float32");
  return reduce(self, reduced_dims(dims, self.dim()), keepdim, result);
}

template <typename Int>
Result<Int> extremum(const Operand<Int>& self, IntList dims, bool keepdim) {
  OPYARD_CHECK(!is_complex(self.dtype), kInvalidArgument, "complex numbers have no order; got ",
               to_string(self.dtype));
  const Flags reduced = reduced_dims(dims, self.dim());
  check_not_empty(self, reduced, !dims.empty());
  return reduce(self, reduced, keepdim, self.dtype);
}

template <typename Int>
Result<Int> arg_extremum(const Operand<Int>& self, std::optional<int64_t> dim, bool keepdim) {
  OPYARD_CHECK(!is_complex(self.dtype), kInvalidArgument, "complex numbers have no order; got ",
               to_string(self.dtype));
  std::optional<IntList> dims;
  if (dim) dims = IntList(*dim);
  const Flags reduced = reduced_dims(dims, self.dim());
  check_not_empty(self, reduced, dim.has_value());
  return reduce(self, reduced, keepdim, ScalarType::kInt64);
}

template <typename Int>
Result<Int> softmax(const Operand<Int>& self, int64_t dim, bool half_to_float) {
  wrap_dim(dim, self.dim());
  OPYARD_CHECK(is_floating(self.dtype), kInvalidArgument, "softmax needs a floating tensor, got ",
               to_string(self.dtype), "; convert it first");
  OPYARD_CHECK(!half_to_float || self.dtype == ScalarType::kFloat16, kInvalidArgument,
               "half_to_float is for float16, got ", to_string(self.dtype));
  return {Sizes<Int>(self.sizes), half_to_float ? ScalarType::kFloat32 : self.dtype};
}

using I = int64_t;
template Result<I> sum(const Operand<I>&, std::optional<IntList>, bool, std::optional<ScalarType>);
template Result<I> mean(const Operand<I>&, std::optional<IntList>, bool, std::optional<ScalarType>);
template Result<I> extremum(const Operand<I>&, IntList, bool);
template Result<I> arg_extremum(const Operand<I>&, std::optional<int64_t>, bool);
template Result<I> softmax(const Operand<I>&, int64_t, bool);

}  // namespace opyard::shape
