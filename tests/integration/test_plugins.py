"""The operator's commands: plugins listed and exchanged while clients call, and what is refused."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Iterator

import grpc
import opyard
import pytest
from conftest import Starter
from daemon import BIN, NOBODY, ROOT, Daemon, first_bytes_for_nobody

PLUGIN = BIN.parent / "lib" / "opyard" / "plugins" / "libopyard_plugin_cpu.so"


def plugin(daemon: Daemon, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("OPYARD_", "COLUMNS"))}
    return subprocess.run([str(BIN / "opyard"), "plugin", *words, "--address", daemon.address], capture_output=True,
                          text=True, timeout=90, env={**env, **more})


def done(daemon: Daemon, *words: str) -> Any:
    result = plugin(daemon, *words, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def slot(daemon: Daemon, name: str = "cpu") -> Any:
    return done(daemon, "list", name)["slots"][0]


def states(daemon: Daemon) -> dict[int, str]:
    return {one["generation"]: one["state"] for one in slot(daemon)["generations"]}


def totals_hold(calls: dict[str, int]) -> bool:
    return calls["accepted"] == sum(calls[name] for name in ("completed", "failed", "cancelled", "in_flight"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A plugin directory with the CPU plugin, the same built anew, and what is no plugin."""
    place = tmp_path / "plugins"
    place.mkdir(mode=0o755)
    shutil.copy(PLUGIN, place / "libopyard_plugin_cpu.so")
    shutil.copy(PLUGIN, place / "libopyard_plugin_cpu_new.so")
    with open(place / "libopyard_plugin_cpu_new.so", "ab") as file:
        file.write(b"another build")
    (place / "libopyard_plugin_text.so").write_text("no plugin\n")
    (place / "libopyard_plugin_cut.so").write_bytes(PLUGIN.read_bytes()[:100_000])
    (place / "secret.so").write_text("not named like a plugin")
    for file in place.iterdir():
        file.chmod(0o644)
    return place


@pytest.fixture
def daemon(start: Starter, folder: Path) -> Iterator[Daemon]:
    yield start("--plugin-dir", str(folder))


class Caller:
    """Calls all the time; every result is checked."""

    def __init__(self, daemon: Daemon) -> None:
        self.address = daemon.address
        self.calls = 0
        self.error = ""
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
        try:
            with opyard.connect(self.address) as yard:
                kept = yard.tensor([1.5, 2.5])
                while not self.stopping.is_set():
                    x = yard.tensor([float(self.calls), 1.0])
                    assert (x + kept).tolist() == [self.calls + 1.5, 3.5]
                    self.calls += 1
                assert kept.tolist() == [1.5, 2.5]
        except Exception as error:
            self.error = repr(error)

    def __enter__(self) -> "Caller":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self.thread.join(60)
        assert not self.thread.is_alive()

    def await_calls(self, more: int) -> None:
        until = self.calls + more
        end = time.monotonic() + 60
        while self.calls < until and time.monotonic() < end and not self.error:
            time.sleep(0.002)
        assert not self.error and self.calls >= until


def test_the_list_of_a_fresh_daemon(daemon: Daemon) -> None:
    shown = done(daemon, "list")
    (cpu,) = shown["slots"]
    (one,) = cpu["generations"]
    assert cpu["slot"] == "cpu" and cpu["active"] == one["generation"] and one["state"] == "active"
    assert one["file"] == "libopyard_plugin_cpu.so" and one["typed_kernels"] > 20 and one["same_build"]
    assert one["kernels"] == [] and shown["under_way"] == []
    assert set(shown["available"]) == {"cpu", "cpu_new", "text", "cut"}
    kernels = done(daemon, "list", "cpu", "--kernels")["slots"][0]["generations"][0]["kernels"]
    assert len(kernels) == one["typed_kernels"] + one["boxed_kernels"]
    assert {"op": "kernel::mm", "key": "CPU", "typed": True, "why_boxed": ""} in kernels
    for width in ("80", "160"):
        lines = plugin(daemon, "list", COLUMNS=width).stdout.splitlines()
        assert lines[0].split()[:3] == ["SLOT", "GEN", "STATE"] and lines[1].split()[:3] == ["cpu", "1", "active"]
        assert max(map(len, lines)) <= int(width)


