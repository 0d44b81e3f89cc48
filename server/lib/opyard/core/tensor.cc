#include "opyard/core/tensor.h"

#include <cstring>

#include "opyard/core/thread_state.h"

namespace opyard {

TensorExtra::~TensorExtra() = default;

int64_t checked_numel(IntList sizes) {
  OPYARD_CHECK(sizes.size() <= kMaxDims, kInvalidArgument, "a tensor may have at most ", kMaxDims,
               " dimensions, got ", sizes.size());
  int64_t numel = 1;
  bool empty = false;
  for (const int64_t size : sizes) {
    OPYARD_CHECK(size >= 0, kInvalidArgument, "the shape ", to_string(sizes),
                 " has a negative size");
    if (size == 0) {
      empty = true;
      continue;
    }
    OPYARD_CHECK(!__builtin_mul_overflow(numel, size, &numel), kInvalidArgument, "the shape ",
                 to_string(sizes), " has more elements than can be counted");
  }
  return empty ? 0 : numel;
}

int64_t checked_nbytes(IntList sizes, IntList strides, int64_t offset, ScalarType dtype) {
  OPYARD_CHECK(sizes.size() == strides.size(), kInvalidArgument, "got ", sizes.size(),
               " sizes and ", strides.size(), " strides");
  OPYARD_CHECK(offset >= 0, kInvalidArgument, "the storage offset ", offset, " is negative");
  const int64_t numel = checked_numel(sizes);
  int64_t last = offset;
  bool overflow = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    OPYARD_CHECK(strides[i] >= 0, kInvalidArgument, "the strides ", to_string(strides),
                 " have a negative entry");
    int64_t reach = 0;
    if (numel == 0 || sizes[i] == 0) continue;
    overflow |= __builtin_mul_overflow(sizes[i] - 1, strides[i], &reach);
    overflow |= __builtin_add_overflow(last, reach, &last);
  }
  int64_t bytes = 0;
  const auto element = static_cast<int64_t>(element_size(dtype));
  overflow |= __builtin_add_overflow(last, numel == 0 ? 0 : 1, &last);
  overflow |= __builtin_mul_overflow(last, element, &bytes);
  OPYARD_CHECK(!overflow, kInvalidArgument, "sizes ", to_string(sizes), " with strides ",
               to_string(strides), " reach further than memory can be addressed");
  return numel == 0 ? 0 : bytes;
}

Dims contiguous_strides(IntList sizes) {
  Dims strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= sizes[i] > 1 ? sizes[i] : 1;
  }
  return strides;
}

std::string to_string(IntList sizes) {
  std::string text = "[";
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(sizes[i]);
  }
  return text + "]";
}

void TensorImpl::refresh() noexcept {
  numel_ = 1;
  for (const int64_t size : sizes_) numel_ *= size;
  contiguous_ = true;
  int64_t expected = 1;
  for (size_t i = sizes_.size(); i-- > 0 && numel_ > 0;) {
    if (sizes_[i] == 1) continue;
    contiguous_ &= strides_[i] == expected;
    expected *= sizes_[i];
  }
}

void TensorImpl::set_window(IntList sizes, IntList strides, int64_t offset) {
  const int64_t bytes = checked_nbytes(sizes, strides, offset, dtype_);
  OPYARD_CHECK(static_cast<size_t>(bytes) <= storage_->nbytes(), kInvalidArgument, "sizes ",
               to_string(sizes), " with strides ", to_string(strides), " at offset ", offset,
               " need ", bytes, " bytes, the storage holds ", storage_->nbytes());
  sizes_.assign(sizes.data(), sizes.size());
  strides_.assign(strides.data(), strides.size());
  offset_ = offset;
  refresh();
}

void TensorImpl::resize_contiguous(IntList sizes) {
  checked_numel(sizes);
  const Dims strides = contiguous_strides(sizes);
  const auto bytes = static_cast<size_t>(checked_nbytes(sizes, strides, offset_, dtype_));
  if (bytes > storage_->nbytes()) storage_->resize(bytes);
  set_window(sizes, strides, offset_);
}

