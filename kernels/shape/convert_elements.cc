#include "kernels/shape/convert_elements.h"

#include <cstring>

#include "kernels/functors/convert.h"
#include "kernels/shape/visit_dtype.h"

namespace opyard::shape {
namespace {

template <typename To, typename From>
void convert_run(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t n) {
  constexpr auto kTo = static_cast<int64_t>(sizeof(To));
  constexpr auto kFrom = static_cast<int64_t>(sizeof(From));
  if (to_stride == kTo && from_stride == kFrom) {
    if constexpr (std::is_same_v<To, From>) {
      if (to != from) std::memcpy(to, from, static_cast<size_t>(n) * sizeof(To));
    } else {
      auto* out = reinterpret_cast<To*>(to);
      const auto* in = reinterpret_cast<const From*>(from);
      OPYARD_INDEPENDENT_ITERATIONS
      for (int64_t i = 0; i < n; ++i) out[i] = functors::convert<To>(in[i]);
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    *reinterpret_cast<To*>(to + i * to_stride) =
        functors::convert<To>(*reinterpret_cast<const From*>(from + i * from_stride));
  }
}

}  // namespace

void raise_dtype(ScalarType dtype, const char* what) {
  raise(Code::kUnimplemented, str_cat(what, " is not implemented for dtype ", to_string(dtype),
                                      "; convert the tensor to another dtype first"));
}

ConvertFn convert_function(ScalarType to, ScalarType from) {
  return visit_dtype(to, "conversion", [&]<typename To>(std::type_identity<To>) -> ConvertFn {
    return visit_dtype(from, "conversion", [&]<typename From>(std::type_identity<From>) {
      return static_cast<ConvertFn>(&convert_run<To, From>);
    });
  });
}

}  // namespace opyard::shape
