// The CPU pack brings the kernels that the entries name, and no others.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "kernels/expected.h"
#include "opyard/dispatch/dispatcher.h"
#include "opyard/runtime/yard.h"

namespace opyard {
namespace {

std::set<std::string> ops_with_cpu_kernels() {
  const Dispatcher& dispatcher = Dispatcher::global();
  std::set<std::string> names;
  for (const std::string& name : dispatcher.list("kernel::")) {
    const std::vector<TableRow> rows = dispatcher.table(dispatcher.get(name));
    const bool has = std::any_of(rows.begin(), rows.end(), [](const TableRow& row) {
      return row.key == DispatchKey::CPU && row.reason == "kernel";
    });
    if (has) names.insert(name);
  }
  return names;
}

TEST(Pack, BringsWhatTheEntriesName) {
  runtime::Yard yard;
  yard.load_plugin("cpu");
  const std::set<std::string> expected(std::begin(generated::kCPUKernels),
                                       std::end(generated::kCPUKernels));
  EXPECT_EQ(ops_with_cpu_kernels(), expected);
}

}  // namespace
}  // namespace opyard
