"""The regression gate of the call path: instructions per call, counted by callgrind, against instructions.yaml."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest
import yaml

HERE = pathlib.Path(__file__).parent
LIMITS = yaml.safe_load((HERE / "instructions.yaml").read_text())
CALLS = 1000
PROGRAM = pathlib.Path(os.environ.get("OPYARD_BUILD_DIR", "build/release")) / "bench" / "bench_instructions"


def read_dumps(folder):
    """Instructions of each case: callgrind writes one file per dump, with the case's name in it."""
    counted = {}
    for path in folder.iterdir():
        text = path.read_text()
        name = re.search(r"^desc: Trigger: Client Request: (\S+)$", text, re.M)
        total = re.search(r"^totals: (\d+)", text, re.M)
        if name and total:
            counted[name.group(1)] = int(total.group(1))
    return counted


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed, so instructions cannot be counted")
    if not PROGRAM.exists():
        pytest.fail(f"{PROGRAM} was not built")
    folder = tmp_path_factory.mktemp("callgrind")
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", str(PROGRAM)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    cases = read_dumps(folder)
    loop = cases.pop("loop")
    return {name: round((total - loop) / CALLS) for name, total in cases.items()}


@pytest.mark.parametrize("case", sorted(LIMITS))
def test_a_call_takes_no_more_instructions_than_it_did(counted, case):
    print(f"{case}: {counted[case]} instructions, limit {LIMITS[case]}")
    assert 0 < counted[case] <= LIMITS[case], (
        f"{case} takes {counted[case]} instructions, it took {LIMITS[case]}. If the path has to be longer, say why and "
        "raise the limit in tests/bench/instructions.yaml"
    )


def test_every_case_has_a_limit(counted):
    assert sorted(counted) == sorted(LIMITS)
