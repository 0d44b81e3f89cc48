#include "opyard/runtime/tensor_bytes.h"

#include <algorithm>
#include <cstring>

#include "opyard/base/check.h"
#include "opyard/core/scalar_type.h"
#include "opyard/ops/_to_copy.h"

namespace opyard::runtime {
namespace {

// Walks a strided tensor in row-major order, a run of the innermost dimension at a time.
class RowMajorReader {
 public:
  RowMajorReader(const Tensor& tensor, uint64_t first_element)
      : tensor_(tensor),
        element_(element_size(tensor.dtype())),
        base_(static_cast<const char*>(tensor.raw_data())),
        index_(tensor.sizes().size(), 0) {
    for (size_t d = index_.size(); d-- > 0;) {
      const auto size = static_cast<uint64_t>(tensor.sizes()[d]);
      index_[d] = static_cast<int64_t>(first_element % size);
      first_element /= size;
    }
  }

  void read(uint64_t elements, char* out) {
    while (elements > 0) {
      const size_t last = index_.size() - 1;
      const auto left = static_cast<uint64_t>(tensor_.sizes()[last] - index_[last]);
      const uint64_t run = std::min(left, elements);
      copy_run(run, out);
      out += run * element_;
      elements -= run;
      index_[last] += static_cast<int64_t>(run);
      carry();
    }
  }

 private:
  void copy_run(uint64_t run, char* out) const {
    int64_t offset = 0;
    for (size_t d = 0; d < index_.size(); ++d) offset += index_[d] * tensor_.strides()[d];
    const char* from = base_ + offset * static_cast<int64_t>(element_);
    const int64_t step = tensor_.strides()[index_.size() - 1] * static_cast<int64_t>(element_);
    if (step == static_cast<int64_t>(element_)) {
      std::memcpy(out, from, run * element_);
      return;
    }
    for (uint64_t i = 0; i < run; ++i) {
      std::memcpy(out, from, element_);
      from += step;
      out += element_;
    }
  }

  void carry() {
    for (size_t d = index_.size() - 1; d > 0 && index_[d] == tensor_.sizes()[d]; --d) {
      index_[d] = 0;
      ++index_[d - 1];
    }
  }

  const Tensor& tensor_;
  const size_t element_;
  const char* base_;
  std::vector<int64_t> index_;
};

}  // namespace

uint64_t contiguous_bytes(const Tensor& tensor) { return tensor.nbytes(); }

Tensor on_host(const Tensor& tensor) {
  if (tensor.device().is_cpu() || tensor.device().is_meta()) return tensor;
  return ops::_to_copy(tensor, std::nullopt, std::nullopt, Device(Backend::kCPU));
}

void read_row_major(const Tensor& tensor, uint64_t offset, uint64_t length, void* out) {
  const uint64_t total = contiguous_bytes(tensor);
  OPYARD_CHECK(offset <= total && length <= total - offset, kOutOfRange, "the bytes ", offset,
               " to ", offset, " + ", length, " leave a tensor of ", total, " bytes");
  OPYARD_CHECK(tensor.device().is_cpu(), kFailedPrecondition, "the tensor is on '",
               to_string(tensor.device()), "'; copy it to cpu to read its elements");
  if (length == 0) return;
  char* to = static_cast<char*>(out);
  if (tensor.is_contiguous()) {
    std::memcpy(to, static_cast<const char*>(tensor.raw_data()) + offset, length);
    return;
  }
  // A range may begin and end inside an element: those two are cut out of a copy of theirs.
  const uint64_t element = element_size(tensor.dtype());
  char whole[16];
  uint64_t at = offset / element;
  const uint64_t head = offset % element;
  if (head != 0 || length < element) {
    RowMajorReader(tensor, at).read(1, whole);
    const uint64_t take = std::min(element - head, length);
    std::memcpy(to, whole + head, take);
    to += take;
    length -= take;
    ++at;
    if (length == 0) return;
    if (length < element) return read_row_major(tensor, at * element, length, to);
  }
  const uint64_t body = length / element;
  RowMajorReader reader(tensor, at);
  reader.read(body, to);
  to += body * element;
  length -= body * element;
  if (length == 0) return;
  RowMajorReader(tensor, at + body).read(1, whole);
  std::memcpy(to, whole, length);
}

}  // namespace opyard::runtime
