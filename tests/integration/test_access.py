"""Who may connect."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
from pathlib import Path

import pytest
from conftest import Starter
from daemon import BIN, NOBODY, first_bytes_for_nobody
from wire import Wire

pytestmark = pytest.mark.hostile



def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_socket_and_directory_are_the_owners_alone(start: Starter) -> None:
    before = os.umask(0)
    try:
        daemon = start()
    finally:
        os.umask(before)
    assert mode(daemon.path) == 0o600
    assert mode(daemon.directory) == 0o700


def test_default_socket_directory(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root's default is /run/opyard, which belongs to the system")
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    daemon = subprocess.Popen([str(BIN / "opyardd")], env=environment, stderr=subprocess.PIPE)
    assert daemon.stderr is not None
    while b"listening" not in (line := daemon.stderr.readline()):
        assert line, "opyardd left"
    assert mode(tmp_path / "opyard") == 0o700
    daemon.terminate()
    assert daemon.wait(60) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_is_turned_away(start: Starter) -> None:
    daemon = start()
    # Even with open modes: the peer's user is what counts.
    daemon.directory.chmod(0o755)
    daemon.path.chmod(0o666)
    assert first_bytes_for_nobody(daemon.path) == b""
    assert f"user {NOBODY}" in daemon.text()
    with Wire(daemon.address) as wire:
        assert wire.get(wire.put(2.0)) == [2.0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir(mode=0o700)
    os.chown(theirs, NOBODY, NOBODY)
    result = subprocess.run([str(BIN / "opyardd"), "--listen", f"unix:{theirs}/s"], capture_output=True, text=True,
                            timeout=60)
    assert result.returncode == 1
    assert f"belongs to user {NOBODY}" in result.stderr


def test_a_precious_file_is_not_replaced(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("data")
    result = subprocess.run([str(BIN / "opyardd"), "--listen", f"unix:{precious}"], capture_output=True, text=True,
                            timeout=60)
    assert result.returncode == 1
    assert "not a socket" in result.stderr
    assert precious.read_text() == "data"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_loopback_port_on_demand(start: Starter) -> None:
    port = free_port()
    daemon = start("--insecure-tcp", "--listen", f"127.0.0.1:{port}")
    with Wire(f"127.0.0.1:{port}") as tcp, Wire(daemon.address) as unix:
        assert tcp.get(tcp.put(1.5)) == [1.5]
        assert tcp.handshake().incarnation == unix.handshake().incarnation