void TensorImpl::set_autograd(TensorExtra* extra) noexcept {
  delete autograd_;
  autograd_ = extra;
}
void TensorImpl::set_wrapper(TensorExtra* extra) noexcept {
  delete wrapper_;
  wrapper_ = extra;
}

TensorImpl::~TensorImpl() {
  delete autograd_;
  delete wrapper_;
}
void TensorImpl::destroy(TensorImpl* impl) noexcept { delete impl; }

void Tensor::raise_undefined() {
  raise(Code::kInvalidArgument, "an undefined tensor was used where a tensor is needed");
}

int64_t Tensor::size(int64_t position) const {
  OPYARD_CHECK(dim() > 0, kOutOfRange, "a 0-d tensor has no dimension ", position);
  return sizes()[static_cast<size_t>(wrap_dim(position, dim()))];
}
int64_t Tensor::stride(int64_t position) const {
  OPYARD_CHECK(dim() > 0, kOutOfRange, "a 0-d tensor has no dimension ", position);
  return strides()[static_cast<size_t>(wrap_dim(position, dim()))];
}

int64_t wrap_dim(int64_t dim, int64_t ndim) {
  const int64_t range = ndim == 0 ? 1 : ndim;
  OPYARD_CHECK(dim >= -range && dim < range, kOutOfRange, "dimension ", dim,
               " is out of range; a tensor with ", ndim, " dimensions takes ", -range, " to ",
               range - 1);
  return dim < 0 ? dim + range : dim;
}

Tensor make_strided(IntList sizes, IntList strides, ScalarType dtype, Device device) {
  OPYARD_CHECK(is_valid(dtype), kInvalidArgument, "unknown dtype number ", static_cast<int>(dtype));
  const int64_t bytes = checked_nbytes(sizes, strides, 0, dtype);
  return tensor_on(make_storage(static_cast<size_t>(bytes), device), dtype, sizes, strides, 0);
}

Tensor make_tensor(IntList sizes, ScalarType dtype, Device device) {
  checked_numel(sizes);
  return make_strided(sizes, contiguous_strides(sizes), dtype, device);
}

Tensor tensor_on(Storage storage, ScalarType dtype, IntList sizes, IntList strides,
                 int64_t offset) {
  KeySet keys = dense_tensor_keys(storage->device().type);
  if (thread_state.flags & kThreadInferenceMode) {
    keys = (keys - kAutogradKeys).remove(DispatchKey::ADInplaceOrView);
  }
  auto impl = IntrusivePtr<TensorImpl>::adopt(new TensorImpl(std::move(storage), keys, dtype));
  impl->set_window(sizes, strides, offset);
  return Tensor(std::move(impl));
}

Tensor view_of(const Tensor& base, IntList sizes, IntList strides, int64_t offset) {
  auto impl =
      IntrusivePtr<TensorImpl>::adopt(new TensorImpl(base.storage(), base.key_set(), base.dtype()));
  impl->set_window(sizes, strides, offset);
  return Tensor(std::move(impl));
}

Tensor wrapped_number(const Scalar& value) {
  Tensor tensor;
  if (value.is_bool()) {
    tensor = make_tensor({}, ScalarType::kBool);
    *tensor.data<bool>() = value.to_bool();
  } else if (value.is_int()) {
    tensor = make_tensor({}, ScalarType::kInt64);
    *tensor.data<int64_t>() = value.to_int();
  } else if (value.is_double()) {
    tensor = make_tensor({}, ScalarType::kFloat64);
    *tensor.data<double>() = value.to_double();
  } else {
    tensor = make_tensor({}, ScalarType::kComplex128);
    const auto number = value.to_complex();
    std::memcpy(tensor.raw_data(), &number, sizeof(number));
  }
  tensor.unsafe_impl()->set_wrapped_number(true);
  return tensor;
}

std::string describe(const Tensor& tensor) {
  if (!tensor.defined()) return "undefined tensor";
  return str_cat(to_string(tensor.dtype()), to_string(tensor.sizes()), " on ",
                 to_string(tensor.device()));
}

}  // namespace opyard
