#include <algorithm>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/operands.h"
#include "kernels/shape/layout.h"
#include "opyard/dispatch/library.h"

namespace opyard::cpu {
namespace {

// Copies operand 1 to operand 0, converting.
void copy_elements(const TensorIterator& it) {
  const shape::ConvertFn convert = shape::convert_function(it.dtype(0), it.dtype(1));
  run(it, kCheapGrain, [convert](char* const* data, const int64_t* strides, int64_t n) {
    convert(data[0], strides[0], data[1], strides[1], n);
  });
}

bool same_window(const Tensor& a, const Tensor& b) {
  return a.raw_data() == b.raw_data() && a.dtype() == b.dtype() && a.sizes() == b.sizes() &&
         a.strides() == b.strides();
}

}  // namespace

void copy(const Tensor& src, bool, Tensor& out) {
  auto it = TensorIterator::elementwise(out, {&src});
  if (shape::overlap(src, out) == shape::Overlap::kNone) {
    copy_elements(it);
  } else if (!same_window(src, out)) {
    // Reading what was just written would be wrong: read everything first.
    Tensor before = make_tensor(src.sizes(), src.dtype());
    copy_elements(TensorIterator::elementwise(before, {&src}));
    copy_elements(TensorIterator::elementwise(out, {&before}));
  }
}

void fill(const Scalar& value, Tensor& out) {
  auto it = TensorIterator::elementwise(out, {});
  visit_dtype(out.dtype(), "fill", [&]<typename T>(std::type_identity<T>) {
    const T number = scalar_as<T>(value);
    run(it, kCheapGrain, [number](char* const* data, const int64_t* strides, int64_t n) {
      if (strides[0] == static_cast<int64_t>(sizeof(T))) {
        std::fill_n(reinterpret_cast<T*>(data[0]), n, number);
        return;
      }
      for (int64_t i = 0; i < n; ++i) at<T>(data[0], i * strides[0]) = number;
    });
  });
}

Scalar local_scalar_dense(const Tensor& self) {
  check_on_host(self, "the tensor");
  OPYARD_CHECK(self.numel() == 1, kInvalidArgument, "a tensor of shape ", to_string(self.sizes()),
               " has ", self.numel(), " elements, only one with a single element is a number");
  return visit_dtype(self.dtype(), "_local_scalar_dense",
                     [&]<typename T>(std::type_identity<T>) { return Scalar(*self.data<T>()); });
}

void cat(TensorList tensors, int64_t dim, Tensor& out) {
  dim = wrap_dim(dim, out.dim());
  check_on_host(out, "the output");
  const auto axis = static_cast<size_t>(dim);
  int64_t done = 0;
  for (const Tensor& tensor : tensors) {
    check_on_host(tensor, "an input");
    if (tensor.dim() == 1 && tensor.numel() == 0) continue;
    OPYARD_CHECK(tensor.dim() == out.dim() && out.dim() > 0, kInvalidArgument,
                 "cat was given a tensor with ", tensor.dim(), " dimensions, the output has ",
                 out.dim());
    Dims window(out.sizes());
    window[axis] = tensor.sizes()[axis];
    OPYARD_CHECK(IntList(window) == tensor.sizes() && window[axis] <= out.sizes()[axis] - done,
                 kInvalidArgument, "cat cannot put a tensor of shape ", to_string(tensor.sizes()),
                 " at ", done, " of dimension ", dim, " of an output of shape ",
                 to_string(out.sizes()));
    Tensor target =
        view_of(out, window, out.strides(), out.storage_offset() + done * out.strides()[axis]);
    copy(tensor, false, target);
    done += window[axis];
  }
  OPYARD_CHECK(out.numel() == 0 || done == out.sizes()[axis], kInvalidArgument, "cat has ", done,
               " entries for the ", out.sizes()[axis], " of the output");
}

OPYARD_LIBRARY_IMPL(kernel, CPU, m) {
  m.impl("copy", OPYARD_FN(copy));
  m.impl("fill.Scalar", OPYARD_FN(fill));
  m.impl("_local_scalar_dense", OPYARD_FN(local_scalar_dense));
  m.impl("cat", OPYARD_FN(cat));
}

}  // namespace opyard::cpu
