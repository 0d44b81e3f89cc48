// A kernel pack with typed kernels, whose results say which build of it they come from.
#include <chrono>
#include <stop_token>
#include <thread>
#include <vector>

#include "opyard/base/check.h"
#include "opyard/dispatch/dispatcher.h"
#include "plugins/sdk/opyard_sdk.h"
#include "tests/plugins/torture/stamp.h"

namespace {

using opyard::Dispatcher;
using opyard::OperatorHandle;
using opyard::Tensor;

[[gnu::used]] volatile torture_stamp stamp = {TORTURE_MARK, 0, TORTURE_SOUND, 0};

std::jthread* own_thread = nullptr;

int64_t number() { return static_cast<int64_t>(stamp.number); }
void rest(int64_t us) { std::this_thread::sleep_for(std::chrono::microseconds(us)); }

void start(const opyard_host&) {
  OPYARD_CHECK(stamp.fault != TORTURE_INIT_FAILS, kUnavailable, "its init was told to fail");
  if (stamp.fault == TORTURE_SLOW_INIT) rest(int64_t{stamp.slow_ms} * 1000);
  if (stamp.fault == TORTURE_THREAD) {
    own_thread = new std::jthread([](const std::stop_token& stop) {
      while (!stop.stop_requested()) rest(1000);
    });
  }
}
void end_thread() noexcept {
  delete own_thread;
  own_thread = nullptr;
}
void quiesce(uint64_t) {
  if (stamp.fault == TORTURE_SLOW_END) rest(int64_t{stamp.slow_ms} * 1000);
  end_thread();
}

int64_t which(const Tensor&) { return number(); }

int64_t slow(const Tensor&, int64_t us) {
  rest(us);
  return number();
}

int64_t fails(const Tensor&) {
  opyard::raise(opyard::Code::kAborted, opyard::str_cat("told to fail by build ", number()));
}

Tensor make(const Tensor&) {
  const Tensor made = opyard::make_tensor({16}, opyard::ScalarType::kInt64);
  for (int i = 0; i < 16; ++i) made.data<int64_t>()[i] = number();
  return made;
}

// What an operator says, by its name; -1 when there is none.
int64_t ask(const char* op, const Tensor& x) {
  const auto found = Dispatcher::global().find(op);
  return found ? Dispatcher::global().call<int64_t, const Tensor&>(*found, x) : -1;
}

// Who we are, who we are by a nested call, and who the neighbour is; then the same after a while.
std::vector<int64_t> nested(const Tensor& x, int64_t us) {
  std::vector<int64_t> seen{number()};
  for (int i = 0; i < 2; ++i) {
    if (i) rest(us);
    seen.push_back(ask(TORTURE_NAME "::which", x));
    seen.push_back(ask(TORTURE_NEIGHBOUR "::which", x));
  }
  return seen;
}

// The names are macros, which OPYARD_LIBRARY itself would take by their own names.
#define LIBRARY_OF(space, m) OPYARD_LIBRARY(space, m)
LIBRARY_OF(TORTURE_SPACE, m) {
  m.def("which(Tensor x) -> int", OPYARD_FN(which));
  m.def("slow(Tensor x, int us) -> int", OPYARD_FN(slow));
  m.def("fails(Tensor x) -> int", OPYARD_FN(fails));
  m.def("make(Tensor x) -> Tensor", OPYARD_FN(make));
  m.def("nested(Tensor x, int us) -> int[]", OPYARD_FN(nested));
  if (stamp.fault == TORTURE_LATE_FAILURE) m.def("which(Tensor x) -> int");
}

}  // namespace

OPYARD_PLUGIN(TORTURE_NAME, "1.0.0", .start = &start, .quiesce = &quiesce, .stop = &end_thread);
