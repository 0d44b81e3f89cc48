#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "opyard/core/tensor.h"

// Small tensors for the tests of this folder.
namespace opyard::test {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

template <typename T>
Tensor tensor(IntList sizes, const std::vector<T>& values) {
  Tensor result = make_tensor(sizes, detail::CppScalarType<T>::kValue);
  EXPECT_EQ(result.numel(), static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) result.data<T>()[i] = values[i];
  return result;
}

inline Tensor floats(IntList sizes, const std::vector<float>& values) {
  return tensor<float>(sizes, values);
}

// A matrix, transposed.
inline Tensor transposed(const Tensor& t) {
  return view_of(t, {t.size(1), t.size(0)}, {t.stride(1), t.stride(0)}, t.storage_offset());
}

// Elements in row-major order, as double.
inline std::vector<double> values(const Tensor& t) {
  std::vector<double> result;
  for (int64_t i = 0; i < t.numel(); ++i) {
    int64_t rest = i;
    int64_t at = 0;
    for (size_t d = t.sizes().size(); d-- > 0;) {
      at += rest % t.sizes()[d] * t.strides()[d];
      rest /= t.sizes()[d];
    }
    switch (t.dtype()) {
      case ScalarType::kFloat32:
        result.push_back(static_cast<double>(t.data<float>()[at]));
        break;
      case ScalarType::kFloat64:
        result.push_back(t.data<double>()[at]);
        break;
      case ScalarType::kInt64:
        result.push_back(static_cast<double>(t.data<int64_t>()[at]));
        break;
      case ScalarType::kInt32:
        result.push_back(t.data<int32_t>()[at]);
        break;
      case ScalarType::kUInt8:
        result.push_back(t.data<uint8_t>()[at]);
        break;
      case ScalarType::kBool:
        result.push_back(t.data<bool>()[at] ? 1 : 0);
        break;
      default:
        ADD_FAILURE() << "no such dtype in these tests";
    }
  }
  return result;
}

// Equal, where nan equals nan.
inline void expect_values(const Tensor& t, const std::vector<double>& wanted,
                          double tolerance = 0) {
  const std::vector<double> got = values(t);
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(wanted[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << "element " << i << " is " << got[i];
    } else if (tolerance == 0 || std::isinf(wanted[i])) {
      EXPECT_EQ(got[i], wanted[i]) << "element " << i;
    } else {
      EXPECT_NEAR(got[i], wanted[i], tolerance * (1 + std::abs(wanted[i]))) << "element " << i;
    }
  }
}

template <typename F>
void expect_error(Code code, const char* part, F&& body) {
  try {
    body();
    ADD_FAILURE() << "no error, wanted one with '" << part << "'";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(error.message().find(part), std::string::npos) << error.message();
  }
}

}  // namespace opyard::test
