#pragma once

#include "opyard/dispatch/dispatcher.h"

namespace opyard::bench {

using NoResult = void(const Tensor&, const Tensor&);
using TensorResult = Tensor(const Tensor&, const Tensor&);
using SevenArguments = void(const Tensor&, const Tensor&, const Scalar&, int64_t, double, bool,
                            ArrayRef<int64_t>);

// Operators that do nothing, so that what is measured is the way to them. At the Autograd keys they
// fall through, as the peer's do by default; hop2 redispatches there.
extern const OpHandle<NoResult> none2;
extern const OpHandle<TensorResult> tensor2;
extern const OpHandle<SevenArguments> mixed7;
extern const OpHandle<NoResult> hop2;

// Defines them in the global dispatcher and binds the handles. Once.
Registration register_operators();

}  // namespace opyard::bench
