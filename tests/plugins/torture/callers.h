#pragma once

#include <random>
#include <vector>

#include "opyard/core/tensor.h"
#include "opyard/dispatch/dispatcher.h"
#include "tests/plugins/torture/judge.h"

namespace opyard::torture {

enum class Kind : uint8_t { kTyped, kBoxed, kSlow, kNested, kMake, kFails };

// One client thread: calls operators of all slots in all ways, keeps some results, and holds
// everything that it gets against the histories.
class Caller {
 public:
  Caller(RunState& state, uint64_t seed);
  // Until state.stop; holds nothing while the gate is closed.
  void run();

 private:
  struct Operators {
    OperatorHandle which, slow, fails, make, nested;
  };
  struct Kept {
    Tensor tensor;
    uint64_t build;
  };

  void call(size_t slot, Kind kind);
  void call_counted(size_t slot, Kind kind, uint64_t begin_ns);
  uint64_t answer(size_t slot, Kind kind, uint64_t begin_ns);
  uint64_t answer_nested(size_t slot, uint64_t begin_ns);
  uint64_t answer_made(size_t slot);
  void look_at_kept(size_t most);

  RunState& state_;
  std::mt19937_64 random_;
  const Tensor x_ = make_tensor({4}, ScalarType::kFloat32);
  std::vector<Operators> operators_;
  Judge judge_;
  std::vector<Kept> kept_;
};

}  // namespace opyard::torture
