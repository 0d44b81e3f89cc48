#pragma once

#include <optional>

#include "opyard/core/generator.h"
#include "opyard/core/tensor.h"

// The kernels of the CPU pack: what is registered at CPU in the namespace `kernel`. Each takes the
// arguments of its operator in the schema's order and writes into `out`, whose shape and dtype the
// generated wrapper has settled; strides may be anything. Inputs may have any dtype that has
// kernels, any strides, and are not broadcast yet. All raise INVALID_ARGUMENT for operands that do
// not fit, and UNIMPLEMENTED for a dtype without kernels.
namespace opyard::cpu {

void add(const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out);
void sub(const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out);
void mul(const Tensor& self, const Tensor& other, Tensor& out);
void div(const Tensor& self, const Tensor& other, Tensor& out);

void neg(const Tensor& self, Tensor& out);
void relu(const Tensor& self, Tensor& out);
void exp(const Tensor& self, Tensor& out);
void log(const Tensor& self, Tensor& out);
void sqrt(const Tensor& self, Tensor& out);
void tanh(const Tensor& self, Tensor& out);
void sigmoid(const Tensor& self, Tensor& out);

void eq(const Tensor& self, const Tensor& other, Tensor& out);
void ne(const Tensor& self, const Tensor& other, Tensor& out);
void gt(const Tensor& self, const Tensor& other, Tensor& out);
void lt(const Tensor& self, const Tensor& other, Tensor& out);
void ge(const Tensor& self, const Tensor& other, Tensor& out);
void le(const Tensor& self, const Tensor& other, Tensor& out);
void where(const Tensor& condition, const Tensor& self, const Tensor& other, Tensor& out);

void sum(const Tensor& self, std::optional<IntList> dim, bool keepdim,
         std::optional<ScalarType> dtype, Tensor& out);
void mean(const Tensor& self, std::optional<IntList> dim, bool keepdim,
          std::optional<ScalarType> dtype, Tensor& out);
void amax(const Tensor& self, IntList dim, bool keepdim, Tensor& out);
void argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim, Tensor& out);
void softmax(const Tensor& self, int64_t dim, bool half_to_float, Tensor& out);

void mm(const Tensor& self, const Tensor& mat2, Tensor& out);
void addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
           const Scalar& alpha, Tensor& out);

void copy(const Tensor& src, bool non_blocking, Tensor& out);
void fill(const Scalar& value, Tensor& out);
Scalar local_scalar_dense(const Tensor& self);
void cat(TensorList tensors, int64_t dim, Tensor& out);
// Checks every index value as it loads it: OUT_OF_RANGE names value, position and size.
void index_select(const Tensor& self, int64_t dim, const Tensor& index, Tensor& out);

void arange(const Scalar& start, const Scalar& end, const Scalar& step, Tensor& out);
void uniform(double from, double to, const IntrusivePtr<Generator>& generator, Tensor& out);
void normal(double mean, double std, const IntrusivePtr<Generator>& generator, Tensor& out);

}  // namespace opyard::cpu
