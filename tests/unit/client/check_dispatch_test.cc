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

TEST(CheckDispatch, OddShapesFailTheirCaseAlone) {
  const std::string op = "op: \"t::f(Tensor x) -> Tensor\"";
  const std::string odd[] = {
      "{name: [x], op: 5}",
      "{name: a}",
      "{name: b, op: [1]}",
      "{name: c, " + op + ", register: 5}",
      "{name: d, " + op + ", register: [[CPU, k]]}",
      "{name: e, " + op + ", register: [{kernel: k}]}",
      "{name: f, " + op + ", register: {CPU: null}}",
      "{name: g, " + op + ", table: 5}",
      "{name: h, " + op + ", calls: 5}",
      "{name: i, " + op + ", calls: [5]}",
      "{name: j, " + op + ", calls: [{tensors: {a: b}, trail: []}]}",
      "{name: k, " + op + ", calls: [{tensors: [[[[CPU]]]], trail: []}]}",
      "{name: l, " + op + ", calls: [{tensors: [[CPU]], include: CPU, trail: []}]}",
      "{name: m, " + op + ", register: {CPU: k}, remove: [-1]}",
      "{name: n, " + op + ", order: [x]}",
      "{name: o, " + op + ", defaults: maybe}",
      "null"};
  std::string text = "cases:\n";
  for (const std::string& each : odd) text += "  - " + each + "\n";
  text += "  - {name: good, " + op + "}\n";
  const CaseFile file(text);
  std::ostringstream out;
  const CheckResult result = check_dispatch_file(file.path(), out);
  EXPECT_EQ(result.passed, 1u) << out.str();
  EXPECT_EQ(result.failed, std::size(odd));
}

// Every field of a case at once.
TEST(CheckDispatch, AFullCasePasses) {
  const std::string told = run_case(
      "    source: made up\n"
      "    register:\n"
      "      - {key: CPU, kernel: cpu}\n"
      "      - {key: CatchAll, kernel: math}\n"
      "      - {key: Tracer, kernel: tr, then: redispatch}\n"
      "      - {key: Negative, kernel: fallthrough}\n"
      "    fallbacks: {PrivateUse1: fb, Functionalize: {kernel: fun, then: redispatch}, "
      "Python: {kernel: py, then: redispatch}}\n"
      "    defaults: true\n    order: permute\n"
      "    table: {CPU: cpu, CUDA: math, AutogradCPU: \"<fallback>\", PrivateUse1: math,"
      " Negative: \"<fallthrough>\", BackendSelect: \"<fallthrough>\", Python: py,"
      " Named: \"<missing>\"}\n"
      "    reason: {CPU: kernel, CUDA: math kernel, Python: backend fallback, Named: missing}\n"
      "    calls:\n"
      "      - {tensors: [[CPU, AutogradCPU, Dense], [[CPU], [CPU, Negative]]], include: [Tracer],"
      " exclude: [], unexclude: [AutocastCPU], trail: [tr, cpu]}\n"
      "      - {tensors: [[CPU], []], via: unboxed, trail: [cpu]}\n"
      "      - {tensors: [[CPU, Python], []], via: boxed, trail: [py, cpu]}\n"
      "      - {tensors: [[CPU], []], via: redispatch, keys: [CUDA], trail: [math]}\n"
      "      - {tensors: [[CPU], []], include: [Named], error: Named, code: UNIMPLEMENTED}\n"
      "      - {tensors: [[CPU], []], include: [Tracer, Named], exclude: [Tracer], code: "
      "UNIMPLEMENTED}\n"
      "      - {tensors: [[CPU, AutogradCPU], []], exclude: [Autograd], trail: [cpu]}\n"
      "    remove: [0, 2]\n"
      "    table_after: {CPU: math, Tracer: \"<missing>\"}\n"
      "    calls_after:\n"
      "      - {tensors: [[CPU], []], trail: [math]}\n"
      "      - {tensors: [[CPU], []], include: [Tracer], error: Tracer}\n",
      "t::f(Tensor x, Tensor[] ys) -> Tensor");
  EXPECT_EQ(told, "");
}

TEST(CheckDispatch, ATrailBesideAnErrorCountsAsWell) {
  const std::string chain =
      "    register: [{key: Tracer, kernel: k, then: redispatch}, {key: CPU, kernel: k}]\n";
  EXPECT_EQ(run_case(chain + "    calls: [{tensors: [[CPU, Tracer]], trail: [k, k]}]\n"), "");
  EXPECT_EQ(run_case(chain + "    calls: [{tensors: [[CUDA, Tracer]], trail: [k], error: CUDA}]\n"),
            "");
  expect_failed(chain + "    calls: [{tensors: [[CUDA, Tracer]], trail: [], error: CUDA}]\n",
                "ran [k], wanted []");
}

TEST(CheckDispatch, AnOperatorWithoutADefinitionCanBeExpectedToFail) {
  EXPECT_EQ(run_case("    def: false\n    register: {CPU: cpu}\n    table: {CPU: cpu}\n"
                     "    calls: [{tensors: [[CPU]], error: \"t::f\", code: FAILED_PRECONDITION}]\n"
                     "    remove: [0]\n"
                     "    calls_after: [{tensors: [[CPU]], error: \"t::f\", code: NOT_FOUND}]\n",
                     "t::f"),
            "");
}

TEST(CheckDispatch, AnAliasInAKeySetIsNoted) {
  EXPECT_NE(run_case("    register: {CPU: cpu}\n"
                     "    calls: [{tensors: [[CPU, Autograd]], trail: [cpu]}]\n")
                .find("Autograd brings nothing"),
            std::string::npos);
}

TEST(CheckDispatch, FactoriesNeedNoListOfTensors) {
  EXPECT_EQ(
      run_case("    register: {CompositeExplicitAutograd: cea}\n    calls: [{trail: [cea]}]\n",
               "t::make() -> Tensor"),
      "");
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
