// What a person and a script see of plugins.
#include "client/cli/plugin_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace opyard::cli {
namespace {

using client::PluginChange;
using client::PluginGeneration;
using client::PluginList;
using client::PluginSlot;
using ::testing::HasSubstr;
using ::testing::Not;

PluginGeneration generation(uint64_t number, const std::string& state, uint64_t age_ms) {
  PluginGeneration one;
  one.number = number;
  one.state = state;
  one.age_ms = age_ms;
  one.file = "libopyard_plugin_cpu.so";
  one.version = "0.1.0";
  one.hash = "00112233445566778899aabbccddeeff";
  one.typed_kernels = 271;
  one.probe = "passed in 31 ms";
  return one;
}

// A night in which something is wrong.
PluginList busy_list() {
  PluginList list;
  PluginSlot cpu{"cpu", "", "", 3, 3, 1, {}};
  cpu.generations = {generation(3, "active", 12'000), generation(2, "warm", 12'000),
                     generation(1, "zombie", 3 * 3600 * 1000)};
  cpu.generations[0].hits_typed = 12'345;
  PluginGeneration& zombie = cpu.generations[2];
  zombie.typed_kernels = 268;
  zombie.boxed_kernels = 3;
  zombie.why_boxed = {{"registered through the C interface", 3}};
  zombie.why_not_unloaded =
      "2 leases on its storage are held, and a call that began before it was replaced is inside";
  zombie.pins = {{4711, "aten::mm", 2'100'000'000}};
  zombie.leases = {{"storage", 2}};
  zombie.bytes_held = 12u << 20;
  zombie.pinned_dependencies = {"libgomp.so.1", "libopenblas.so.0"};
  PluginSlot toy{"toy", "toy", "PrivateUse1", 4, 1, 0, {generation(4, "active", 50'000'000)}};
  toy.generations[0].file = "libopyard_plugin_toy.so";
  toy.generations[0].fallbacks = {{"aten::mm", 1200}, {"aten::sum", 1}};
  toy.generations[0].probe = "not probed: there is no opyard-worker";
  list.slots = {cpu, toy};
  list.available = {"axpby", "cpu", "toy"};
  list.calls = {1'107'127, 1'107'120, 4, 1, 2};
  list.under_way = {{"swap cpu", 12'000}};
  return list;
}

size_t columns(const std::string& line) {
  size_t count = 0;
  for (const char c : line) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(PluginListText, ATableForPeople) {
  EXPECT_EQ(
      pretty(busy_list(), 0, false),
      R"(SLOT  GEN  STATE    AGE  KERNELS              HITS          LEASES     NAME  VERSION  HASH
cpu     3  active  12 s  271 typed            12,345 typed  -          cpu   0.1.0    0011223344556677
        2  warm    12 s  271 typed            -             -          cpu   0.1.0    0011223344556677
        1  zombie   3 h  268 typed + 3 boxed  -             2 storage  cpu   0.1.0    0011223344556677
    not unloaded: 2 leases on its storage are held, and a call that began before it was replaced is inside
    in a call: aten::mm, thread 4711, for 2.1 s
    holds 12 MiB of its device
    3 boxed: registered through the C interface
    pinned dependencies: libgomp.so.1, libopenblas.so.0
toy     4  active  13 h  271 typed            -             -          toy   0.1.0    0011223344556677
    is the device toy (PrivateUse1)
    computed on the CPU instead: aten::mm (1,200), aten::sum (1)
    not probed: there is no opyard-worker

under way: swap cpu (for 12 s)
calls: 1,107,127 accepted = 1,107,120 completed + 4 failed + 1 cancelled + 2 in flight
can be loaded: axpby, cpu, toy
)");
}

TEST(PluginListText, FitsItsTerminal) {
  for (const uint32_t width : {80u, 100u, 160u}) {
    for (const std::string& line : lines_of(pretty(busy_list(), width, false))) {
      EXPECT_LE(columns(line), width) << line;
    }
  }
  const std::string narrow = pretty(busy_list(), 80, false);
  EXPECT_THAT(narrow, HasSubstr("NAME")) << "what commands take is always there";
  EXPECT_THAT(narrow, Not(HasSubstr("HASH")));
  EXPECT_THAT(narrow, HasSubstr("    not unloaded: 2 leases on its storage"));
  EXPECT_THAT(pretty(busy_list(), 160, false), HasSubstr("HASH"));
}

TEST(PluginListText, NothingToTellTakesNoRoom) {
  PluginList list;
  list.slots = {PluginSlot{"cpu", "", "", 1, 0, 0, {generation(1, "active", 0)}}};
  const std::string text = pretty(list, 0, false);
  EXPECT_THAT(text, Not(HasSubstr("HITS")));
  EXPECT_THAT(text, Not(HasSubstr("LEASES")));
  EXPECT_THAT(text, Not(HasSubstr("under way")));
  EXPECT_THAT(text, Not(HasSubstr("not unloaded")));
  EXPECT_THAT(pretty(PluginList{}, 80, false), HasSubstr("no plugin is loaded"));
}

TEST(PluginListText, WhatAllBuildsShareIsSaidOnce) {
  PluginList list;
  std::vector<PluginGeneration> generations = {generation(3, "active", 0), generation(2, "warm", 0),
                                               generation(1, "warm", 0)};
  for (PluginGeneration& one : generations) one.warnings = {"leaves keys"};
  generations[2].warnings = {"leaves threads"};
  list.slots = {PluginSlot{"cpu", "", "", 3, 0, 0, generations}};
  const std::string text = pretty(list, 0, false);
  EXPECT_EQ(text.find("leaves keys"), text.rfind("leaves keys"));
  EXPECT_THAT(text, HasSubstr("leaves threads"));
}

TEST(PluginListText, FailedOnesSayWhy) {
  PluginList list;
  PluginGeneration failed = generation(2, "failed", 1000);
  failed.last_error = "init refused: no such device";
  failed.warnings = {"exports 3 symbols beside its entry"};
  list.slots = {PluginSlot{"toy", "", "", 0, 0, 1, {failed}}};
  const std::string text = pretty(list, 80, true);
  EXPECT_THAT(text, HasSubstr("    failed: init refused: no such device\n"));
  EXPECT_THAT(text, Not(HasSubstr("warning"))) << "it is over";
}

TEST(PluginListText, WhatIsOverIsCountedOnly) {
  PluginList list = busy_list();
  list.slots[0].generations.push_back(generation(0, "closed", 1000));
  list.slots.push_back(PluginSlot{"gone", "", "", 0, 0, 1, {generation(9, "failed", 1000)}});
  list.slots[2].generations[0].kernels = {{"gone::f", "CPU", true, ""}};
  const std::string text = pretty(list, 0, false);
  EXPECT_THAT(text, Not(HasSubstr("closed  ")));
  EXPECT_THAT(text, Not(HasSubstr("gone")));
  EXPECT_THAT(text, HasSubstr("zombie"));
  EXPECT_THAT(text, HasSubstr("\nnot shown: 2 generations that are closed or failed (--all)\n"));
  EXPECT_EQ(pretty_kernels(list, false), "");
  const std::string all = pretty(list, 0, true);
  EXPECT_THAT(all, HasSubstr("closed  "));
  EXPECT_THAT(all, HasSubstr("gone    9  failed"));
  EXPECT_THAT(all, Not(HasSubstr("not shown")));
  EXPECT_THAT(pretty_kernels(list, true), HasSubstr("gone::f"));
  list.slots.erase(list.slots.begin(), list.slots.begin() + 2);
  EXPECT_THAT(pretty(list, 0, false), HasSubstr("no plugin is loaded"));
  EXPECT_THAT(pretty(list, 0, false), HasSubstr("not shown: 1 generation that is closed"));
}

TEST(PluginListText, WarningsTakeOneLine) {
  PluginList list;
  PluginGeneration one = generation(1, "active", 0);
  one.warnings = {"defines ünique symbols: " + std::string(200, 'x') + " last"};
  list.slots = {PluginSlot{"cpu", "", "", 1, 0, 0, {one}}};
  const std::string text = pretty(list, 80, false);
  EXPECT_THAT(text, Not(HasSubstr("last")));
  EXPECT_EQ(columns(lines_of(text)[2]), 80u) << text;
  EXPECT_THAT(lines_of(text)[2], ::testing::EndsWith("x…"));
  EXPECT_THAT(pretty(list, 0, false), HasSubstr("x last\n")) << "no terminal";
  EXPECT_THAT(pretty(list, 80, true), HasSubstr("last\n"));
}

TEST(PluginListText, KernelsOneByOne) {
  PluginList list;
  PluginGeneration one = generation(1, "active", 0);
  one.kernels = {{"aten::add.Tensor", "CPU", true, ""}, {"_", "AutogradCPU", false, "in C"}};
  list.slots = {PluginSlot{"cpu", "", "", 1, 0, 0, {one}}};
  EXPECT_EQ(pretty_kernels(list, false),
            "\ncpu, generation 1 (active)\n"
            "  aten::add.Tensor  CPU          typed\n"
            "  _                 AutogradCPU  boxed: in C\n");
}

TEST(PluginListText, HitsThatWereCounted) {
  PluginList list = busy_list();
  PluginList counted = busy_list();
  counted.counted_ns = 5'000'000'000;
  counted.slots[0].generations[1].hits_boxed = 7;
  counted.slots[0].generations.erase(counted.slots[0].generations.begin());
  add_hits(counted, &list);
  EXPECT_EQ(list.slots[0].generations[0].hits_typed, 0u) << "it came later";
  EXPECT_EQ(list.slots[0].generations[1].hits_boxed, 7u);
  EXPECT_THAT(pretty(list, 0, false), HasSubstr("7 boxed"));
  EXPECT_THAT(pretty(list, 0, false), HasSubstr("271 typed            0        -"));
  EXPECT_THAT(pretty(list, 0, false), HasSubstr("hits counted for 5.0 s\n"));
}

TEST(PluginChangeText, SaysWhatIsActiveAndHowToGoBack) {
  PluginChange change{"cpu", 1, 2, 38'000, 152'000'000, "warm", "", {}};
  EXPECT_EQ(pretty(change, "swapped"),
            "cpu swapped: generation 2 is active, published in 38 µs, all done in 152 ms\n"
            "generation 1 is warm: opyard plugin rollback cpu brings it back\n");
  change.lost = {"aten::a at CPU", "aten::b at CPU"};
  change.note = "not probed";
  EXPECT_THAT(pretty(change, "swapped"),
              HasSubstr("lost: aten::a at CPU, aten::b at CPU\nnot probed\n"));
  change.new_generation = 0;
  change.old_state = "closed";
  EXPECT_EQ(pretty(change, "unloaded"),
            "cpu unloaded: no generation is active, published in 38 µs, all done in 152 ms\n"
            "generation 1 is closed (unmapped, as was checked)\nnot probed\n");
  change.old_state = "retiring";
  EXPECT_THAT(
      pretty(change, "unloaded"),
      HasSubstr("generation 1 is retiring: opyard plugin list cpu shows what it waits for\n"));
  change.old_state = "zombie";
  EXPECT_THAT(
      pretty(change, "unloaded"),
      HasSubstr("generation 1 is zombie: opyard plugin list cpu shows what it waits for; it "
                "stays in memory until that is over, or until opyardd ends; the slot can be "
                "loaded again\n"));
  change.new_generation = 2;
  EXPECT_THAT(pretty(change, "swapped"), HasSubstr("or until opyardd ends\n"));
}

TEST(PluginDiffText, OneLineEach) {
  EXPECT_EQ(pretty(std::vector<client::PluginDifference>{}), "no differences\n");
  EXPECT_EQ(pretty({{"kernel-lost", "aten::a at CPU", "", "", "allow_loss"},
                    {"flags", "version", "1.0", "1.1", ""}}),
            "kernel-lost  aten::a at CPU  (needs --allow-loss)\n"
            "flags        version: 1.0 -> 1.1\n");
}

TEST(PluginJson, AllFields) {
  const auto list = nlohmann::json::parse(to_json(busy_list()));
  const auto& zombie = list["slots"][0]["generations"][2];
  EXPECT_EQ(zombie["state"], "zombie");
  EXPECT_EQ(zombie["leases"]["storage"], 2);
  EXPECT_EQ(zombie["pins"][0]["holder"], "aten::mm");
  EXPECT_EQ(zombie["bytes_held"], 12u << 20);
  EXPECT_EQ(list["slots"][1]["generations"][0]["fallbacks"]["aten::mm"], 1200);
  EXPECT_EQ(zombie["why_boxed"]["registered through the C interface"], 3);
  EXPECT_EQ(list["calls"]["accepted"], 1'107'127);
  EXPECT_EQ(list["calls"]["in_flight"], 2);
  EXPECT_EQ(list["under_way"][0]["what"], "swap cpu");
  const auto change =
      nlohmann::json::parse(to_json(PluginChange{"cpu", 1, 2, 3, 4, "warm", "", {"x"}}));
  EXPECT_EQ(change["new_generation"], 2);
  EXPECT_EQ(change["lost"][0], "x");
  PluginChange broken{"cpu\xff", 1, 2, 3, 4, "warm", "", {}};
  EXPECT_EQ(nlohmann::json::parse(to_json(broken))["slot"], "cpu\uFFFD");
}

}  // namespace
}  // namespace opyard::cli
