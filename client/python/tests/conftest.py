import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import opyard  # noqa: E402
from double import Double  # noqa: E402


@pytest.fixture
def double(tmp_path):
    running = Double(f"unix:{tmp_path}/double.sock")
    yield running
    running.stop()


@pytest.fixture
def yard(double):
    with opyard.connect(double.address, timeout=10) as connected:
        yield connected
