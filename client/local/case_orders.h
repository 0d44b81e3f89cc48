#pragma once

#include "client/local/case_yard.h"

namespace opyard::client {

// Registers and removes the case's kernels in many orders and checks that the stored table depends
// on the set of live registrations only: all orders up to six kernels, above that 2,000 seeded
// ones. Kernels of equal keys keep their written order (newest wins there). Does nothing for cases
// that want their written order.
void check_orders(const DispatchCase& written);

// Registers the case in its written order, and in others unless it says no; each must fail as the
// case wants, and must leave the state as it was before the failing step.
void check_refused(const DispatchCase& written);

}  // namespace opyard::client