def test_swaps_under_traffic_lose_nothing(daemon: Daemon) -> None:
    with Caller(daemon) as first, Caller(daemon) as second:
        first.await_calls(5)
        for name in ("cpu_new", "cpu", "cpu_new"):
            before = slot(daemon)["active"]
            change = done(daemon, "swap", "cpu", name)
            assert change["old_generation"] == before and change["new_generation"] == slot(daemon)["active"] > before
            assert change["old_state"] == "warm" and change["publish_ns"] > 0 and change["lost"] == []
            assert totals_hold(done(daemon, "list")["calls"])
            first.await_calls(20)
            second.await_calls(20)
        back = done(daemon, "rollback", "cpu")
        assert back["new_generation"] == before and slot(daemon)["active"] == before
        first.await_calls(20)
    assert not first.error and not second.error
    calls = done(daemon, "list")["calls"]
    assert calls["in_flight"] == calls["failed"] == calls["cancelled"] == 0
    assert calls["completed"] == calls["accepted"] >= first.calls + second.calls
    lines = [line for line in daemon.text().splitlines() if " plugin cpu: " in line]
    assert len([line for line in lines if " I plugin cpu: swap: generation " in line and "published in" in line]) == 3
    assert len([line for line in lines if " I plugin cpu: rollback: " in line]) == 1


def test_hits_go_where_the_calls_go(daemon: Daemon) -> None:
    done(daemon, "swap", "cpu", "cpu_new")
    with Caller(daemon) as caller:
        caller.await_calls(5)
        shown = done(daemon, "list", "cpu", "--hits", "0.5")
    assert shown["counted_ns"] >= 500_000_000
    active, warm = shown["slots"][0]["generations"]
    assert active["state"] == "active" and active["hits_typed"] > 0
    assert warm["state"] == "warm" and warm["hits_typed"] == warm["hits_boxed"] == 0


def test_unload_and_load(daemon: Daemon) -> None:
    with opyard.connect(daemon.address) as yard:
        x = yard.tensor([1.0, 2.0])
        gone = done(daemon, "unload", "cpu")
        assert gone["new_generation"] == 0 and gone["old_state"] == "closed", "proved unmapped"
        with pytest.raises(opyard.Error, match="CPU"):
            (x + x).tolist()
        assert slot(daemon)["active"] == 0
        assert done(daemon, "load", "cpu_new")["new_generation"] == slot(daemon)["active"] > 1
        y = yard.tensor([3.0])
        assert (y + y).tolist() == [6.0]
        assert (x + x).tolist() == [2.0, 4.0], "values outlive a backend"


def test_keep_warm_says_how_long(daemon: Daemon) -> None:
    done(daemon, "swap", "cpu", "--keep-warm", "0")
    end = time.monotonic() + 30
    while states(daemon)[1] != "closed" and time.monotonic() < end:
        time.sleep(0.02)
    assert states(daemon)[1] == "closed"
    shown = plugin(daemon, "list").stdout
    assert " closed  " not in shown and "not shown: 1 generation that is closed or failed (--all)" in shown
    assert any(line.split()[:2] == ["1", "closed"] for line in plugin(daemon, "list", "--all").stdout.splitlines())
    assert "FAILED_PRECONDITION" in plugin(daemon, "rollback", "cpu").stderr


REFUSALS = [
    (["load", "../plugins/libopyard_plugin_cpu"], "INVALID_ARGUMENT", "letters, digits"),
    (["load", str(PLUGIN)], "INVALID_ARGUMENT", f"--plugin-dir {PLUGIN.parent} --plugin cpu"),
    (["load", "secret.so"], "INVALID_ARGUMENT", "letters, digits"),
    (["load", "nothing"], "NOT_FOUND", "there are: cpu, cpu_new, cut, text"),
    (["load", "cpu_new"], "ALREADY_EXISTS", "swap it"),
    (["load", "text"], "FAILED_PRECONDITION", "ELF"),
    (["swap", "cpu", "text"], "FAILED_PRECONDITION", "ELF"),
    (["swap", "cpu", "cut"], "FAILED_PRECONDITION", ""),
    (["swap", "nothing", "cpu"], "NOT_FOUND", "nothing"),
    (["unload", "nothing"], "NOT_FOUND", "nothing"),
    (["rollback", "cpu"], "FAILED_PRECONDITION", "warm"),
    (["diff", "cpu", "text"], "FAILED_PRECONDITION", "ELF"),
    (["list", "nothing"], "NOT_FOUND", "nothing"),
]


