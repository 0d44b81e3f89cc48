#pragma once

#include <optional>
#include <string>
#include <vector>

#include "opyard/base/check.h"
#include "opyard/core/scalar.h"
#include "opyard/core/tensor_impl.h"

namespace opyard {

// Facts for a new tensor; absent ones mean float32, cpu, strided.
struct TensorOptions {
  std::optional<ScalarType> dtype{};
  std::optional<Device> device{};
  std::optional<Layout> layout{};
};

inline constexpr KeySet kUndefinedTensorKeys = KeySet::functionality(DispatchKey::ADInplaceOrView) |
                                               KeySet::functionality(DispatchKey::AutogradOther);

// A handle on a tensor: one pointer, shared ownership, cheap to copy. A default-constructed one is
// undefined: it has the keys ADInplaceOrView and AutogradOther, which mostly pass calls on; asking it
// for metadata is an error of the caller that raises INVALID_ARGUMENT. Element access is for host code: operators live in opyard/ops.h.
class Tensor {
 public:
  constexpr Tensor() noexcept = default;
  explicit Tensor(IntrusivePtr<TensorImpl> impl) noexcept : impl_(std::move(impl)) {}

  bool defined() const noexcept { return static_cast<bool>(impl_); }
  KeySet key_set() const noexcept { return impl_ ? impl_->key_set() : kUndefinedTensorKeys; }
  ScalarType dtype() const { return impl().dtype(); }
  Device device() const { return impl().device(); }
  Layout layout() const noexcept { return Layout::kStrided; }
  IntList sizes() const { return impl().sizes(); }
  IntList strides() const { return impl().strides(); }
  int64_t dim() const { return static_cast<int64_t>(impl().sizes().size()); }
  // Negative positions count from the end; raises OUT_OF_RANGE.
  int64_t size(int64_t dim) const;
  int64_t stride(int64_t dim) const;
  int64_t storage_offset() const { return impl().storage_offset(); }
  int64_t numel() const { return impl().numel(); }
  size_t nbytes() const { return static_cast<size_t>(numel()) * element_size(dtype()); }
  bool is_contiguous() const { return impl().is_contiguous(); }
  bool is_wrapped_number() const { return impl().is_wrapped_number(); }
  const Storage& storage() const { return impl().storage(); }
  uint32_t version() const { return impl().storage()->version(); }
  TensorOptions options() const { return {dtype(), device(), layout()}; }

  void* raw_data() const { return impl().data(); }
  // Host address of the first element. Raises INVALID_ARGUMENT when T is not the dtype or the
  // tensor is not on the host.
  template <typename T>
  T* data() const;

  TensorImpl* unsafe_impl() const noexcept { return impl_.get(); }
  // Gives the reference away; the tensor is undefined afterwards.
  TensorImpl* detach_impl() noexcept { return impl_.detach(); }
  static Tensor adopt_impl(TensorImpl* impl) noexcept {
    return Tensor(IntrusivePtr<TensorImpl>::adopt(impl));
  }
  static Tensor share_impl(TensorImpl* impl) noexcept {
    return Tensor(IntrusivePtr<TensorImpl>::share(impl));
  }
  bool is_same(const Tensor& other) const noexcept { return impl_ == other.impl_; }

 private:
  TensorImpl& impl() const {
    if (!impl_) [[unlikely]]
      raise_undefined();
    return *impl_;
  }
  [[noreturn]] static void raise_undefined();

  IntrusivePtr<TensorImpl> impl_;
};
static_assert(sizeof(Tensor) == sizeof(void*));

using TensorList = ArrayRef<Tensor>;

// A new, uninitialised (or zeroed: see ThreadFlags), row-major tensor.
Tensor make_tensor(IntList sizes, ScalarType dtype, Device device = Backend::kCPU);
// The same with given strides; the storage is as large as they need.
Tensor make_strided(IntList sizes, IntList strides, ScalarType dtype, Device device);
// A 0-d host tensor that stands for a bare number in type promotion.
Tensor wrapped_number(const Scalar& value);
// A tensor on storage that exists already; the keys are those of a plain tensor on its device.
Tensor tensor_on(Storage storage, ScalarType dtype, IntList sizes, IntList strides, int64_t offset);
// Another window on the storage of `base`, with its keys.
Tensor view_of(const Tensor& base, IntList sizes, IntList strides, int64_t offset);

// Position `dim` of `ndim`, negative ones counted from the end; raises OUT_OF_RANGE. A 0-d tensor
// counts as having one dimension.
int64_t wrap_dim(int64_t dim, int64_t ndim);

// "float32[2, 3] on cpu": for messages.
std::string describe(const Tensor& tensor);

namespace detail {
template <typename T>
struct CppScalarType;
#define OPYARD_CPP_TYPE(type, name)                           \
  template <>                                                 \
  struct CppScalarType<type> {                                \
    static constexpr ScalarType kValue = ScalarType::k##name; \
  };
OPYARD_CPP_TYPE(uint8_t, UInt8)
OPYARD_CPP_TYPE(int8_t, Int8)
OPYARD_CPP_TYPE(int16_t, Int16)
OPYARD_CPP_TYPE(int32_t, Int32)
OPYARD_CPP_TYPE(int64_t, Int64)
OPYARD_CPP_TYPE(float, Float32)
OPYARD_CPP_TYPE(double, Float64)
OPYARD_CPP_TYPE(bool, Bool)
#undef OPYARD_CPP_TYPE
}  // namespace detail

template <typename T>
T* Tensor::data() const {
  constexpr ScalarType wanted = detail::CppScalarType<std::remove_const_t<T>>::kValue;
  OPYARD_CHECK(dtype() == wanted, kInvalidArgument, "the tensor holds ", to_string(dtype()),
               " and was read as ", to_string(wanted));
  OPYARD_CHECK(device().is_cpu(), kInvalidArgument, "the tensor is on '", to_string(device()),
               "'; copy it to cpu to read its elements");
  return static_cast<T*>(raw_data());
}

}  // namespace opyard
