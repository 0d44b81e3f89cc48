#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/shape/promotion.h"
#include "kernels/shape/tensor_iterator.h"
#include "kernels/shape/visit_dtype.h"
#include "opyard/core/tensor.h"

namespace opyard::cpu {

using shape::result_type;
using shape::TensorIterator;
using shape::to_floating;
using shape::visit_dtype;
using shape::visit_floating;
using shape::visit_numbers;

// Raises INVALID_ARGUMENT unless the tensor is on the host; `what` names it.
inline void check_on_host(const Tensor& tensor, const char* what) {
  OPYARD_CHECK(tensor.device().is_cpu(), kInvalidArgument, what, " is on '",
               to_string(tensor.device()), "', a CPU kernel needs it on 'cpu'");
}

inline void check_shape(const Tensor& out, IntList wanted) {
  OPYARD_CHECK(out.sizes() == wanted, kInvalidArgument, "the output has shape ",
               to_string(out.sizes()), ", the result has ", to_string(wanted));
}

// A number as T: fractions are cut off; raises INVALID_ARGUMENT when it does not fit.
template <typename T>
T scalar_as(const Scalar& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value.to_bool();
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value.to_double());
  } else {
    const int64_t whole =
        value.is_double() ? Scalar(std::trunc(value.to_double())).to_int() : value.to_int();
    constexpr auto kMax = std::numeric_limits<T>::max();
    // A negative number may be given for an unsigned type: it wraps, as it does in arithmetic.
    constexpr int64_t kMin =
        std::is_signed_v<T> ? int64_t{std::numeric_limits<T>::min()} : -static_cast<int64_t>(kMax);
    OPYARD_CHECK(whole >= kMin && whole <= static_cast<int64_t>(kMax), kInvalidArgument,
                 "the number ", to_string(value), " does not fit the dtype of the tensor");
    return static_cast<T>(whole);
  }
}

// A factor (alpha, beta) as T: for integers it must be whole.
template <typename T>
T factor_as(const Scalar& value) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return scalar_as<T>(Scalar(value.to_int()));
  } else {
    return scalar_as<T>(value);
  }
}

}  // namespace opyard::cpu
