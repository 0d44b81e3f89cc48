"""The list of the dispatcher's scenarios names cases and tests that exist."""

import re

import yaml


def test_scenarios_name_what_exists(root):
    text = (root / "tests/dispatch_cases/SCENARIOS.md").read_text()
    cases = {f"{path.stem}/{case['name']}" for path in (root / "tests/dispatch_cases").glob("*.yaml")
             for case in yaml.safe_load(path.read_text())["cases"]}
    files = {case.partition("/")[0] for case in cases}
    tests = "".join(path.read_text() for path in (root / "tests/unit").rglob("*_test.cc"))
    named = [name for name in re.findall(r"\b(\w+/\w+)(?![\w*])", text) if name.partition("/")[0] in files]
    assert len(named) > 40
    assert [name for name in named if name not in cases and not name.endswith("_")] == []
    suites = re.findall(r"`(?:(\w+)\.)?(N?\w+)`", text)
    wanted = [f"{suite or 'Scenario'}, {name})" for suite, name in suites
              if name != "h" and (suite or re.fullmatch(r"N\d\w{4,}", name))]
    assert len(wanted) > 40
    assert [test for test in wanted if test not in tests] == []
