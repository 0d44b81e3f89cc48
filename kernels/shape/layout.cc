#include "kernels/shape/layout.h"

#include <algorithm>

namespace opyard::shape {

template <typename Int>
bool is_dense(ArrayRef<Int> sizes, ArrayRef<Int> strides) {
  SmallVector<uint8_t, 8> order(sizes.size());
  size_t count = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return true;
    if (!(sizes[i] == 1)) order[count++] = static_cast<uint8_t>(i);
  }
  std::sort(order.begin(), order.begin() + count,
            [&](uint8_t a, uint8_t b) { return strides[a] < strides[b]; });
  Int expected = 1;
  for (size_t i = 0; i < count; ++i) {
    if (!(strides[order[i]] == expected)) return false;
    expected = expected * sizes[order[i]];
  }
  return true;
}
template bool is_dense(ArrayRef<int64_t>, ArrayRef<int64_t>);

bool overlaps_itself(const Tensor& tensor) noexcept {
  const IntList sizes = tensor.sizes();
  const IntList strides = tensor.strides();
  if (tensor.is_contiguous()) return false;
  // Sorted by stride, each dimension must step over all that the smaller ones reach.
  SmallVector<uint8_t, 8> order(sizes.size());
  size_t count = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > 1) order[count++] = static_cast<uint8_t>(i);
  }
  std::sort(order.begin(), order.begin() + count,
            [&](uint8_t a, uint8_t b) { return strides[a] < strides[b]; });
  int64_t reach = 0;
  for (size_t i = 0; i < count; ++i) {
    if (strides[order[i]] <= reach) return true;
    reach += (sizes[order[i]] - 1) * strides[order[i]];
  }
  return false;
}

namespace {

struct Range {
  int64_t begin;
  int64_t end;
};

// Bytes from the start of the storage.
Range bytes_of(const Tensor& tensor) noexcept {
  const auto element = static_cast<int64_t>(element_size(tensor.dtype()));
  int64_t last = tensor.storage_offset();
  for (size_t i = 0; i < tensor.sizes().size(); ++i) {
    last += (tensor.sizes()[i] - 1) * tensor.strides()[i];
  }
  return {tensor.storage_offset() * element, (last + 1) * element};
}

}  // namespace

Overlap overlap(const Tensor& a, const Tensor& b) noexcept {
  if (a.is_same(b)) return Overlap::kFull;
  if (a.numel() == 0 || b.numel() == 0 || !(a.storage() == b.storage())) return Overlap::kNone;
  const Range range_a = bytes_of(a);
  const Range range_b = bytes_of(b);
  if (range_a.end <= range_b.begin || range_b.end <= range_a.begin) return Overlap::kNone;
  if (a.storage_offset() == b.storage_offset() && a.dtype() == b.dtype() &&
      a.sizes() == b.sizes() && a.strides() == b.strides()) {
    return Overlap::kFull;
  }
  const bool dense = is_dense(a.sizes(), a.strides()) && is_dense(b.sizes(), b.strides());
  return dense ? Overlap::kPartial : Overlap::kUnknown;
}

}  // namespace opyard::shape