def test_what_is_refused_changes_nothing(daemon: Daemon) -> None:
    before = slot(daemon)
    with Caller(daemon) as caller:
        for words, code, text in REFUSALS:
            result = plugin(daemon, *words, "--json")
            assert result.returncode == 1, words
            error = json.loads(result.stdout)["error"]
            assert error["code"] == code and text in error["message"], (words, error)
            assert f"opyard: {code}: " in result.stderr
            if words[0] not in ("list", "diff"):
                assert f": {words[0]} refused: {code}: " in daemon.text(), words
        caller.await_calls(5)
    assert not caller.error
    after = slot(daemon)
    assert after["active"] == before["active"] and after["changes"] == before["changes"]


def test_a_file_that_others_may_write_to_is_refused(daemon: Daemon, folder: Path) -> None:
    (folder / "libopyard_plugin_cpu_new.so").chmod(0o666)
    assert "PERMISSION_DENIED" in plugin(daemon, "swap", "cpu", "cpu_new").stderr
    (folder / "libopyard_plugin_cpu_new.so").chmod(0o644)
    folder.chmod(0o777)
    assert "PERMISSION_DENIED" in plugin(daemon, "swap", "cpu", "cpu_new").stderr
    folder.chmod(0o755)
    assert plugin(daemon, "swap", "cpu", "cpu_new").returncode == 0


def test_wrong_usage(daemon: Daemon) -> None:
    for words in (["swap"], ["load"], ["nothing"], [], ["swap", "cpu", "--tensors", "melt"], ["diff", "cpu"],
                  ["list", "--hits", "61"], ["swap", "cpu", "--keep-warm", "-1"], ["list", "--timeout", "0"]):
        assert plugin(daemon, *words).returncode == 2, words
    assert plugin(daemon, "swap", "cpu", "--local").returncode == 2
    assert plugin(daemon, "list", "--local").returncode == 0


def test_several_admins_at_the_same_time(daemon: Daemon) -> None:
    with Caller(daemon) as caller:
        command = [str(BIN / "opyard"), "plugin", "swap", "cpu", "cpu_new", "--keep-warm", "0", "--address",
                   daemon.address]
        admins = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(8)]
        said = [admin.communicate(timeout=90)[1] for admin in admins]
        caller.await_calls(5)
    assert not caller.error
    swapped = [admin for admin in admins if admin.returncode == 0]
    assert swapped
    for admin, text in zip(admins, said):
        assert admin.returncode == 0 or "ABORTED: 'swap cpu' has been under way" in text \
            or "RESOURCE_EXHAUSTED" in text, text
    assert slot(daemon)["changes"] == 1 + len(swapped)


def test_a_late_answer_is_no_failed_change(daemon: Daemon) -> None:
    late = plugin(daemon, "swap", "cpu", "cpu_new", "--timeout", "0.002")
    assert late.returncode == 1
    assert "DEADLINE_EXCEEDED" in late.stderr and "opyard plugin list" in late.stderr
    end = time.monotonic() + 30
    while done(daemon, "list")["under_way"] and time.monotonic() < end:
        time.sleep(0.01)
    # Whether it began at all is the network's affair; the daemon knows.
    assert slot(daemon)["changes"] in (1, 2)


def test_a_drain_waits_for_a_change(daemon: Daemon) -> None:
    swap = subprocess.Popen([str(BIN / "opyard"), "plugin", "swap", "cpu", "cpu_new", "--address", daemon.address],
                            stderr=subprocess.PIPE, text=True)
    daemon.signal(signal.SIGTERM)
    assert daemon.wait() == 0, daemon.text()
    swap.communicate(timeout=60)


@pytest.fixture
def hanging(folder: Path) -> Path:
    """Puts a plugin there whose init waits for the file that this names."""
    gate = folder.parent / "gate"
    source = Path(__file__).with_name("hanging_plugin.c")
    subprocess.run(["cc", "-std=c11", "-shared", "-fPIC", "-fvisibility=hidden", f'-DGATE="{gate}"',
                    f"-I{ROOT / 'plugins' / 'abi'}", "-o", str(folder / "libopyard_plugin_hanging.so"), str(source)],
                   check=True)
    return gate


