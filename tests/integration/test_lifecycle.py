"""Starting, draining, dying."""

from __future__ import annotations

import queue
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Iterator

import grpc
import pytest
from conftest import Starter
from daemon import BIN, ROOT, Daemon
from opyard.v1 import ops_pb2
from wire import Failed, Wire, op, tensor


class Frames:
    """Frames of an open stream, handed over one by one."""

    def __init__(self) -> None:
        self._frames: "queue.Queue[Any]" = queue.Queue()

    def send(self, frame: Any) -> None:
        self._frames.put(frame)

    def __iter__(self) -> Iterator[Any]:
        while (frame := self._frames.get()) is not None:
            yield frame


def work(wire: Wire, seq: int, size: int = 1500, rounds: int = 6) -> list[Any]:
    """Calls that take a while."""
    square = wire.fresh()
    calls = [op(seq, "aten::rand", [size, size], results=[square])]
    for i in range(rounds):
        calls.append(op(seq + 1 + i, "aten::mm", tensor(square), tensor(square)))
    return calls


def test_sigterm_drains_and_leaves_with_0(start: Starter) -> None:
    daemon = start()
    with Wire(daemon.address) as wire:
        wire.put(1.0)
        daemon.signal(signal.SIGTERM)
        started = time.monotonic()
        assert daemon.wait() == 0, daemon.text()
        assert time.monotonic() - started < 10, "an idle client does not hold the daemon"
    assert not daemon.path.exists()
    assert "drained" in daemon.text()


def test_work_under_way_at_sigterm_is_answered(start: Starter) -> None:
    daemon = start()
    with Wire(daemon.address) as wire:
        replies: list[Any] = []
        caller = threading.Thread(target=lambda: replies.append(wire.call(*work(wire, 1, rounds=40), fence=5)))
        caller.start()
        time.sleep(0.5)
        daemon.signal(signal.SIGTERM)
        caller.join()
        assert replies and replies[0].fence.fence == 5 and not replies[0].errors
    assert daemon.wait() == 0, daemon.text()


def test_streams_are_told_why_they_end(start: Starter) -> None:
    daemon = start()
    with Wire(daemon.address) as wire:
        frames = Frames()
        replies = wire.stream(iter(frames))
        assert next(replies).HasField("opened")
        daemon.signal(signal.SIGTERM)
        with pytest.raises(grpc.RpcError) as ended:
            next(replies)
        frames.send(None)
        assert ended.value.code() == grpc.StatusCode.UNAVAILABLE
        assert "draining" in ended.value.details()
    assert daemon.wait() == 0


def test_a_second_signal_leaves_at_once(start: Starter) -> None:
    daemon = start("--drain-seconds", "60")
    with Wire(daemon.address) as wire:
        caller = threading.Thread(target=lambda: expect_failure(lambda: wire.call(*work(wire, 1, 2000, 200))))
        caller.start()
        time.sleep(0.5)
        daemon.signal(signal.SIGTERM)
        time.sleep(0.5)
        assert daemon.alive, "a frame is under way"
        daemon.signal(signal.SIGTERM)
        assert daemon.wait(10) == 128 + signal.SIGTERM
        caller.join()


def expect_failure(call: Any) -> None:
    with pytest.raises(Failed):
        call()


def test_killed_in_mid_call_the_client_gets_unavailable(start: Starter) -> None:
    daemon = start()
    with Wire(daemon.address) as wire:
        failures: list[Failed] = []

        def call() -> None:
            try:
                wire.call(*work(wire, 1, 2000, 200))
            except Failed as error:
                failures.append(error)

        caller = threading.Thread(target=call)
        caller.start()
        time.sleep(0.5)
        started = time.monotonic()
        daemon.kill()
        caller.join()
        assert time.monotonic() - started < 10
        assert failures and failures[0].code == "UNAVAILABLE"


def test_after_kill_and_restart_sessions_are_lost_and_say_so(start: Starter) -> None:
    daemon = start()
    with Wire(daemon.address) as wire:
        before = wire.handshake().incarnation
        number = wire.put(1.0)
        daemon.kill()
        assert daemon.path.exists(), "nobody was there to remove it"
        daemon.start()
        end = time.monotonic() + 30
        while True:  # the channel reconnects by itself
            try:
                after = wire.handshake().incarnation
                break
            except Failed as error:
                assert error.code == "UNAVAILABLE" and time.monotonic() < end
                time.sleep(0.1)
        assert after != before
        with pytest.raises(Failed) as caught:
            wire.get(number)
        assert caught.value.code == "NOT_FOUND"
        assert caught.value.info.reason == "SESSION_LOST"


