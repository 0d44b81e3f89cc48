import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import opyard  # noqa: E402
from daemon import Daemon  # noqa: E402
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


@pytest.fixture(scope="session")
def daemon(tmp_path_factory):
    """One opyardd for all tests that leave it alive; that it is, is checked after each."""
    running = Daemon(tmp_path_factory.mktemp("daemon") / "d.sock")
    yield running
    running.stop()


@pytest.fixture
def real(daemon):
    """A yard on the real daemon, which must be alive afterwards."""
    with opyard.connect(daemon.address, timeout=20) as connected:
        yield connected
    assert daemon.alive(), f"opyardd died; it said:\n{daemon.log.read_text()[-4000:]}"


@pytest.fixture
def own_daemon(tmp_path):
    """An opyardd that the test may kill."""
    running = Daemon(tmp_path / "d.sock")
    yield running
    running.kill()