def test_a_plugin_that_hangs_holds_up_nobody_else(daemon: Daemon, hanging: Path) -> None:
    with Caller(daemon) as caller:
        late = plugin(daemon, "load", "hanging", "--no-probe", "--timeout", "0.3")
        assert late.returncode == 1 and "DEADLINE_EXCEEDED" in late.stderr
        caller.await_calls(5)
        (change,) = done(daemon, "list")["under_way"]
        assert change["what"] == "load hanging" and change["age_ms"] > 0
        assert "under way: load hanging (for " in plugin(daemon, "list").stdout
        again = plugin(daemon, "load", "hanging", "--no-probe")
        assert again.returncode == 1 and "ABORTED: 'load hanging' has been under way" in again.stderr
        assert done(daemon, "swap", "cpu", "cpu_new")["new_generation"] == slot(daemon)["active"]
        hanging.touch()
        end = time.monotonic() + 30
        while done(daemon, "list")["under_way"] and time.monotonic() < end:
            time.sleep(0.01)
        assert slot(daemon, "hanging")["active"] != 0, "it came to its end, if late"
        caller.await_calls(5)
    assert not caller.error


def test_a_daemon_leaves_although_a_plugin_hangs(start: Starter, folder: Path, hanging: Path) -> None:
    daemon = start("--plugin-dir", str(folder), "--drain-seconds", "1")
    assert plugin(daemon, "load", "hanging", "--no-probe", "--timeout", "0.3").returncode == 1
    began = time.monotonic()
    assert daemon.stop() == 0
    assert time.monotonic() - began < 15
    assert "'load hanging' has been under way for" in daemon.text() and "leaving without its end" in daemon.text()


def test_the_admin_socket_is_the_owners_alone(daemon: Daemon) -> None:
    path = Path(f"{daemon.path}.admin")
    assert stat.S_IMODE(path.lstat().st_mode) == 0o600 and stat.S_ISSOCK(path.lstat().st_mode)
    assert f"listening for the operator at unix:{path}" in daemon.text()
    daemon.stop()
    assert not path.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_is_turned_away(daemon: Daemon) -> None:
    path = f"{daemon.path}.admin"
    daemon.directory.chmod(0o755)
    os.chmod(path, 0o666)
    assert first_bytes_for_nobody(path) == b""
    assert f"user {NOBODY}" in daemon.text()


def test_each_socket_serves_its_own(daemon: Daemon) -> None:
    def code_of(address: str, method: str) -> Any:
        with grpc.insecure_channel(address) as channel:
            call = channel.unary_unary(method, request_serializer=bytes, response_deserializer=bytes)
            try:
                call(b"", timeout=20)
                return grpc.StatusCode.OK
            except grpc.RpcError as error:
                return error.code()

    unserved = grpc.StatusCode.UNIMPLEMENTED
    for method in ("List", "Load", "Swap", "Unload", "Rollback", "Diff", "CountHits"):
        assert code_of(daemon.address, f"/opyard.v1.Plugins/{method}") == unserved
        assert code_of(f"{daemon.address}.admin", f"/opyard.v1.Plugins/{method}") != unserved
    for method in ("Control/Handshake", "Control/OpenSession", "Ops/Call", "Registry/ListOps"):
        assert code_of(f"{daemon.address}.admin", f"/opyard.v1.{method}") == unserved
    for address in (daemon.address, f"{daemon.address}.admin"):
        assert code_of(address, "/grpc.health.v1.Health/Check") == grpc.StatusCode.OK


def test_the_admin_socket_can_be_elsewhere_or_nowhere(start: Starter, tmp_path: Path) -> None:
    place = f"/tmp/opyard-admin-{os.getpid()}"
    daemon = start("--admin-socket", place)
    end = time.monotonic() + 30
    while "listening for the operator" not in daemon.text() and time.monotonic() < end:
        time.sleep(0.01)
    assert "UNAVAILABLE" in plugin(daemon, "list").stderr
    assert plugin(daemon, "list", "--admin-address", f"unix:{place}").returncode == 0
    assert plugin(daemon, "list", OPYARD_ADMIN_ADDRESS=f"unix:{place}").returncode == 0
    none = start("--admin-socket", "none")
    assert not Path(f"{none.path}.admin").exists()
    assert plugin(none, "list").returncode == 1
    os.unlink(f"{place}.lock")
