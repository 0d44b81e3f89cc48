// Plugins by name, and the yards that want them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <vector>

#include "opyard/base/log.h"
#include "opyard/runtime/yard.h"

namespace opyard::runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::mutex log_mutex;
std::vector<std::string> log_lines;  // guarded by log_mutex

void take_line(LogLevel level, std::string_view message) {
  const std::lock_guard lock(log_mutex);
  const char* name = level == LogLevel::kWarning ? "W " : level == LogLevel::kInfo ? "I " : "? ";
  log_lines.push_back(name + std::string(message));
}

std::vector<std::string> logged() {
  const std::lock_guard lock(log_mutex);
  return log_lines;
}

// The number of the generation of "cpu" that is active; 0: none.
uint64_t active() {
  for (const plugin::SlotInfo& slot : plugin::Host::global().list()) {
    if (slot.name == "cpu") return slot.active;
  }
  return 0;
}

class YardPluginsTest : public ::testing::Test {
 protected:
  YardPluginsTest() {
    // The CPU plugin under two names.
    char name[] = "/tmp/opyard-yards-XXXXXX";
    dir_ = mkdtemp(name);
    const std::string file = Yard().plugin_dirs().at(0) + "/libopyard_plugin_cpu.so";
    fs::copy(file, dir_ + "/libopyard_plugin_cpu.so");
    fs::copy(file, dir_ + "/libopyard_plugin_new.so");
    std::ofstream(dir_ + "/libopyard_plugin_new.so", std::ios::app) << "another build";
    {
      const std::lock_guard lock(log_mutex);
      log_lines.clear();
    }
    set_log_sink(&take_line);
  }
  ~YardPluginsTest() override {
    set_log_sink(nullptr);
    fs::remove_all(dir_);
  }

  std::unique_ptr<Yard> make_yard() {
    YardOptions options;
    options.plugin_dirs = {dir_};
    options.threads = 1;
    return std::make_unique<Yard>(options);
  }

  template <typename Work>
  static Code code_of(Work work) {
    try {
      work();
      return Code::kOk;
    } catch (const Error& error) {
      return error.code();
    }
  }

  std::string dir_;
};

TEST_F(YardPluginsTest, LoadedOnceAndLeavesWithTheLastYard) {
  auto first = make_yard();
  auto second = make_yard();
  EXPECT_THAT(first->plugins(), IsEmpty());
  first->load_plugin("cpu");
  const uint64_t generation = active();
  EXPECT_NE(generation, 0u);
  first->load_plugin("cpu");
  second->load_plugin("cpu");
  EXPECT_EQ(active(), generation);
  EXPECT_THAT(first->plugins(), ElementsAre("cpu"));
  EXPECT_THAT(second->devices(), Contains("cpu"));
  first.reset();
  EXPECT_EQ(active(), generation) << "the second wants it";
  second.reset();
  EXPECT_EQ(active(), 0u);
}

TEST_F(YardPluginsTest, AnOperatorIsToldThatItIsThere) {
  const auto yard = make_yard();
  const plugin::ChangeReport report = yard->load_plugin("cpu", {});
  EXPECT_EQ(report.slot, "cpu");
  EXPECT_EQ(report.new_generation, active());
  EXPECT_EQ(code_of([&] { yard->load_plugin("cpu", {}); }), Code::kAlreadyExists);
  yard->load_plugin("cpu");
  EXPECT_EQ(active(), report.new_generation) << "for an embedder that is no error";
}

TEST_F(YardPluginsTest, AnotherBuildTakesThePlaceByName) {
  auto yard = make_yard();
  yard->load_plugin("cpu");
  const uint64_t before = active();
  const plugin::ChangeReport report = yard->swap_plugin("cpu", "new");
  EXPECT_EQ(report.old_generation, before);
  EXPECT_EQ(report.new_generation, active());
  EXPECT_EQ(yard->rollback_plugin("cpu").new_generation, before);
  EXPECT_EQ(active(), before);
  EXPECT_EQ(code_of([&] { yard->swap_plugin("cpu", "../new"); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { yard->swap_plugin("cpu", "missing"); }), Code::kNotFound);
  EXPECT_EQ(code_of([&] { yard->swap_plugin("missing", "cpu"); }), Code::kNotFound);
  EXPECT_EQ(active(), before);
  yard.reset();
  EXPECT_EQ(active(), 0u);
}

TEST_F(YardPluginsTest, WhatAnOperatorTookAwayIsWantedNoLonger) {
  auto first = make_yard();
  auto second = make_yard();
  first->load_plugin("cpu");
  second->load_plugin("cpu");
  first->unload_plugin("cpu");
  EXPECT_EQ(active(), 0u);
  EXPECT_THAT(first->plugins(), IsEmpty());
  EXPECT_THAT(second->plugins(), IsEmpty());
  second->load_plugin("cpu");
  EXPECT_NE(active(), 0u) << "and can be had again";
  first.reset();
  EXPECT_NE(active(), 0u) << "the first has no part in it";
  second.reset();
  EXPECT_EQ(active(), 0u);
}

TEST_F(YardPluginsTest, TheLogTellsOfEachChange) {
  const auto yard = make_yard();
  yard->load_plugin("cpu", {});
  yard->swap_plugin("cpu", "new");
  EXPECT_THROW(yard->swap_plugin("cpu", "missing"), Error);
  yard->unload_plugin("cpu");
  const std::vector<std::string> lines = logged();
  EXPECT_THAT(lines, Contains(HasSubstr("I plugin cpu: load: generation ")));
  EXPECT_THAT(lines, Contains(::testing::ContainsRegex(
                         "I plugin cpu: swap: generation [0-9]+ is warm, generation [0-9]+ is "
                         "active, published in [0-9]+ µs")));
  EXPECT_THAT(lines, Contains(HasSubstr("W plugin cpu: swap refused: NOT_FOUND: ")));
  EXPECT_THAT(lines, Contains(HasSubstr("I plugin cpu: unload: generation ")));
}

}  // namespace
}  // namespace opyard::runtime
