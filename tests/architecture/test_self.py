"""The checks can fail: each is run on something that is wrong on purpose, and on the same thing put right."""

import pathlib
import shutil
import subprocess
import sys

import checks
import functions
import pytest

HERE = pathlib.Path(__file__).parent
TABLE = checks.load_table(HERE / "floors.yaml")
CORE = "server/lib/opyard/core"


def tree(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


BASE = {
    "server/lib/opyard/base/error.h": "#pragma once\n",
    f"{CORE}/tensor.h": '#pragma once\n#include "opyard/base/error.h"\n',
    "kernels/cpu/add.cc": '#include "opyard/core/tensor.h"\n#include "opyard/ops/add.h"\n',
    "kernels/shape/shape.h": "#pragma once\n",
    "kernels/composite/c.h": "#pragma once\n",
    "server/daemon/rpc/ops.cc": "#include <grpcpp/grpcpp.h>\n",
    "client/cpp/client.h": '#pragma once\n#include "opyard/v1/ops.pb.h"\n#include "opyard/base/error.h"\n',
}


def test_a_right_tree_has_no_complaint(tmp_path):
    tree(tmp_path, BASE)
    assert checks.check_floors(tmp_path, TABLE) == []
    assert checks.check_third_party(tmp_path, TABLE) == []


@pytest.mark.parametrize("name, text, word", [
    ("server/lib/opyard/base/bad.h", '#include "opyard/core/tensor.h"', "a higher floor"),
    ("kernels/cpu/bad.cc", '#include "kernels/composite/c.h"', "a sibling"),
    ("kernels/shape/bad.h", '#include "kernels/wrappers.h"', "a higher floor"),
    ("kernels/shape/bad.h", '#include "kernels/cpu/generated.h"', "a higher floor"),
    ("client/cpp/bad.cc", '#  include "opyard/core/tensor.h"', "may include only"),
    ("server/daemon/rpc/bad.cc", '#include "client/cpp/client.h"', "is a client"),
    ("server/lib/opyard/novel/bad.cc", "", "does not know"),
])
def test_a_wrong_include_is_found(tmp_path, name, text, word):
    tree(tmp_path, {**BASE, name: text})
    complaints = checks.check_floors(tmp_path, TABLE)
    assert len(complaints) == 1 and word in complaints[0] and name in complaints[0], complaints


@pytest.mark.parametrize("name, text", [
    (f"{CORE}/bad.cc", "#include <grpcpp/channel.h>"),
    (f"{CORE}/bad.cc", '#include "opyard/v1/ops.grpc.pb.h"'),
    ("server/daemon/rpc/bad.cc", "#include <boost/asio.hpp>"),
    ("kernels/cpu/bad.cc", "#include <spdlog/spdlog.h>"),
])
def test_a_library_in_the_wrong_place_is_found(tmp_path, name, text):
    tree(tmp_path, {**BASE, name: text})
    assert len(checks.check_third_party(tmp_path, TABLE)) == 1


def test_a_second_user_of_spdlog_is_found(tmp_path):
    log = "#include <spdlog/spdlog.h>"
    tree(tmp_path, {**BASE, "server/daemon/app/a.cc": log})
    assert checks.check_third_party(tmp_path, TABLE) == []
    tree(tmp_path, {"server/daemon/app/b.cc": log})
    assert len(checks.check_third_party(tmp_path, TABLE)) == 1


def test_a_missing_and_a_long_readme_are_found(tmp_path):
    tree(tmp_path, {f"{CORE}/a.cc": "", "deploy/README.md": "x\n" * 61})
    complaints = checks.check_readmes(tmp_path)
    assert len(complaints) == 2 and "no README.md" in complaints[0] and "61 lines" in complaints[1]


def test_a_long_file_and_a_stale_permission_are_found(tmp_path):
    tree(tmp_path, {f"{CORE}/a.h": "x\n" * 301, f"{CORE}/a.cc": "x\n" * 500})
    table = {**TABLE, "longer_files": []}
    assert len(checks.check_lengths(tmp_path, table)) == 1
    table["longer_files"] = [{"path": f"{CORE}/a.h", "lines": 301, "reason": "one table"}]
    assert checks.check_lengths(tmp_path, table) == []
    table["longer_files"].append({"path": f"{CORE}/a.cc", "lines": 600, "reason": "none needed"})
    assert len(checks.check_lengths(tmp_path, table)) == 1


FUNCTIONS = """
namespace opyard { namespace {
struct Row { int a = 1; int get() const noexcept { return a; } };
constexpr int kTable[] = {1, 2,
                          3};
}  // namespace
#define MANY(x) { x
Tensor::Tensor(int n) : size_(n), rows_{n}, keys_(n) {
  call([&] { return "{"; });
}
template <class T> auto twice(T x) -> decltype(x) {
  if (x) { return '{';
  }
  return x;
}
}
"""


def test_functions_are_measured():
    got = [(name, lines) for name, _, lines in functions.function_lengths(FUNCTIONS)]
    assert got == [("get", 1), ("Tensor::Tensor", 3), ("twice", 5)]


def test_a_long_function_is_found(tmp_path):
    tree(tmp_path, {f"{CORE}/a.cc": "int f() {\n" + "  g();\n" * 59 + "}\nint h() {\n" + "  g();\n" * 58 + "}\n"})
    complaints = checks.check_functions(tmp_path, TABLE)
    assert len(complaints) == 1 and "f has 61 lines" in complaints[0]


def test_a_private_path_is_found(tmp_path):
    tree(tmp_path, {"a.txt": "look in /ho" + "me/someone/x\n", "b.txt": "/usr/lib/x\n"})
    assert len(checks.check_private_paths([tmp_path / "a.txt", tmp_path / "b.txt"])) == 1


@pytest.mark.parametrize("text, wrong", [
    ("inline int counter = 0;", True),
    ("  static inline std::vector<int> all;", True),
    ("static Registry* registry = nullptr;", True),
    ("inline constexpr int kMany = 3;", False),
    ("static constexpr size_t kLimit = 64;", False),
    ("inline int twice(int x) { return 2 * x; }", False),
    ("static Tensor make(int n);", False),
    ("extern const Handle handle;", False),
])
def test_state_in_a_header_is_found(text, wrong):
    assert bool(checks.check_header_state(text, "a.h")) == wrong


def compiled(tmp_path, compiler, text):
    (tmp_path / "header.h").write_text("#pragma once\n" + text)
    output = tmp_path / "header.o"
    return checks.compile_headers(compiler, ["header.h"], [tmp_path], output, checks.KEEP_INLINE), output


def test_a_unique_symbol_is_found(tmp_path, compiler):
    errors, output = compiled(tmp_path, compiler, "namespace opyard { inline int* f() { static int n; return &n; } }")
    assert errors == "" and len(checks.unique_symbols(output)) == 1
    errors, output = compiled(tmp_path, compiler, "namespace opyard { inline int f() { return 1; } }")
    assert errors == "" and checks.unique_symbols(output) == []


def test_a_header_that_needs_another_is_found(tmp_path, compiler):
    errors, _ = compiled(tmp_path, compiler, "inline std::string f() { return {}; }")
    assert "string" in errors


def test_a_copy_relocation_is_found(tmp_path):
    tree(tmp_path, {"lib.cc": "namespace opyard { int handle = 3; }\n",
                    "main.cc": "namespace opyard { extern int handle; }\nint main() { return opyard::handle; }\n"})
    gxx = shutil.which("g++")
    subprocess.run([gxx, "-shared", "-fPIC", "-o", "libx.so", "lib.cc"], cwd=tmp_path, check=True)
    subprocess.run([gxx, "-fno-pie", "-no-pie", "-o", "main", "main.cc", "libx.so"], cwd=tmp_path, check=True)
    assert len(checks.copy_relocations(tmp_path / "main")) == 1


def summary(tmp_path, files):
    tree(tmp_path, files)
    command = [sys.executable, str(HERE.parent / "summary.py"), str(tmp_path), "--preset", "asan-ubsan"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


CTEST = ('<testsuite><testcase name="torture/t" status="run"/><testcase name="a/b" status="run"/><testcase name="a/c" status="notrun"><skipped message="S"/>'
         "<system-out>x_test.cc:2: Skipped\nno device here\n</system-out></testcase>{}</testsuite>")
CASES = {name + ".cases": "2 passed, 0 failed\nexit status 0\n" for name in ("dispatch", "ops-local", "ops-grpc")}
CASES["pytest-client-python.xml"] = '<testsuites><testsuite><testcase name="p"/></testsuite></testsuites>'


def test_the_summary_counts_everything(tmp_path):
    code, lines = summary(tmp_path, {**CASES, "ctest.xml": CTEST.format("")})
    assert code == 0 and lines[-1] == "9 passed, 0 failed"
    assert any("no device here" in line for line in lines)


@pytest.mark.parametrize("files, count", [
    ({}, "0 passed, 6 failed"),
    ({**CASES}, "7 passed, 2 failed"),
    ({**CASES, "ctest.xml": CTEST.format('<testcase name="d" status="fail"><failure>no</failure></testcase>')},
     "9 passed, 1 failed"),
    ({**CASES, "ctest.xml": CTEST.format(""), "dispatch.cases": "FAIL x\n1 passed, 2 failed\nexit status 1\n"},
     "8 passed, 2 failed"),
    ({**CASES, "ctest.xml": CTEST.format(""), "dispatch.cases": "Killed\nexit status 137\n"}, "7 passed, 1 failed"),
    ({**CASES, "ctest.xml": CTEST.format(""), "pytest-x.log": "boom\nexit status 4\n"}, "9 passed, 1 failed"),
    ({**CASES, "ctest.xml": "<testsu"}, "7 passed, 3 failed"),
])
def test_the_summary_refuses_what_failed_or_did_not_run(tmp_path, files, count):
    code, lines = summary(tmp_path, files)
    assert code == 1 and lines[-1] == count, lines
