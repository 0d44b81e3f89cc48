"""Adds up the reports of tests/run: CTest and pytest JUnit files, and the YAML runners' own counts.

Prints a table by group, every failure, every skip with its reason, and as last line "N passed, M failed".
A group that should have run and did not counts as a failure: a suite that runs nothing is not green.
"""

import argparse
import pathlib
import re
import sys
import xml.etree.ElementTree as ET
from collections import OrderedDict

COUNT = re.compile(r"^(\d+) passed, (\d+) failed$")

# Groups that must have run, by preset; any preset that is not named has those of "other".
REQUIRED = {
    "release": ["unit", "embed", "torture", "dispatch", "ops-local", "ops-grpc", "architecture", "client-python", "plugins", "bench"],
    "other": ["unit", "torture", "dispatch", "ops-local", "ops-grpc", "client-python"],
}


class Group:
    def __init__(self):
        self.passed = 0
        self.failures = []  # (name, text)
        self.skips = []  # (name, reason)


def ctest_group(name):
    group = name.split("/")[0]
    return group if group in ("embed", "torture") else "unit"


def skip_reason(case):
    """GoogleTest prints the reason below the line "…: Skipped"; pytest puts it into the message."""
    out = case.findtext("system-out") or ""
    found = re.search(r": Skipped\n(.+)", out)
    if found:
        return found.group(1).strip()
    skipped = case.find("skipped")
    return (skipped.get("message") or skipped.text or "no reason given").strip()


def failure_text(case, element):
    text = element.text or element.get("message") or ""
    out = case.findtext("system-out") or ""
    lines = (text.strip() + "\n" + out.strip()).strip().splitlines()
    return "\n".join(lines[-25:])


def read_junit(path, group_of, groups):
    try:
        root = ET.parse(path).getroot()
    except ET.ParseError as error:
        groups.setdefault(path.stem, Group()).failures.append((path.name, f"unreadable report: {error}"))
        return
    for case in root.iter("testcase"):
        name = case.get("name", "?")
        group = groups.setdefault(group_of(name), Group())
        broken = case.find("failure")
        broken = broken if broken is not None else case.find("error")
        if broken is not None or case.get("status") == "fail":
            text = failure_text(case, broken if broken is not None else case)
            group.failures.append((f"{case.get('classname', '')} {name}".strip(), text))
        elif case.find("skipped") is not None:
            group.skips.append((name, skip_reason(case)))
        elif case.get("status") in (None, "run"):
            group.passed += 1
        else:
            group.failures.append((name, f"did not run: {case.get('status')}"))


def read_cases(path, groups):
    """A YAML runner's output: its last count is the result, its exit status must agree with it."""
    group = groups.setdefault(path.stem, Group())
    lines = path.read_text(errors="replace").splitlines()
    status = next((line.split()[-1] for line in reversed(lines) if line.startswith("exit status ")), "?")
    counts = [found for found in map(COUNT.match, lines) if found]
    if not counts:
        group.failures.append((path.stem, "the runner printed no count:\n" + "\n".join(lines[-25:])))
        return
    passed, failed = int(counts[-1].group(1)), int(counts[-1].group(2))
    group.passed += passed
    told = [line for line in lines if re.match(r"^\s*(FAIL|fail)", line)]
    for i in range(failed):
        group.failures.append((path.stem, told[i].strip() if i < len(told) else "see " + path.name))
    if status != ("1" if failed else "0"):
        group.failures.append((path.stem, f"exit status {status} does not fit {passed} passed, {failed} failed"))


def read_pytest_log(path, groups):
    """Collection errors and crashes leave no junit entry: the log's exit status tells."""
    group = groups.setdefault(pytest_group(path), Group())
    lines = path.read_text(errors="replace").splitlines()
    status = [line.split()[-1] for line in lines if line.startswith("exit status ")]
    if status and status[-1] not in ("1", "5") or (status and status[-1] == "1" and not group.failures):
        group.failures.append((path.stem, "pytest ended with status " + status[-1] + "\n" + "\n".join(lines[-25:])))


def pytest_group(path):
    return path.stem.replace("pytest-", "").replace("tests-", "")


def read_reports(folder):
    groups = OrderedDict()
    if (folder / "ctest.xml").exists():
        read_junit(folder / "ctest.xml", ctest_group, groups)
    for path in sorted(folder.glob("*.cases")):
        read_cases(path, groups)
    for path in sorted(folder.glob("pytest-*.xml")):
        name = pytest_group(path)
        read_junit(path, lambda _: name, groups)
    for path in sorted(folder.glob("pytest-*.log")):
        read_pytest_log(path, groups)
    for path in sorted(folder.glob("*.failed")):
        groups.setdefault("suite", Group()).failures.append((path.stem, "see the output above"))
    return groups


def require(groups, preset):
    for name in REQUIRED.get(preset, REQUIRED["other"]):
        group = groups.setdefault(name, Group())
        if not group.passed and not group.failures:
            group.failures.append((name, "nothing ran"))


def show(groups):
    for name, group in groups.items():
        for test, reason in group.skips:
            print(f"SKIPPED {name}: {test}: {reason}")
    for name, group in groups.items():
        for test, text in group.failures:
            print(f"FAILED {name}: {test}")
            for line in text.splitlines():
                print("    " + line)
    print(f"{'group':<18}{'passed':>8}{'failed':>8}{'skipped':>9}")
    for name, group in groups.items():
        print(f"{name:<18}{group.passed:>8}{len(group.failures):>8}{len(group.skips):>9}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reports", type=pathlib.Path)
    parser.add_argument("--preset", default="release")
    options = parser.parse_args()
    groups = read_reports(options.reports)
    require(groups, options.preset)
    show(groups)
    passed = sum(group.passed for group in groups.values())
    failed = sum(len(group.failures) for group in groups.values())
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
