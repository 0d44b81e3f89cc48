#include "opyard/runtime/budget.h"

#include <gtest/gtest.h>

#include "opyard/base/error.h"

namespace opyard::runtime {
namespace {

using Budget = IntrusivePtr<SessionBudget>;

Budget make_budget(const std::shared_ptr<Ledger>& ledger, uint64_t limit) {
  return Budget::adopt(new SessionBudget(ledger, limit));
}

Code code_of_charge(const Budget& budget, size_t bytes) {
  try {
    budget->charge(bytes);
    return Code::kOk;
  } catch (const Error& error) {
    return error.code();
  }
}

TEST(BudgetTest, SessionsOwnLimit) {
  const auto ledger = std::make_shared<Ledger>(1000);
  const Budget budget = make_budget(ledger, 100);
  EXPECT_EQ(code_of_charge(budget, 100), Code::kOk);
  EXPECT_EQ(code_of_charge(budget, 1), Code::kResourceExhausted);
  EXPECT_EQ(code_of_charge(budget, SIZE_MAX), Code::kResourceExhausted);
  budget->pay_back(40);
  EXPECT_EQ(code_of_charge(budget, 40), Code::kOk);
  EXPECT_EQ(ledger->used(), 100u);
}

TEST(BudgetTest, TheYardsCeilingStandsAboveAll) {
  const auto ledger = std::make_shared<Ledger>(150);
  const Budget first = make_budget(ledger, 100);
  const Budget second = make_budget(ledger, 100);
  EXPECT_EQ(code_of_charge(first, 100), Code::kOk);
  EXPECT_EQ(code_of_charge(second, 60), Code::kResourceExhausted);
  EXPECT_EQ(second->used(), 0u) << "what the ceiling refuses costs the session nothing";
  EXPECT_EQ(code_of_charge(second, 50), Code::kOk);
  first->pay_back(100);
  EXPECT_EQ(ledger->used(), 50u);
}

TEST(BudgetTest, AChargeIsPaidBackWhenItsOwnerGoes) {
  const Budget budget = make_budget(std::make_shared<Ledger>(1000), 100);
  {
    Charge charge(budget);
    charge.add(70);
    EXPECT_THROW(charge.add(40), Error);
    charge.pay_back(20);
    EXPECT_EQ(charge.bytes(), 50u);
    EXPECT_EQ(budget->used(), 50u);
  }
  EXPECT_EQ(budget->used(), 0u);
}

}  // namespace
}  // namespace opyard::runtime
