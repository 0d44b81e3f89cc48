#include <cstring>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/operands.h"
#include "opyard/dispatch/library.h"

namespace opyard::cpu {
namespace {

// Index values, each read once and judged on the value that was read.
class Positions {
 public:
  Positions(const Tensor& index, int64_t size)
      : data_(static_cast<const char*>(index.raw_data())),
        step_(index.dim() == 0 ? 0 : index.strides()[0]),
        wide_(index.dtype() == ScalarType::kInt64),
        size_(size) {
    OPYARD_CHECK(wide_ || index.dtype() == ScalarType::kInt32, kInvalidArgument,
                 "index_select needs int64 or int32 indices, got ", to_string(index.dtype()));
    OPYARD_CHECK(index.dim() <= 1, kInvalidArgument,
                 "index_select needs a 1-d index, got one of shape ", to_string(index.sizes()));
  }
  int64_t operator()(int64_t i) const {
    const int64_t value = wide_ ? load<int64_t>(i) : load<int32_t>(i);
    OPYARD_CHECK(value >= 0 && value < size_, kOutOfRange, "index ", value, " at position ", i,
                 " is out of range for a dimension of size ", size_);
    return value;
  }

 private:
  // Other threads may write to the index meanwhile: the value must not be loaded twice.
  template <typename T>
  int64_t load(int64_t i) const {
    return *reinterpret_cast<const volatile T*>(data_ +
                                                i * step_ * static_cast<int64_t>(sizeof(T)));
  }

  const char* data_;
  int64_t step_;
  bool wide_;
  int64_t size_;
};

struct Slices {
  char* to;
  const char* from;
  int64_t to_step;  // bytes from one entry of the dimension to the next
  int64_t from_step;
  int64_t count;  // how many are taken
};

// Both sides have their slices in one run of bytes.
void copy_runs(const Slices& slices, const Positions& positions, size_t bytes) {
  const auto grain = std::max<int64_t>(1, kCheapGrain * 4 / static_cast<int64_t>(bytes));
  parallel_for(slices.count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::memcpy(slices.to + i * slices.to_step, slices.from + positions(i) * slices.from_step,
                  bytes);
    }
  });
}

void copy_slices(const Slices& slices, const Positions& positions, const TensorIterator& shape) {
  const shape::ConvertFn convert = shape::convert_function(shape.dtype(0), shape.dtype(1));
  const auto loop = [convert](char* const* data, const int64_t* strides, int64_t n) {
    convert(data[0], strides[0], data[1], strides[1], n);
  };
  const int64_t grain = std::max<int64_t>(1, kCheapGrain / std::max<int64_t>(1, shape.numel()));
  parallel_for(slices.count, grain, [&](int64_t begin, int64_t end) {
    TensorIterator it = shape;
    for (int64_t i = begin; i < end; ++i) {
      it.set_data(0, slices.to + i * slices.to_step);
      it.set_data(1, const_cast<char*>(slices.from + positions(i) * slices.from_step));
      it.for_each(0, it.numel(), loop);
    }
  });
}

}  // namespace

void index_select(const Tensor& self, int64_t dim, const Tensor& index, Tensor& out) {
  check_on_host(self, "the input");
  check_on_host(index, "the index");
  check_on_host(out, "the output");
  const auto axis = static_cast<size_t>(wrap_dim(dim, self.dim()));
  const bool number = self.dim() == 0;
  const int64_t size = number ? 1 : self.sizes()[axis];
  const Positions positions(index, size);
  Dims wanted(self.sizes());
  if (!number) wanted[axis] = index.numel();
  OPYARD_CHECK(!number || index.numel() == 1, kInvalidArgument,
               "index_select takes one index for a 0-d tensor, got ", index.numel());
  check_shape(out, wanted);
  Dims slice(self.sizes());
  if (!number) slice[axis] = 1;
  TensorIterator shape(slice, {{out.raw_data(), out.strides(), out.dtype()},
                               {self.raw_data(), self.strides(), self.dtype()}});
  const auto step_of = [&](const Tensor& t) {
    return number ? 0 : t.strides()[axis] * static_cast<int64_t>(element_size(t.dtype()));
  };
  const Slices slices = {static_cast<char*>(out.raw_data()),
                         static_cast<const char*>(self.raw_data()), step_of(out), step_of(self),
                         index.numel()};
  if (shape.numel() == 0) {
    // No element to copy, but a wrong index is wrong all the same.
    for (int64_t i = 0; i < slices.count; ++i) positions(i);
    return;
  }
  const bool one_run = out.dtype() == self.dtype() && shape.is_dense();
  if (one_run) {
    copy_runs(slices, positions, static_cast<size_t>(shape.numel()) * element_size(self.dtype()));
  } else {
    copy_slices(slices, positions, shape);
  }
}

OPYARD_LIBRARY_IMPL(kernel, CPU, m) { m.impl("index_select", OPYARD_FN(index_select)); }

}  // namespace opyard::cpu
