#include "opyard/dispatch/table_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "opyard/dispatch/dispatcher.h"
#include "opyard/dispatch/key_names.h"

namespace opyard {
namespace {

using enum DispatchKey;

class TableText : public ::testing::Test {
 protected:
  TableText() {
    registration_ = dispatcher_.register_block(BlockKind::kDef, "t", "", [](Library& m) {
      m.def("f(Tensor x) -> Tensor");
      m.impl("f", CPU, [](const Tensor& x) { return x; }).label("mine");
      m.impl("f", Tracer, Fallthrough{});
    });
  }
  std::vector<TableRow> rows() const { return dispatcher_.table(dispatcher_.get("t::f")); }
  std::vector<TableGroup> groups() const { return fold(rows()); }

  Dispatcher dispatcher_;
  Registration registration_;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST_F(TableText, EverySlotStandsInOneGroup) {
  std::vector<DispatchKey> keys;
  for (const TableGroup& group : groups()) {
    keys.insert(keys.end(), group.keys.begin(), group.keys.end());
  }
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end());
  EXPECT_EQ(keys.size(), static_cast<size_t>(kNumSlots));
}

TEST_F(TableText, WhatTheOperatorHasComesFirstAndWhatIsMissingLast) {
  std::vector<std::string> kinds;
  for (const TableGroup& group : groups()) kinds.emplace_back(kind_of(group.row));
  const std::vector<std::string> wanted = {"kernel",    "fallthrough", "raises",
                                           "pass-down", "fallthrough", "missing"};
  EXPECT_EQ(kinds, wanted);
}

TEST_F(TableText, FoldsFamiliesAndCountsThem) {
  const std::vector<std::string> lines = lines_of(table_text(groups(), 0));
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_TRUE(lines[0].starts_with("KEYS"));
  EXPECT_TRUE(lines[1].starts_with("CPU ")) << lines[1];
  EXPECT_NE(lines[1].find("mine, "), std::string::npos) << lines[1];
  EXPECT_NE(lines[1].find("table_text_test.cc:"), std::string::npos)
      << "the place besides the label";
  EXPECT_TRUE(lines[2].starts_with("Tracer ")) << lines[2];
  EXPECT_TRUE(lines[4].starts_with("Autograd* ")) << lines[4];
  EXPECT_NE(lines[4].find("(18 keys)"), std::string::npos);
  EXPECT_TRUE(lines[5].starts_with("BackendSelect, ADInplaceOrView, Autocast* ")) << lines[5];
  EXPECT_NE(lines[5].find("falls through (12 keys)"), std::string::npos);
  EXPECT_TRUE(lines[6].starts_with("all others ")) << lines[6];
}

TEST_F(TableText, KeepsToTheWidthAndLosesNothing) {
  for (const size_t width : {40u, 80u, 120u}) {
    std::string squeezed;
    for (const std::string& line : lines_of(table_text(groups(), width))) {
      EXPECT_LE(line.size(), width) << line;
      squeezed += line;
    }
    std::erase(squeezed, ' ');
    if (width < 80) continue;  // words are broken
    for (const std::string word : {"Autograd*", "mine,", "allothers"}) {
      EXPECT_NE(squeezed.find(word), std::string::npos) << width << ": " << squeezed;
    }
  }
  EXPECT_EQ(table_text(groups(), 1), table_text(groups(), 40)) << "narrower would not be readable";
}

TEST_F(TableText, EverySlotCanHaveItsLine) {
  EXPECT_EQ(lines_of(table_text(rows(), 0)).size(), static_cast<size_t>(kNumSlots) + 1);
}

TEST(KeyNames, FoldManyOfAFamily) {
  EXPECT_EQ(key_list_text({}), "none");
  EXPECT_EQ(key_list_text(KeySet(CPU) | KeySet(AutogradCPU)), "CPU, AutogradCPU");
  EXPECT_EQ(key_list_text(kAutocastKeys), "Autocast*");
  std::vector<DispatchKey> sparse;
  for (int i = 1; i <= kNumBackends; ++i)
    sparse.push_back(runtime_key(Sparse, static_cast<Backend>(i)));
  EXPECT_EQ(folded_key_names(sparse), std::vector<std::string>{"Sparse*"});
  sparse.pop_back();
  EXPECT_EQ(folded_key_names(sparse), std::vector<std::string>{"Sparse* (15 of 16)"});
  EXPECT_EQ(folded_key_names({CPU, CUDA, HIP, XLA}),
            std::vector<std::string>{"backends (4 of 16)"});
  EXPECT_EQ(folded_key_names({CPU, CUDA, HIP}), (std::vector<std::string>{"CPU", "CUDA", "HIP"}));
}

}  // namespace
}  // namespace opyard
