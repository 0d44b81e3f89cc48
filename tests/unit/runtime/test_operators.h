#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/core/tensor.h"
#include "opyard/runtime/session.h"
#include "opyard/runtime/yard.h"

namespace opyard::testing {

// Defines operators of the namespace "test" with the global dispatcher, once per process:
//   test::twice(Tensor x) -> Tensor                        2·x, float32, new
//   test::twice_(Tensor(a!) x) -> Tensor(a!)               the same in place
//   test::scale(Tensor x, Scalar by=2, *, str mode="plain") -> Tensor
//   test::refuse(Tensor x) -> Tensor                       OUT_OF_RANGE "refused on purpose"
//   test::throw_std(Tensor x) -> Tensor                    std::runtime_error
//   test::make(int elements) -> Tensor                     float32, not initialised by the kernel
//   test::pair(Tensor x) -> (Tensor, Tensor)               x and 2·x
//   test::parts(Tensor x) -> Tensor[]                      an element each
//   test::total(Tensor[] xs) -> Tensor                     sum of all elements, one element
//   test::present(Tensor?[] xs) -> int                     how many are not None
//   test::sum_ints(int[2] values) -> int
//   test::sum_floats(float[] values) -> float
//   test::numel(Tensor x) -> int
//   test::dtype_of(*, ScalarType dtype) -> ScalarType
//   test::rest(int ms) -> ()                               sleeps
//   test::draw() -> int                                    counters drawn from the session's
//   generator test::over.A(Tensor x) -> Tensor, test::over.B(int x) -> Tensor
void define_test_operators();

// A float32 tensor of one dimension.
Tensor floats(const std::vector<float>& values);
std::vector<float> floats_of(const Tensor& tensor);

// Runs `work` as a task of the session and waits for it; rethrows what it throws.
void in_session(runtime::Session& session, const std::function<void()>& work);

// A call with its operands, in few words.
runtime::Operand value(IValue value);
runtime::Operand id(runtime::Id id);
runtime::Operand ids(std::vector<runtime::Id> ids);
runtime::OpCall call(uint64_t seq, std::string_view op, std::vector<runtime::Operand> args,
                     std::vector<runtime::Id> results = {});

}  // namespace opyard::testing
