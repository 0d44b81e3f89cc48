#include "kernels/shape/tensor_iterator.h"

#include <algorithm>

#include "opyard/base/check.h"

namespace opyard::shape {
namespace {

constexpr int64_t kBlock = 512;  // elements that are converted at a time

int64_t bytes_of(ScalarType dtype) { return static_cast<int64_t>(element_size(dtype)); }

void check_host(const Tensor& tensor, int operand) {
  OPYARD_CHECK(tensor.device().is_cpu(), kInvalidArgument, operand == 0 ? "the output" : "an input",
               " is on '", to_string(tensor.device()), "', a CPU kernel needs it on 'cpu'");
}

void check_distinct(const Tensor& out) {
  for (size_t i = 0; i < out.sizes().size(); ++i) {
    OPYARD_CHECK(out.sizes()[i] < 2 || out.strides()[i] != 0, kInvalidArgument,
                 "the output has several elements in one place (sizes ", to_string(out.sizes()),
                 ", strides ", to_string(out.strides()), "); clone it before writing to it");
  }
}

[[noreturn]] void raise_broadcast(IntList from, IntList to) {
  raise(Code::kInvalidArgument,
        str_cat("an input of shape ", to_string(from), " cannot be broadcast to ", to_string(to)));
}

}  // namespace

void TensorIterator::add(const Tensor& tensor) {
  check_host(tensor, operands_);
  OPYARD_CHECK(operands_ < kMaxOperands, kInternal, "an iterator takes at most ", kMaxOperands,
               " operands");
  data_[operands_] = static_cast<char*>(tensor.raw_data());
  dtypes_[operands_] = presented_[operands_] = tensor.dtype();
  ++operands_;
}

// The usual case: all operands are contiguous and of one shape, or have a single element.
bool TensorIterator::add_run(const Tensor& out, std::initializer_list<const Tensor*> inputs) {
  if (!out.is_contiguous()) return false;
  for (const Tensor* input : inputs) {
    const bool same = input->is_contiguous() && input->sizes() == out.sizes();
    if (!same && (input->numel() != 1 || input->dim() > out.dim())) return false;
  }
  sizes_ = {numel_};
  strides_[0] = {bytes_of(out.dtype())};
  int operand = 0;
  for (const Tensor* input : inputs) {
    strides_[++operand] = {input->numel() == 1 && numel_ != 1 ? 0 : bytes_of(input->dtype())};
  }
  return true;
}

TensorIterator TensorIterator::elementwise(const Tensor& out,
                                           std::initializer_list<const Tensor*> inputs) {
  TensorIterator it;
  it.numel_ = out.numel();
  it.add(out);
  for (const Tensor* input : inputs) it.add(*input);
  if (it.add_run(out, inputs)) return it;
  check_distinct(out);
  it.sizes_ = Dims(out.sizes());
  it.add_strides(0, out.sizes(), out.strides());
  int operand = 0;
  for (const Tensor* input : inputs) it.add_strides(++operand, input->sizes(), input->strides());
  it.order_dims();
  it.drop_and_merge_dims();
  return it;
}

TensorIterator::TensorIterator(IntList sizes, std::initializer_list<Operand> operands)
    : order_by_last_(true), numel_(checked_numel(sizes)), sizes_(sizes) {
  for (const Operand& operand : operands) {
    OPYARD_CHECK(operands_ < kMaxOperands && operand.strides.size() == sizes.size(), kInternal,
                 "an iterator was given operands that do not fit");
    data_[operands_] = static_cast<char*>(operand.data);
    dtypes_[operands_] = presented_[operands_] = operand.dtype;
    add_strides(operands_++, sizes, operand.strides);
  }
  order_dims();
  drop_and_merge_dims();
}

// Steps of an operand along the dimensions of the iteration, outermost first; 0 where it is
// broadcast.
void TensorIterator::add_strides(int operand, IntList sizes, IntList strides) {
  if (sizes.size() > sizes_.size()) raise_broadcast(sizes, sizes_);
  const size_t missing = sizes_.size() - sizes.size();
  strides_[operand] = Dims(sizes_.size(), 0);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != sizes_[missing + i]) {
      if (sizes[i] != 1) raise_broadcast(sizes, sizes_);
      continue;
    }
    strides_[operand][missing + i] = strides[i] * bytes_of(dtypes_[operand]);
  }
}

bool TensorIterator::goes_before(size_t a, size_t b) const noexcept {
  for (int i = 0; i < operands_; ++i) {
    const int operand = order_by_last_ ? operands_ - 1 - i : i;
    const int64_t step_a = strides_[operand][a];
    const int64_t step_b = strides_[operand][b];
    if (step_a != 0 && step_b != 0 && step_a != step_b) return step_a < step_b;
  }
  return a > b;
}

void TensorIterator::order_dims() {
  const size_t n = sizes_.size();
  SmallVector<size_t, 8> order;
  for (size_t dim = n; dim-- > 0;) {
    if (sizes_[dim] == 1) continue;
    order.push_back(dim);
    for (size_t i = order.size() - 1; i > 0 && goes_before(order[i], order[i - 1]); --i) {
      std::swap(order[i], order[i - 1]);
    }
  }
  const auto reorder = [&order](Dims& values) {
    const Dims old = values;
    values.resize(order.size());
    for (size_t i = 0; i < order.size(); ++i) values[i] = old[order[i]];
  };
  reorder(sizes_);
  for (int operand = 0; operand < operands_; ++operand) reorder(strides_[operand]);
}

