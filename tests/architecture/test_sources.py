"""What the sources alone show: floors, third-party headers, READMEs, lengths, private paths."""

import pathlib
import shutil
import subprocess

import checks
import pytest

TABLE = checks.load_table(pathlib.Path(__file__).parent / "floors.yaml")


def tell(complaints):
    assert not complaints, "\n".join(["", *complaints])


def test_there_is_something_to_check(root):
    assert sum(1 for _ in checks.source_files(root)) > 20


def test_a_folder_includes_lower_floors_only(root):
    tell(checks.check_floors(root, TABLE))


def test_grpc_asio_and_spdlog_stay_where_they_belong(root):
    tell(checks.check_third_party(root, TABLE))


def test_every_folder_has_a_short_readme(root):
    tell(checks.check_readmes(root))


def test_files_are_short(root):
    tell(checks.check_lengths(root, TABLE))


def test_functions_are_short(root):
    tell(checks.check_functions(root, TABLE))


def test_no_header_holds_mutable_state(root):
    complaints = []
    for path in checks.source_files(root, (".h",)):
        if str(path.relative_to(root)).startswith(("server/lib/", "plugins/")):
            complaints += checks.check_header_state(path.read_text(), path.relative_to(root))
    tell(complaints)


def tracked_files(root):
    """What git knows; without git (an unpacked archive) every file outside build/."""
    command = ["git", "-C", str(root), "ls-files", "-z"]
    if shutil.which("git"):
        listed = subprocess.run(command, capture_output=True, text=True, check=False)
        if listed.returncode == 0:
            return [root / name for name in listed.stdout.split("\0") if name]
    made = {"build", ".git", "__pycache__"}
    return [path for path in root.rglob("*")
            if not made & set(path.relative_to(root).parts) and not path.parent.name.endswith(".egg-info")]


def test_no_private_path_is_written_down(root):
    files = [path for path in tracked_files(root)
             if path.is_file() and path.suffix not in (".npy", ".gz", ".npz", ".png")]
    assert len(files) > 50
    tell(checks.check_private_paths(files))


def test_scripts_are_clean(root):
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    scripts = [root / name for name in ("deploy/run", "deploy/lib.sh", "tests/run", "tests/bench/run", ".ci/run")]
    done = subprocess.run(["shellcheck", "-x", *map(str, scripts)], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
