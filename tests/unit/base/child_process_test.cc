#include "opyard/base/child_process.h"

#include <gtest/gtest.h>

#include "opyard/base/error.h"

namespace opyard {
namespace {

using std::chrono::milliseconds;

struct Told {
  ChildEnd end;
  std::vector<std::string> lines;
};

// What a script of the shell reports; at most `most` lines are wanted.
Told run(const std::string& script, milliseconds patience = milliseconds(60'000),
         size_t most = 1000, int report = 3) {
  Told told;
  told.end = run_child(
      {"/bin/sh", "-c", script}, patience,
      [&](std::string_view line) {
        told.lines.emplace_back(line);
        return told.lines.size() < most;
      },
      report);
  return told;
}

using Lines = std::vector<std::string>;

TEST(ChildProcess, ReportsInLines) {
  const Told told = run("echo lost; echo one >&3; echo >&3; printf 'no end' >&3; exit 4");
  EXPECT_EQ(told.lines, (Lines{"one", "", "no end"}));
  EXPECT_TRUE(told.end.in_time);
  EXPECT_EQ(told.end.text(), "it left the process with the status 4");
}

TEST(ChildProcess, ItsOutputMayBeTheReport) {
  EXPECT_EQ(run("echo one; echo two >&3", milliseconds(60'000), 1000, 1).lines, (Lines{"one"}));
}

TEST(ChildProcess, ASignalIsNamed) {
  EXPECT_EQ(run("kill -SEGV $$").end.text(), "it died by SIGSEGV");
}

TEST(ChildProcess, NobodyWaitsLongerThanTheyWant) {
  const Told told = run("echo begun >&3; exec sleep 600", milliseconds(200));
  EXPECT_FALSE(told.end.in_time);
  EXPECT_EQ(told.end.text(), "it died by SIGKILL");
}

TEST(ChildProcess, ItIsEndedWhenEnoughWasSaid) {
  const Told told = run("while :; do echo more >&3; done", milliseconds(60'000), 3);
  EXPECT_EQ(told.lines, (Lines{"more", "more", "more"}));
  EXPECT_TRUE(told.end.in_time);
}

// Without an end to its lines, too.
TEST(ChildProcess, ItCannotSayMoreThanAnybodyHolds) {
  const Told told = run("exec cat /dev/zero >&3");
  EXPECT_TRUE(told.lines.empty());
  EXPECT_TRUE(told.end.in_time);
}

TEST(ChildProcess, WhatIsNotThereCannotBeStarted) {
  try {
    run_child({"/nowhere/program"}, milliseconds(1000), [](std::string_view) { return true; });
    FAIL() << "was started";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnavailable);
    EXPECT_NE(error.message().find("/nowhere/program"), std::string::npos);
  }
}

}  // namespace
}  // namespace opyard