void TensorIterator::drop_and_merge_dims() {
  size_t kept = 0;
  for (size_t dim = 1; dim < sizes_.size(); ++dim) {
    bool even = true;
    for (int i = 0; i < operands_; ++i) {
      even &= strides_[i][dim] == strides_[i][kept] * sizes_[kept];
    }
    if (even) {
      sizes_[kept] *= sizes_[dim];
      continue;
    }
    ++kept;
    sizes_[kept] = sizes_[dim];
    for (int i = 0; i < operands_; ++i) strides_[i][kept] = strides_[i][dim];
  }
  if (sizes_.empty()) return;
  sizes_.resize(kept + 1);
  for (int i = 0; i < operands_; ++i) strides_[i].resize(kept + 1);
}

bool TensorIterator::is_dense() const noexcept {
  bool dense = sizes_.size() <= 1;
  for (int i = 0; dense && i < operands_ && !sizes_.empty(); ++i) {
    dense = strides_[i][0] == bytes_of(dtypes_[i]);
  }
  return dense;
}

void TensorIterator::present_as(int operand, ScalarType dtype) {
  presented_[operand] = dtype;
  const uint32_t bit = 1u << operand;
  converted_ = dtype == dtypes_[operand] ? converted_ & ~bit : converted_ | bit;
}

void TensorIterator::walk(int64_t begin, int64_t end, Loop loop, void* context) const {
  const size_t n_dims = sizes_.size();
  if (begin >= end) return;
  char* data[kMaxOperands];
  int64_t steps[kMaxOperands];
  Dims at(n_dims, 0);
  int64_t rest = begin;
  for (size_t dim = 0; dim < n_dims; ++dim) {
    at[dim] = rest % sizes_[dim];
    rest /= sizes_[dim];
  }
  for (int i = 0; i < operands_; ++i) {
    data[i] = data_[i];
    steps[i] = n_dims == 0 ? 0 : strides_[i][0];
    for (size_t dim = 0; dim < n_dims; ++dim) data[i] += at[dim] * strides_[i][dim];
  }
  const int64_t inner = inner_size();
  for (int64_t done = begin; done < end;) {
    const int64_t n = std::min(n_dims == 0 ? 1 : inner - at[0], end - done);
    loop(context, data, steps, n);
    done += n;
    if (done >= end) return;
    // The run ended at the innermost dimension: one step along the next, with carries.
    for (int i = 0; i < operands_; ++i) data[i] -= at[0] * steps[i];
    at[0] = 0;
    for (size_t dim = 1; dim < n_dims; ++dim) {
      for (int i = 0; i < operands_; ++i) data[i] += strides_[i][dim];
      if (++at[dim] < sizes_[dim]) break;
      for (int i = 0; i < operands_; ++i) data[i] -= strides_[i][dim] * sizes_[dim];
      at[dim] = 0;
    }
  }
}

// Between the walk and a loop that wants other dtypes than the operands have.
struct TensorIterator::Cast {
  const TensorIterator* it;
  Loop loop;
  void* context;
  ConvertFn convert[kMaxOperands];
  alignas(64) char buffer[kMaxOperands][kBlock * 8];

  static void run(void* self, char* const* data, const int64_t* strides, int64_t n) {
    auto& cast = *static_cast<Cast*>(self);
    for (int64_t start = 0; start < n; start += kBlock) {
      cast.block(data, strides, start, std::min(kBlock, n - start));
    }
  }

  void block(char* const* data, const int64_t* strides, int64_t start, int64_t n) {
    char* seen[kMaxOperands];
    int64_t steps[kMaxOperands];
    for (int i = 0; i < it->operands_; ++i) {
      seen[i] = data[i] + start * strides[i];
      steps[i] = strides[i];
      if (!convert[i]) continue;
      const char* from = seen[i];
      seen[i] = buffer[i];
      steps[i] = bytes_of(it->presented_[i]);
      if (i == 0) continue;
      if (strides[i] == 0) steps[i] = 0;
      convert[i](seen[i], bytes_of(it->presented_[i]), from, strides[i], strides[i] == 0 ? 1 : n);
    }
    loop(context, seen, steps, n);
    if (convert[0]) convert[0](data[0] + start * strides[0], strides[0], seen[0], steps[0], n);
  }
};

void TensorIterator::for_each(int64_t begin, int64_t end, Loop loop, void* context) const {
  end = std::min(end, numel_);
  if (converted_ == 0) {
    walk(begin, end, loop, context);
    return;
  }
  Cast cast;
  cast.it = this;
  cast.loop = loop;
  cast.context = context;
  for (int i = 0; i < operands_; ++i) {
    const bool needed = (converted_ >> i & 1) != 0;
    cast.convert[i] = !needed  ? nullptr
                      : i == 0 ? convert_function(dtypes_[0], presented_[0])
                               : convert_function(presented_[i], dtypes_[i]);
  }
  walk(begin, end, &Cast::run, &cast);
}

}  // namespace opyard::shape
