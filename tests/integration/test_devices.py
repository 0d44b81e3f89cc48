"""Private devices behind a daemon: two toys side by side, from every client, while they are exchanged."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from pathlib import Path
from typing import Any, Iterator

import numpy as np
import opyard
import pytest
from conftest import Starter
from daemon import BIN, Daemon

LIB = BIN.parent / "lib" / "opyard"
DIRS = ("--plugin-dir", str(LIB / "plugins"), "--plugin-dir", str(LIB / "examples"))
TOYS = (*DIRS, "--plugin", "cpu", "--plugin", "toy", "--plugin", "toy2")


def opyard_program(daemon: Daemon, *words: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("OPYARD_")}
    return subprocess.run([str(BIN / "opyard"), *words, "--address", daemon.address], capture_output=True, text=True,
                          timeout=90, env=env)


def done(daemon: Daemon, *words: str) -> Any:
    result = opyard_program(daemon, *words, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def slot(daemon: Daemon, name: str) -> Any:
    return done(daemon, "plugin", "list", name)["slots"][0]


@pytest.fixture
def daemon(start: Starter) -> Iterator[Daemon]:
    yield start(*TOYS)


def test_tensors_go_to_a_device_by_its_name_and_back(daemon: Daemon) -> None:
    with opyard.connect(daemon.address) as yard:
        x = yard.tensor([[1.0, -2.0], [3.0, 4.0]])
        there = x.to("toy")
        assert there.device == "toy"
        assert there.tolist() == [[1, -2], [3, 4]]
        assert there.t().tolist() == [[1, 3], [-2, 4]]
        assert (there @ there).tolist() == [[-5, -10], [15, 10]]
        assert there.relu().to("cpu").tolist() == [[1, 0], [3, 4]]
        assert there.to("toy:1", "float64").dtype == "float64"
        assert there.to(device="toy2", non_blocking=True).tolist() == [[1, -2], [3, 4]]
        assert yard.zeros([2, 2], device="toy2").device == "toy2"
        assert yard.tensor([1, 2], device="toy").device == "toy"
        assert 0 <= min(yard.rand(8, device="toy2").tolist()) <= 1
        assert yard.arange(5, device="toy:1").tolist() == [0, 1, 2, 3, 4]
        there[0] = [7.0, 8.0]
        assert there.tolist() == [[7, 8], [3, 4]]
        assert there[:, 1].tolist() == [8, 4]
        assert float(there.sum()) == 22
        big = np.arange(1 << 20, dtype=np.float32)  # more than is sent inline
        assert np.array_equal(yard.tensor(big).to("toy").numpy(), big)
        assert np.array_equal(yard.tensor(big).to("toy")[::2].numpy(), big[::2])


def test_two_devices_do_not_mix(daemon: Daemon) -> None:
    with opyard.connect(daemon.address) as yard:
        a, b = yard.tensor([1.0]).to("toy"), yard.tensor([1.0]).to("toy2")
        with pytest.raises(opyard.InvalidArgument, match="toy2"):
            (a + b).numpy()
        with pytest.raises(opyard.InvalidArgument, match="no device"):
            a.to("toy3").numpy()
        with pytest.raises(opyard.InvalidArgument, match="toy:2"):
            a.to("toy:2").numpy()
        with pytest.raises(opyard.InvalidArgument):
            a.to("toy", "toy2")
        with pytest.raises(opyard.InvalidArgument):
            a.to()
        assert (a + b.to("toy")).tolist() == [2]


def test_what_a_device_lacks_is_computed_on_the_cpu_counted_and_logged(daemon: Daemon) -> None:
    with opyard.connect(daemon.address) as yard:
        x = yard.tensor([1.0, 4.0]).to("toy")
        for _ in range(3):
            assert x.sqrt().tolist() == [1, 2]
        x.sub_(1.0)
        assert x.tolist() == [0, 3]
    one = slot(daemon, "toy")["generations"][0]
    assert one["fallbacks"]["aten::sqrt"] == 3
    assert one["fallbacks"]["aten::sub_.Tensor"] == 1
    assert daemon.text().count("'aten::sqrt' has no kernel for 'toy'") == 1
    assert "aten::sqrt (3)" in opyard_program(daemon, "plugin", "list", "toy").stdout
    assert not slot(daemon, "toy2")["generations"][0]["fallbacks"]


def test_without_the_fallback_what_is_lacking_is_refused(start: Starter) -> None:
    daemon = start(*TOYS, "--cpu-fallback=false")
    with opyard.connect(daemon.address) as yard:
        x = yard.tensor([1.0, 4.0]).to("toy")
        assert (x + x).tolist() == [2, 8]
        with pytest.raises(opyard.Unimplemented, match="plugin 'toy'.*cpu_fallback"):
            x.sqrt().numpy()


def test_the_command_line_reaches_devices(daemon: Daemon) -> None:
    assert done(daemon, "call", "aten::_to_copy", "[1,2]", "device=toy")["results"][0] == {
        "dtype": "int64", "shape": [2], "device": "toy", "data": [1, 2]}
    assert "toy2" in done(daemon, "ping")["devices"]
    assert slot(daemon, "toy")["device"] == "toy"
    assert {slot(daemon, name)["backend"] for name in ("toy", "toy2")} == {"PrivateUse1", "PrivateUse2"}
    rows = opyard_program(daemon, "table", "aten::add.Tensor").stdout.splitlines()
    assert any(row.startswith("toy ") and "toy_device/kernels.cc" in row for row in rows)


def test_memory_of_a_device_is_charged_to_the_session(start: Starter) -> None:
    daemon = start(*TOYS, "--session-bytes", str(1 << 20))
    with opyard.connect(daemon.address) as yard:
        with pytest.raises(opyard.ResourceExhausted):
            yard.zeros([1 << 20], device="toy").numpy()
        assert yard.zeros([10], device="toy").tolist() == [0] * 10


@pytest.mark.parametrize("policy", ["keep", "share"])
def test_a_device_is_exchanged_under_traffic(daemon: Daemon, policy: str) -> None:
    failures: list[str] = []
    calls = [0, 0]
    stop = threading.Event()

    def call(place: int) -> None:
        try:
            with opyard.connect(daemon.address) as yard:
                kept = yard.tensor([float(place)]).to("toy")
                while not stop.is_set():
                    number = float(calls[place])
                    x = yard.tensor([number, 1.0]).to("toy", non_blocking=calls[place] % 2 == 1)
                    if (x + x).tolist() != [2 * number, 2.0] or x.sub(x).tolist() != [0, 0]:
                        failures.append(f"wrong at {number}")
                    if kept.tolist() != [float(place)]:
                        failures.append("a kept tensor has changed")
                    calls[place] += 1
        except opyard.Error as error:
            failures.append(str(error))

    threads = [threading.Thread(target=call, args=(place,)) for place in (0, 1)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            before = list(calls)
            done(daemon, "plugin", "swap", "toy", "--tensors", policy, "--keep-warm", "0")
            while not failures and any(now < then + 5 for now, then in zip(calls, before)):
                stop.wait(0.01)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures
    totals = done(daemon, "plugin", "list")["calls"]
    assert totals["accepted"] == totals["completed"] + totals["failed"] + totals["cancelled"] + totals["in_flight"]
    assert totals["failed"] == 0


def test_tensors_of_a_generation_that_failed_say_so(daemon: Daemon) -> None:
    with opyard.connect(daemon.address) as yard:
        x = yard.tensor([1.0]).to("toy")
        assert x.tolist() == [1]
        first = slot(daemon, "toy")["active"]
        done(daemon, "plugin", "swap", "toy", "--tensors", "fail", "--keep-warm", "0")
        with pytest.raises(opyard.FailedPrecondition, match=f"generation {first} of the plugin 'toy'"):
            while True:  # until the patience is over
                assert x.tolist() == [1]
        assert yard.tensor([2.0]).to("toy").tolist() == [2]
