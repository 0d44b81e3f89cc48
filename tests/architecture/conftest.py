import os
import pathlib
import shutil

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def build():
    """The build folder under test: OPYARD_BUILD_DIR, else build/release."""
    folder = pathlib.Path(os.environ.get("OPYARD_BUILD_DIR", ROOT / "build" / "release"))
    if not (folder / "lib" / "libopyard.so").exists():
        pytest.skip(f"no libopyard.so in {folder}: build first or set OPYARD_BUILD_DIR")
    return folder


@pytest.fixture(scope="session")
def compiler():
    """g++, through ccache where there is one: most headers do not change from run to run."""
    launcher = [shutil.which("ccache")] if shutil.which("ccache") else []
    return [*launcher, "g++"]
