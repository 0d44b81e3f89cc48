#pragma once

#include <cstdint>

#include "opyard/base/intrusive_ptr.h"
#include "opyard/base/small_vector.h"
#include "opyard/core/dispatch_key_set.h"
#include "opyard/core/scalar_type.h"
#include "opyard/core/storage.h"

namespace opyard {

using Dims = SmallVector<int64_t, 5>;
using IntList = ArrayRef<int64_t>;

// Most dimensions that a tensor may have.
inline constexpr size_t kMaxDims = 64;

// Data that a concern hangs on a tensor (a gradient's node, a wrapper's inner value). The vtable of
// every subclass lives in libopyard.
class TensorExtra {
 public:
  virtual ~TensorExtra();
};

// The metadata of one tensor: a strided window on a storage, and its dispatch keys. Counting is
// safe from any thread; the rest may be read by several threads at a time, or changed by one.
class TensorImpl final : public RefCounted {
 public:
  TensorImpl(Storage storage, KeySet keys, ScalarType dtype) noexcept
      : keys_(keys), storage_(std::move(storage)), dtype_(dtype) {}

  KeySet key_set() const noexcept { return keys_; }
  void set_key_set(KeySet keys) noexcept { keys_ = keys; }
  ScalarType dtype() const noexcept { return dtype_; }
  const Storage& storage() const noexcept { return storage_; }
  Device device() const noexcept { return storage_->device(); }
  IntList sizes() const noexcept { return sizes_; }
  IntList strides() const noexcept { return strides_; }
  int64_t storage_offset() const noexcept { return offset_; }
  int64_t numel() const noexcept { return numel_; }
  // Row-major without gaps; also true for zero and one elements.
  bool is_contiguous() const noexcept { return contiguous_; }
  // A 0-d tensor that stands for a bare number: it yields to other operands in type promotion.
  bool is_wrapped_number() const noexcept { return wrapped_number_; }
  void set_wrapped_number(bool value) noexcept { wrapped_number_ = value; }

  // Address of the first element; null for meta and empty tensors.
  void* data() const noexcept {
    char* base = static_cast<char*>(storage_->data());
    return base && numel_ > 0 ? base + offset_ * static_cast<int64_t>(element_bytes_) : nullptr;
  }

  // Sets the window. Raises INVALID_ARGUMENT for a negative size or stride, more than 64
  // dimensions, an overflow, or a window that leaves the storage.
  void set_window(IntList sizes, IntList strides, int64_t offset);
  // Row-major strides at the present offset, growing the storage when it is too small.
  void resize_contiguous(IntList sizes);

  TensorExtra* autograd() const noexcept { return autograd_; }
  void set_autograd(TensorExtra* extra) noexcept;
  TensorExtra* wrapper() const noexcept { return wrapper_; }
  void set_wrapper(TensorExtra* extra) noexcept;

  static void destroy(TensorImpl* impl) noexcept;

 private:
  friend class Tensor;
  ~TensorImpl();
  void refresh() noexcept;

  KeySet keys_;
  Storage storage_;
  Dims sizes_;
  Dims strides_;
  int64_t offset_ = 0;
  int64_t numel_ = 0;
  ScalarType dtype_;
  uint8_t element_bytes_ = static_cast<uint8_t>(element_size(dtype_));
  bool contiguous_ = true;
  bool wrapped_number_ = false;
  TensorExtra* autograd_ = nullptr;  // owned
  TensorExtra* wrapper_ = nullptr;   // owned
};

// Product of sizes; raises INVALID_ARGUMENT for a negative size, too many dimensions or overflow.
int64_t checked_numel(IntList sizes);
// Bytes that a window touches from the start of its storage; the same errors.
int64_t checked_nbytes(IntList sizes, IntList strides, int64_t offset, ScalarType dtype);
Dims contiguous_strides(IntList sizes);
// "[2, 3]"
std::string to_string(IntList sizes);

}  // namespace opyard
