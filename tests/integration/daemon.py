"""Starting and stopping the built daemon."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Optional

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("OPYARD_BIN_DIR", ROOT / "build" / "release" / "bin"))
# Sanitizer builds start slowly on a busy machine.
PATIENCE = 60.0
NOBODY = 65534


def first_bytes_for_nobody(path: Path | str) -> bytes:
    """What another user gets who connects to the socket: b"" when he is turned away."""
    code = f"""
import os, socket, sys
os.setresgid({NOBODY}, {NOBODY}, {NOBODY}); os.setresuid({NOBODY}, {NOBODY}, {NOBODY})
link = socket.socket(socket.AF_UNIX); link.settimeout(20); link.connect({str(path)!r})
try:
    sys.stdout.buffer.write(link.recv(100))
except ConnectionResetError:
    pass
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout


class Daemon:
    """One opyardd at a socket. Leaves no process behind."""

    def __init__(self, directory: Path, *flags: str, listen: Optional[str] = None) -> None:
        self.directory = directory
        self.path = directory / "opyardd.sock"
        self.address = listen or f"unix:{self.path}"
        self.log = directory / "opyardd.log"
        self.flags = flags
        self.process: Optional[subprocess.Popen[bytes]] = None

    def start(self) -> "Daemon":
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [str(BIN / "opyardd"), "--listen", self.address, *self.flags], stdout=log, stderr=log)
        if self.address.startswith("unix:"):
            self._wait_for_socket()
        return self

    def _wait_for_socket(self) -> None:
        """For the operator's as well, unless the test has its own idea of that one."""
        self._wait_for(self.path)
        if "--admin-socket" not in self.flags:
            self._wait_for(Path(f"{self.path}.admin"))

    def _wait_for(self, path: Path) -> None:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            assert self.process is not None
            if self.process.poll() is not None:
                raise AssertionError(f"opyardd left with {self.process.returncode}: {self.text()}")
            with socket.socket(socket.AF_UNIX) as probe:
                try:
                    probe.connect(str(path))
                    return
                except OSError:
                    time.sleep(0.02)
        raise AssertionError(f"opyardd did not listen at {path} within {PATIENCE} s: {self.text()}")

    def text(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def wait(self, seconds: float = PATIENCE) -> int:
        assert self.process is not None
        return self.process.wait(seconds)

    def stop(self) -> int:
        """Drains it; its exit status."""
        if self.alive:
            self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.wait()

    def memory(self) -> int:
        """Resident bytes."""
        assert self.process is not None
        fields = Path(f"/proc/{self.process.pid}/statm").read_text().split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")