def test_a_killed_client_leaves_nothing_behind(start: Starter) -> None:
    daemon = start("--lease-seconds", "1", "--sessions", "1")
    code = f"""
import sys, time; sys.path[:0] = {[str(Path(__file__).parent)]!r}
from wire import Wire
wire = Wire({daemon.address!r}); wire.put(*([1.0] * 1000)); print("ready", flush=True); time.sleep(60)
"""
    import sys
    client = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert client.stdout is not None and client.stdout.readline() == b"ready\n"
    with pytest.raises(Failed) as caught:
        Wire(daemon.address)
    assert caught.value.code == "RESOURCE_EXHAUSTED"
    client.kill()
    client.wait()
    end = time.monotonic() + 30
    while True:
        try:
            Wire(daemon.address)
            break
        except Failed:
            assert time.monotonic() < end, "the session of a dead client never ended"
            time.sleep(0.1)


def test_two_daemons_at_one_socket(start: Starter) -> None:
    daemon = start()
    second = subprocess.run([str(BIN / "opyardd"), "--listen", daemon.address], capture_output=True, text=True)
    assert second.returncode == 1
    assert "already listens" in second.stderr
    with Wire(daemon.address) as wire:
        assert wire.get(wire.put(1.0)) == [1.0]


@pytest.mark.parametrize("flags, status, words", [
    (["--nonsense"], 2, "--nonsense"),
    (["--listen", "unix:" + "x" * 108], 2, "107"),
    (["--listen", "nonsense"], 2, "unix:PATH"),
    (["--listen", "0.0.0.0:0", "--insecure-tcp"], 1, "loopback"),
    (["--listen", "127.0.0.1:0"], 1, "--insecure-tcp"),
    (["--log-level", "loud"], 2, "loud"),
    (["--plugin", "no_such"], 1, "no_such"),
    (["--plugin", "../../etc/passwd"], 2, "name"),
    (["--config", "/no/such/file"], 2, "/no/such/file"),
    (["--drain-seconds", "-1"], 2, "--drain-seconds"),
], ids=lambda item: " ".join(item)[:40] if isinstance(item, list) else None)
def test_wrong_options(tmp_path: Path, flags: list[str], status: int, words: str) -> None:
    if "--listen" not in flags:
        flags = [*flags, "--listen", f"unix:{tmp_path}/s"]
    result = subprocess.run([str(BIN / "opyardd"), *flags], capture_output=True, text=True, timeout=60)
    assert result.returncode == status, result.stderr
    assert words in result.stderr
    assert result.stdout == ""


def test_plugins_come_from_the_first_directory_that_has_one(start: Starter, tmp_path: Path) -> None:
    own = str(BIN.parent / "lib" / "opyard" / "plugins")
    daemon = start("--plugin-dir", str(tmp_path), "--plugin-dir", own)
    assert f"plugin cpu loaded from {own}/" in daemon.text()
    result = subprocess.run([str(BIN / "opyardd"), "--plugin-dir", str(tmp_path), "--plugin-dir", "/no/such",
                             "--listen", f"unix:{tmp_path}/s"], capture_output=True, text=True, timeout=60)
    assert result.returncode == 1
    assert f"no plugin 'cpu' in {tmp_path}, /no/such; there is none" in result.stderr
    local = subprocess.run([str(BIN / "opyard"), "ping", "--local", "--plugin-dir", str(tmp_path), "--plugin-dir", own],
                           capture_output=True, text=True, timeout=60)
    assert local.returncode == 0 and "devices: cpu" in local.stdout


def test_a_directory_that_is_made_for_the_socket_is_told(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, listen=f"unix:{tmp_path}/new/s")
    daemon.path = tmp_path / "new" / "s"
    daemon.start()
    try:
        assert f"made the directory {tmp_path}/new (mode 0700)" in daemon.text()
    finally:
        assert daemon.stop() == 0


def test_the_shipped_configuration_lists_every_option(tmp_path: Path) -> None:
    shipped = ROOT / "deploy" / "config" / "opyardd.toml"
    printed = subprocess.run([str(BIN / "opyardd"), "--print-config"], capture_output=True, text=True, check=True,
                             env={"PATH": "/usr/bin:/bin"})
    assert printed.stdout == shipped.read_text()


def test_frames_are_counted_in_their_timings(start: Starter) -> None:
    daemon = start()
    with Wire(daemon.address) as wire:
        timings = wire.call(*work(wire, 1, 300, 2), fence=1).fence.timings
        assert timings.kernel_ns > timings.resolve_ns > 0


def test_idle_daemon_is_small(start: Starter) -> None:
    daemon = start()
    with Wire(daemon.address) as wire:
        wire.handshake()
    assert daemon.memory() < 200 << 20
    assert isinstance(daemon, Daemon)


def test_an_open_stream_keeps_its_session(start: Starter) -> None:
    daemon = start("--lease-seconds", "1")
    with Wire(daemon.address) as wire:
        frames = Frames()
        replies = wire.stream(iter(frames))
        base = next(replies).opened.stream << 48
        time.sleep(2.5)
        frames.send(ops_pb2.OpFrame(ops=[op(1, "aten::ones", [2], results=[base + 1], want=ops_pb2.WANT_VALUE)]))
        assert len(next(replies).results) == 1
        frames.send(None)
