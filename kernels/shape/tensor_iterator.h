#pragma once

#include <cstdint>
#include <initializer_list>

#include "kernels/shape/convert_elements.h"
#include "opyard/core/tensor.h"

namespace opyard::shape {

// Walks several host tensors of one shape side by side. Operand 0 is the output. Dimensions are
// ordered so that the innermost has the smallest steps, those of size 1 are dropped, and
// neighbours that every operand crosses evenly become one: so contiguous operands are one run.
//
// What it guarantees to the loops that it calls: every address lies in the operand's window, for
// exactly numel() elements. It borrows the tensors' memory; they must outlive it. Copying is cheap;
// const members may be called by several threads at a time on disjoint ranges.
class TensorIterator {
 public:
  static constexpr int kMaxOperands = 5;
  // data[i] is the address of operand i's first element, strides[i] its step in bytes, n > 0 the
  // number of elements.
  using Loop = void (*)(void* context, char* const* data, const int64_t* strides, int64_t n);

  // One operand without a tensor: `strides` in elements, one per size.
  struct Operand {
    void* data;
    IntList strides;
    ScalarType dtype;
  };

  // `out`, and inputs that are broadcast to its shape. Raises INVALID_ARGUMENT when an input is not
  // on the host or does not broadcast, or when elements of `out` lie on each other.
  static TensorIterator elementwise(const Tensor& out, std::initializer_list<const Tensor*> inputs);

  // Operands whose windows the caller vouches for. An output may have steps of 0 (a reduction); the
  // order of dimensions is then that of the last operand.
  TensorIterator(IntList sizes, std::initializer_list<Operand> operands);

  int64_t numel() const noexcept { return numel_; }
  int dims() const noexcept { return static_cast<int>(sizes_.size()); }
  // Elements of the longest run that a loop gets in one call.
  int64_t inner_size() const noexcept { return sizes_.empty() ? 1 : sizes_[0]; }
  ScalarType dtype(int operand) const noexcept { return dtypes_[operand]; }
  // Every operand is one run without gaps.
  bool is_dense() const noexcept;

  // Lets loops see an operand as another dtype: it is converted block by block.
  void present_as(int operand, ScalarType dtype);
  // Moves an operand to another window of the same shape and steps.
  void set_data(int operand, void* data) noexcept { data_[operand] = static_cast<char*>(data); }

  // Calls the loop for elements begin … end-1 in the order of iteration.
  void for_each(int64_t begin, int64_t end, Loop loop, void* context) const;

  // The same for loop(data, strides, n).
  template <typename F>
  void for_each(int64_t begin, int64_t end, const F& loop) const {
    for_each(
        begin, end,
        [](void* context, char* const* data, const int64_t* strides, int64_t n) {
          (*static_cast<const F*>(context))(data, strides, n);
        },
        const_cast<void*>(static_cast<const void*>(&loop)));
  }

 private:
  struct Cast;

  TensorIterator() = default;
  void add(const Tensor& tensor);
  void set_sizes(IntList sizes);
  bool add_run(const Tensor& out, std::initializer_list<const Tensor*> inputs);
  void add_strides(int operand, IntList sizes, IntList strides);
  bool goes_before(size_t a, size_t b) const noexcept;
  void order_dims();
  void drop_and_merge_dims();
  void walk(int64_t begin, int64_t end, Loop loop, void* context) const;

  int operands_ = 0;
  bool order_by_last_ = false;
  uint32_t converted_ = 0;  // bit i: operand i is presented as another dtype
  int64_t numel_ = 0;
  Dims sizes_;                  // innermost first once built
  Dims strides_[kMaxOperands];  // bytes
  char* data_[kMaxOperands] = {};
  ScalarType dtypes_[kMaxOperands] = {};
  ScalarType presented_[kMaxOperands] = {};
};

}  // namespace opyard::shape
