"""Fixtures: a daemon for the tests of a file, or one of a test's own."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Callable, Iterator

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from daemon import Daemon  # noqa: E402
from wire import Wire  # noqa: E402

Starter = Callable[..., Daemon]


@pytest.fixture
def start() -> Iterator[Starter]:
    """Starts daemons that end with the test. Short paths: a socket's has at most 107 bytes."""
    daemons: list[Daemon] = []
    directories: list[tempfile.TemporaryDirectory[str]] = []

    def run(*flags: str, **more: str) -> Daemon:
        directory = tempfile.TemporaryDirectory(prefix="opyard-", dir="/tmp")
        directories.append(directory)
        daemon = Daemon(Path(directory.name), *flags, **more)
        daemons.append(daemon)
        return daemon.start()

    yield run
    try:
        for daemon in daemons:
            if daemon.alive:
                assert daemon.stop() == 0, daemon.text()
    finally:
        for daemon in daemons:
            if daemon.alive:
                daemon.kill()
        for directory in directories:
            directory.cleanup()


@pytest.fixture(scope="module")
def shared() -> Iterator[Daemon]:
    """One daemon for a file's tests, which must be alive after each of them."""
    with tempfile.TemporaryDirectory(prefix="opyard-", dir="/tmp") as directory:
        daemon = Daemon(Path(directory), "--session-bytes", str(64 << 20)).start()
        try:
            yield daemon
            assert daemon.stop() == 0, daemon.text()
        finally:
            if daemon.alive:
                daemon.kill()


@pytest.fixture
def wire(shared: Daemon) -> Iterator[Wire]:
    """A session at the shared daemon; after the test a bystander's session must be as it was."""
    with Wire(shared.address) as bystander, Wire(shared.address) as wire:
        precious = bystander.put(1.0, 2.0, 3.0)
        mine = wire.put(4.0, 5.0)
        yield wire
        assert shared.alive, shared.text()
        assert bystander.get(precious) == [1.0, 2.0, 3.0]
        assert wire.get(mine) == [4.0, 5.0]
