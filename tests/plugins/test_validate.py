"""`opyard plugin validate` and `opyard plugin diff FILE FILE`: the kit of plugins' authors."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

BUILD = Path(os.environ.get("OPYARD_BUILD_DIR", Path(__file__).resolve().parents[2] / "build" / "release"))
OPYARD = str(Path(os.environ.get("OPYARD_BIN_DIR", BUILD / "bin")) / "opyard")
ZOO = BUILD / "tests" / "zoo"
CHECKS = ["lint", "lifecycle", "leftovers", "cycles", "failures", "operators", "unloading"]
OURS = ["plugins/libopyard_plugin_cpu.so", "examples/libopyard_plugin_axpby.so", "examples/libopyard_plugin_axpby_c.so",
        "examples/libopyard_plugin_toy.so"]


def opyard(*words: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([OPYARD, "plugin", *map(str, words)], capture_output=True, text=True, timeout=300,
                          env={**os.environ, **more})


def animal(name: str) -> Path:
    return ZOO / f"{name}.so"


@pytest.mark.parametrize("file", OURS)
def test_our_own_plugins_pass_everything(file: str) -> None:
    result = opyard("validate", BUILD / "lib" / "opyard" / file, "--cycles", "50", "--json")
    report = json.loads(result.stdout)
    assert [check["name"] for check in report["checks"]] == CHECKS
    assert [check for check in report["checks"] if not check["passed"]] == []
    assert report["passed"] and result.returncode == 0


def test_the_table_says_what_passed_and_why_not(tmp_path: Path) -> None:
    result = opyard("validate", animal("leaves_descriptor"), "--cycles", "20")
    lines = [line.split(maxsplit=4) for line in result.stdout.splitlines() if not line.startswith(" ")]
    verdicts = {line[0]: line[1] for line in lines[:-1]}
    assert list(verdicts) == CHECKS
    assert [name for name in CHECKS if verdicts[name] == "FAILED"] == ["leftovers", "cycles", "failures"]
    reasons = {line[0]: line[4] for line in lines[:-1] if len(line) > 4}
    assert "it left the descriptor" in reasons["leftovers"] and "/dev/null" in reasons["leftovers"]
    assert "descriptors grew from" in reasons["cycles"]
    assert result.stdout.splitlines()[-1] == "4 passed, 3 failed"
    assert result.returncode == 1


def test_a_crash_is_a_verdict_and_the_rest_goes_on() -> None:
    result = opyard("validate", animal("segv_in_g"), "--cycles", "10", "--json")
    checks = {check["name"]: check for check in json.loads(result.stdout)["checks"]}
    assert checks["lifecycle"]["passed"] and checks["cycles"]["passed"]
    assert checks["operators"]["reason"].startswith("it died by SIGSEGV while calling zoo::g")
    assert not checks["unloading"]["passed"]
    assert result.returncode == 1


def test_a_kernel_that_raises_is_named() -> None:
    result = opyard("validate", animal("throws_std_in_g"), "--check", "failures", "--check", "unloading", "--json")
    for check in json.loads(result.stdout)["checks"]:
        assert check["passed"], "the exception ends at the interface"
        (remark,) = {one.split("it raised ")[1] for one in check["remarks"] if "it raised " in one}
        assert remark.startswith("INTERNAL: ") and "a standard reason" in remark and " in zoo::g at " in remark


def test_what_does_not_start_is_told_once(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    result = opyard("validate", animal("segv_in_init"), "--junit", report)
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "it died by SIGSEGV while loading it" in lines[1] and result.stdout.count("SIGSEGV") == 1
    assert lines[2:] == [f"{name} not run it does not start" for name in CHECKS[2:]] + ["1 passed, 1 failed, 5 not run"]
    suite = ET.parse(report).getroot()
    assert (suite.get("failures"), suite.get("skipped"), len(list(suite.iter("skipped")))) == ("1", "5", 5)
    stays = opyard("validate", animal("unique_symbols"), "--cycles", "5", "--json")
    assert all(check["ran"] for check in json.loads(stays.stdout)["checks"]), "it starts, and stays"
    assert result.returncode == stays.returncode == 1


def test_one_that_hangs_is_ended() -> None:
    result = opyard("validate", animal("spin_in_init"), "--check", "lifecycle", "--timeout", "1", "--json")
    (check,) = json.loads(result.stdout)["checks"]
    assert check["reason"] == "it was still loading it after 1 s"


def test_junit(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    result = opyard("validate", animal("wrong_shape"), "--check", "operators", "--check", "lint", "--junit", report)
    assert result.returncode == 1
    suite = ET.parse(report).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert list(cases) == ["operators", "lint"]
    failure = cases["operators"].find("failure")
    assert failure is not None and "gave float32[5, 5] on cpu" in failure.get("message", "")
    assert cases["lint"].find("failure") is None
    nowhere = opyard("validate", animal("good"), "--check", "lint", "--junit", tmp_path / "no" / "report.xml")
    assert nowhere.returncode == 1 and "could not be written" in nowhere.stderr


def test_progress_is_for_terminals_only() -> None:
    words = [OPYARD, "plugin", "validate", str(animal("good")), "--check", "cycles", "--cycles", "20"]
    assert subprocess.run(words, capture_output=True, text=True, timeout=60).stderr == ""
    ours, theirs = pty.openpty()
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=theirs, text=True) as process:
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 4096):
                shown += part
        except OSError:  # the other end is closed
            pass
        os.close(ours)
    assert process.returncode == 0
    assert b"cycles: 25 of 25" in shown and shown.endswith(b"\r\x1b[K")


@pytest.mark.parametrize(("words", "status", "part"), [
    (["validate", "good", "--check", "nonsense"], 2, "there are: lint, lifecycle"),
    (["validate", "good", "--cycles", "0"], 2, "cycles"),
    (["validate", "good", "--timeout", "-1"], 2, "timeout"),
    (["validate", "absent"], 1, "NOT_FOUND"),
    (["validate"], 2, "FILE"),
    (["diff", "good", "absent"], 1, "NOT_FOUND"),
    (["diff", "good", "segv_in_init"], 1, "it died by SIGSEGV while loading it"),
    (["diff", "on_exit", "good"], 1, "on_exit"),
])
def test_what_is_wrong_is_said(words: list[str], status: int, part: str) -> None:
    files = {"good", "absent", "segv_in_init", "on_exit"}
    result = opyard(*(animal(word) if word in files else word for word in words))
    assert result.returncode == status, result.stderr
    assert part in result.stderr + result.stdout


def test_without_the_worker_it_says_so() -> None:
    for words in (["validate", animal("good")], ["diff", animal("good"), animal("good_2")]):
        result = opyard(*words, OPYARD_WORKER="/nowhere/opyard-worker")
        assert result.returncode == 1
        assert "UNAVAILABLE" in result.stderr and "OPYARD_WORKER" in result.stderr


def test_two_builds_are_compared_without_a_daemon() -> None:
    result = opyard("diff", animal("wrong_shape"), animal("good"), "--json", OPYARD_ADDRESS="unix:/nowhere/socket")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["differences"] == [
        {"kind": "kernel lost", "what": "aten::relu at CPU", "before": "boxed", "after": "", "needs": "allow_loss"}]
    assert opyard("diff", animal("good"), animal("good_2")).stdout == "no differences\n"
