#include "client/local/check_dispatch.h"

#include <gtest/gtest.h>

#include <sstream>

#include "case_file.h"
#include "opyard/base/error.h"

namespace opyard::client {
namespace {

// Runs one case of the operator t::f(Tensor x) -> Tensor with these further lines.
std::string run_case(const std::string& lines, const std::string& op = "t::f(Tensor x) -> Tensor") {
  const CaseFile file("cases:\n  - name: it\n    op: \"" + op + "\"\n" + lines);
  std::ostringstream out;
  const CheckResult result = check_dispatch_file(file.path(), out);
  EXPECT_EQ(result.passed + result.failed, 1u);
  EXPECT_EQ(result.failed == 0, out.str().find("FAILED") == std::string::npos) << out.str();
  return out.str();
}
void expect_failed(const std::string& lines, const std::string& words) {
  const std::string told = run_case(lines);
  EXPECT_NE(told.find("FAILED"), std::string::npos) << lines;
  EXPECT_NE(told.find(words), std::string::npos) << told;
}

TEST(CheckDispatch, AGoodCasePasses) {
  EXPECT_EQ(run_case("    register: {CPU: cpu, CompositeImplicitAutograd: math}\n"
                     "    table: {CPU: cpu, CUDA: math, AutogradCPU: \"<fallback>\"}\n"
                     "    reason: {CUDA: math kernel}\n"
                     "    calls:\n      - {tensors: [[CPU]], trail: [cpu]}\n"),
            "");
}

TEST(CheckDispatch, EveryFieldCanFail) {
  const std::string cpu = "    register: {CPU: cpu}\n";
  expect_failed(cpu + "    table: {CPU: other}\n", "CPU holds cpu, wanted other");
  expect_failed(cpu + "    table: {CUDA: \"<fallback>\"}\n", "holds <missing>");
  expect_failed(cpu + "    table: {AutogradCPU: \"<fallthrough>\"}\n", "holds <fallback>");
  expect_failed(cpu + "    reason: {CPU: math kernel}\n", "wanted 'math kernel'");
  expect_failed(cpu + "    calls: [{tensors: [[CPU]], trail: [gpu]}]\n", "ran [cpu], wanted [gpu]");
  expect_failed(cpu + "    calls: [{tensors: [[CPU]], error: x}]\n", "succeeded");
  expect_failed(cpu + "    calls: [{tensors: [[CUDA]], trail: [cpu]}]\n",
                "failed with UNIMPLEMENTED");
  expect_failed(cpu + "    calls: [{tensors: [[CUDA]], error: \"no such words\"}]\n",
                "wanted an error that matches");
  expect_failed(cpu + "    calls: [{tensors: [[CUDA]], code: NOT_FOUND}]\n",
                "wanted the code NOT_FOUND");
  expect_failed(cpu + "    remove: [0]\n    table_after: {CPU: cpu}\n", "holds <missing>");
  expect_failed(cpu + "    remove: [0]\n    calls_after: [{tensors: [[CPU]], trail: [cpu]}]\n",
                "failed with");
  expect_failed(cpu + "    error: anything\n", "succeeded");
  expect_failed("    register: {Dense: k}\n", "CPU");
  expect_failed("    register: {Dense: k}\n    error: CUDAA\n", "wanted an error that matches");
  expect_failed("    register: {Dense: k}\n    code: NOT_FOUND\n", "wanted the code NOT_FOUND");
  expect_failed("    defaults: false\n    table: {AutogradCPU: \"<fallback>\"}\n",
                "holds <missing>");
  expect_failed("    def: false\n" + cpu + "    calls: [{tensors: [[CPU]], trail: [cpu]}]\n",
                "t::f");
}

TEST(CheckDispatch, CasesThatCannotBeReadFail) {
  expect_failed("    register: {NoSuchKey: k}\n", "NoSuchKey");
  expect_failed("    register: [1]\n", "");
  expect_failed("    register: {CPU: cpu}\n    calls: [{tensors: [[CPU]]}]\n",
                "neither trail nor error");
  expect_failed("    register: {CPU: cpu}\n    calls: [{tensors: [[CPU], [CPU]], trail: [cpu]}]\n",
                "more key lists");
  expect_failed("    register: {CPU: cpu}\n    calls: [{tensors: [], trail: [cpu]}]\n",
                "fewer key lists");
  expect_failed("    remove: [3]\n", "names no registration");
  expect_failed("    order: sideways\n", "sideways");
  expect_failed("    register: {CPU: {kernel: cpu, then: dance}}\n", "dance");
  expect_failed("    table: {Dense: x}\n", "no slot");
  expect_failed("    register: {CPU: cpu}\n    calls: [{tensors: [[CUDA]], error: \"(\"}]\n", "");
}

TEST(CheckDispatch, UnknownKeysAreNotedOnce) {
  const std::string told = run_case("    flavour: sweet\n");
  EXPECT_NE(told.find("note: "), std::string::npos);
  EXPECT_NE(told.find("flavour"), std::string::npos);
}

TEST(CheckDispatch, OtherSignaturesRunBoxedWithANote) {
  EXPECT_NE(run_case("    register: {CPU: cpu}\n    calls: [{tensors: [[CPU]], trail: [cpu]}]\n",
                     "t::f(Tensor x, int n) -> Tensor")
                .find("boxed only"),
            std::string::npos);
}

Code code_of_file(const std::string& text) {
  const CaseFile file(text);
  std::ostringstream out;
  try {
    check_dispatch_file(file.path(), out);
  } catch (const Error& error) {
    return error.code();
  }
  return Code::kOk;
}

TEST(CheckDispatch, HostileFiles) {
  EXPECT_EQ(code_of_file("cases: [&a {op: x}, *a]\n"), Code::kInvalidArgument);
  EXPECT_EQ(code_of_file("cases: {a: b}\n"), Code::kInvalidArgument);
  EXPECT_EQ(code_of_file("other: []\n"), Code::kInvalidArgument);
  EXPECT_EQ(code_of_file("cases: [\n"), Code::kInvalidArgument);
  EXPECT_EQ(code_of_file("cases: " + std::string(200, '[') + std::string(200, ']')),
            Code::kInvalidArgument);
  EXPECT_EQ(code_of_file(std::string(17 << 20, '#')), Code::kInvalidArgument);
  EXPECT_EQ(code_of_file("cases: []\n"), Code::kOk);
  std::ostringstream out;
  EXPECT_THROW(check_dispatch_file("/nowhere/cases.yaml", out), Error);
}

TEST(CheckDispatch, NamesAreUnique) {
  const CaseFile file(
      "cases:\n  - {name: a, op: \"t::f() -> ()\"}\n  - {name: a, op: \"t::f() -> ()\"}\n  - 7\n");
  std::ostringstream out;
  const CheckResult result = check_dispatch_file(file.path(), out);
  EXPECT_EQ(result.passed, 1u);
  EXPECT_EQ(result.failed, 2u);
}

}  // namespace
}  // namespace opyard::client
