"""The real opyardd for tests: found, started on a socket of its own, stopped or killed."""

import os
import pathlib
import signal
import subprocess
import time

import opyard
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


def binary(name):
    """Skips, with the reason, where it was not built."""
    folder = pathlib.Path(os.environ.get("OPYARD_BIN_DIR", ROOT / "build" / "release" / "bin"))
    if not (folder / name).exists():
        pytest.skip(f"no {name} in {folder}: build first or set OPYARD_BIN_DIR")
    return str(folder / name)


class Daemon:
    def __init__(self, socket):
        self.address = f"unix:{socket}"
        self.log = socket.with_suffix(".log")
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([binary("opyardd"), "--listen", self.address], stdout=log, stderr=log)
        until = time.monotonic() + 30
        while True:
            try:
                opyard.connect(self.address, timeout=5).close()
                return
            except opyard.Unavailable as error:
                if self.process.poll() is not None or time.monotonic() > until:
                    self.kill()
                    pytest.fail(f"opyardd does not start ({error}); it said:\n{self.log.read_text()[-2000:]}")
                time.sleep(0.05)

    def alive(self):
        return self.process.poll() is None

    def kill(self):
        self.process.kill()
        self.process.wait(10)

    def stop(self):
        """SIGTERM; the daemon must drain and end with status 0."""
        if not self.alive():
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
            status = "none within 30 s"
        assert status == 0, f"opyardd ended with status {status}; it said:\n{self.log.read_text()[-4000:]}"
