#include "opyard/base/small_vector.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace opyard {
namespace {

using Small = SmallVector<int64_t, 3>;

TEST(SmallVector, AgreesWithStdVectorUnderRandomOperations) {
  std::mt19937 random(20240501);
  Small small;
  std::vector<int64_t> model;
  for (int step = 0; step < 20000; ++step) {
    const int64_t value = static_cast<int64_t>(random());
    switch (random() % 6) {
      case 0:
      case 1:
        small.push_back(value);
        model.push_back(value);
        break;
      case 2:
        if (!model.empty()) {
          const size_t at = random() % model.size();
          small.erase(at);
          model.erase(model.begin() + static_cast<long>(at));
        }
        break;
      case 3: {
        const size_t at = random() % (model.size() + 1);
        small.insert(at, value);
        model.insert(model.begin() + static_cast<long>(at), value);
        break;
      }
      case 4: {
        Small copy = small;
        small = std::move(copy);
        break;
      }
      default:
        if (model.size() > 20) {
          small.resize(2);
          model.resize(2);
        }
    }
    ASSERT_EQ(ArrayRef<int64_t>(small), ArrayRef<int64_t>(model)) << "step " << step;
  }
}

TEST(SmallVector, MovesLeaveAnEmptyVector) {
  Small from{1, 2, 3, 4, 5};
  const Small to = std::move(from);
  EXPECT_EQ(to.size(), 5u);
  EXPECT_EQ(from.size(), 0u);  // NOLINT: the state after a move is part of the contract
}

}  // namespace
}  // namespace opyard
