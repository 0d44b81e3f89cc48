// Every animal at three places: lint and probe, which are processes of their own, and a host under
// traffic. Each case runs in a process of its own (CTest starts one for each).
#include <gtest/gtest.h>

#include "opyard/base/check.h"
#include "opyard/plugin/probe.h"
#include "table.h"
#include "under_traffic.h"
#include "visit.h"

namespace opyard::zoo {
namespace {

using plugin::Verdict;
using std::chrono::milliseconds;

class Zoo : public ::testing::TestWithParam<Animal> {};

TEST_P(Zoo, Lint) {
  const Lint& expected = GetParam().lint;
  const Said said = run_worker({"lint", path_of(GetParam().name)});
  EXPECT_EQ(said.status, expected.fit ? 0 : 1) << said.text;
  EXPECT_SAYS(said.text, expected.says);
  if (expected.fit && expected.says.empty()) {
    EXPECT_EQ(said.text.find("stays "), std::string::npos) << said.text;
    EXPECT_EQ(said.text.find("warning "), std::string::npos) << said.text;
  }
}

// All that a verdict says, each thing under the name of what it means.
std::string said_by(const Verdict& verdict) {
  std::string all;
  if (!verdict.problem.empty()) all += "problem: " + verdict.problem + "\n";
  if (!verdict.left_mapped.empty()) all += "stays: " + verdict.left_mapped + "\n";
  for (const std::string& thing : verdict.leftovers) all += "leaves: " + thing + "\n";
  return all;
}

void expect_life(const Probe& expected, const Verdict& verdict) {
  const auto is = [&](Life life) { return expected.life == life; };
  const std::string said = said_by(verdict);
  EXPECT_EQ(verdict.lived, !is(Life::kFails) && !is(Life::kHangs)) << said;
  EXPECT_EQ(said.empty(), is(Life::kClean)) << said;
  EXPECT_SAYS(said, expected.says);
  EXPECT_EQ(said.find("problem: it was still") != std::string::npos, is(Life::kHangs)) << said;
  EXPECT_EQ(said.find("stays: ") != std::string::npos, is(Life::kStays)) << said;
}

TEST_P(Zoo, Probe) {
  const bool hangs = GetParam().probe.life == Life::kHangs;
  expect_life(GetParam().probe, plugin::probe(OPYARD_WORKER, path_of(GetParam().name),
                                              hangs ? kHangPatience : milliseconds(60'000)));
}

class ZooHost : public ::testing::TestWithParam<Animal> {};

TEST_P(ZooHost, UnderTraffic) {
  const Animal& animal = GetParam();
  UnderTraffic host(animal.probe.life == Life::kHangs);
  host.visit(path_of(animal.name), animal.load, animal.call, animal.end);
}

class ZooCheck : public ::testing::TestWithParam<Checked> {};

TEST_P(ZooCheck, Says) {
  const Checked& expected = GetParam();
  const std::string reason = run_check(expected.check, expected.animal);
  EXPECT_EQ(reason.empty(), expected.says.empty()) << reason;
  EXPECT_SAYS(reason, expected.says);
}

INSTANTIATE_TEST_SUITE_P(Checks, ZooCheck, ::testing::ValuesIn(checked_animals()),
                         [](const auto& info) {
                           return str_cat(info.param.check, "_of_", info.param.animal);
                         });

std::string name_of(const ::testing::TestParamInfo<Animal>& info) {
  return std::string(info.param.name);
}

INSTANTIATE_TEST_SUITE_P(Animals, Zoo, ::testing::ValuesIn(animals()), name_of);
INSTANTIATE_TEST_SUITE_P(Animals, ZooHost, ::testing::ValuesIn(animals()), name_of);

}  // namespace
}  // namespace opyard::zoo
