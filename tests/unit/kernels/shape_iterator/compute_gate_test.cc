#include "kernels/shape/compute_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace opyard::shape {
namespace {

class ComputeGate : public testing::Test {
 protected:
  void TearDown() override { set_compute_threads(before_); }
  int before_ = compute_threads();
};

TEST_F(ComputeGate, GivesWhatIsFreeAndAtLeastTheCaller) {
  set_compute_threads(4);
  const ComputeAdmission first(3);
  EXPECT_EQ(first.threads(), 3);
  const ComputeAdmission second(3);
  EXPECT_EQ(second.threads(), 1);
  const ComputeAdmission third(3);
  EXPECT_EQ(third.threads(), 1);  // never waits, never zero
}

TEST_F(ComputeGate, TakesBackWhatWasGiven) {
  set_compute_threads(4);
  { const ComputeAdmission all(4); }
  const ComputeAdmission again(8);
  EXPECT_EQ(again.threads(), 4);
}

TEST_F(ComputeGate, AskersAtTheSameTimeDoNotGetTooMuch) {
  constexpr int kAskers = 4;
  set_compute_threads(8);
  std::atomic<int> extra{0};  // threads beyond each caller's own
  std::atomic<bool> too_many{false};
  std::vector<std::thread> askers;
  for (int i = 0; i < kAskers; ++i) {
    askers.emplace_back([&] {
      for (int round = 0; round < 2000; ++round) {
        const ComputeAdmission admission(6);
        const int mine = admission.threads() - 1;
        if (extra.fetch_add(mine) + mine > 7) too_many = true;
        extra.fetch_sub(mine);
      }
    });
  }
  for (std::thread& asker : askers) asker.join();
  EXPECT_FALSE(too_many);
}

}  // namespace
}  // namespace opyard::shape
