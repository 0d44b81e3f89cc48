#include "kernels/cpu/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "kernels/cpu/kernels.h"
#include "opyard/base/check.h"

namespace opyard::cpu {
namespace {

class CpuParallel : public testing::Test {
 protected:
  void SetUp() override { shape::set_compute_threads(4); }
  void TearDown() override { shape::set_compute_threads(before_); }
  int before_ = shape::compute_threads();
};

TEST_F(CpuParallel, VisitsEveryIndexOnce) {
  for (const int64_t n : {0, 1, 99, 100, 199, 200, 1001, 12345}) {
    std::vector<std::atomic<int>> visits(static_cast<size_t>(n));
    parallel_for(n, 100, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
    });
    for (const auto& visit : visits) ASSERT_EQ(visit.load(), 1) << n;
  }
}

TEST_F(CpuParallel, SmallWorkStaysOnTheCaller) {
  int calls = 0;
  parallel_for(199, 100, [&](int64_t, int64_t) { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST_F(CpuParallel, ErrorsReachTheCaller) {
  for (int round = 0; round < 20; ++round) {
    try {
      parallel_for(1000, 10, [](int64_t begin, int64_t) {
        OPYARD_CHECK(begin < 500, kOutOfRange, "piece at ", begin);
      });
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kOutOfRange);
    }
  }
  // The gate has its threads back.
  const shape::ComputeAdmission admission(4);
  EXPECT_EQ(admission.threads(), 4);
}

TEST_F(CpuParallel, RegionsInsideRegionsStaySerial) {
  std::atomic<int64_t> sum{0};
  parallel_for(1000, 100, [&](int64_t begin, int64_t end) {
    parallel_for(end - begin, 10, [&](int64_t from, int64_t to) { sum += to - from; });
  });
  EXPECT_EQ(sum.load(), 1000);
}

TEST_F(CpuParallel, CallersAtTheSameTimeShareThePool) {
  constexpr int64_t kSide = 400;
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&wrong, caller] {
      Tensor ones = make_tensor({kSide, kSide}, ScalarType::kFloat32);
      Tensor result = make_tensor({kSide, kSide}, ScalarType::kFloat32);
      Tensor total = make_tensor({}, ScalarType::kFloat32);
      fill(1, ones);
      for (int round = 0; round < 5; ++round) {
        addmm(ones, ones, ones, caller, 1, result);
        sum(result, {}, false, {}, total);
        if (*total.data<float>() != kSide * kSide * (kSide + caller)) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace opyard::cpu
