"""Many clients at once, some of them greedy or short-lived."""

from __future__ import annotations

import threading
import time

import pytest
from conftest import Starter
from opyard.v1 import ops_pb2
from wire import CODES, Failed, Wire, op, tensor


def test_sixteen_clients_side_by_side(start: Starter) -> None:
    daemon = start()
    wrong: list[str] = []

    def client(number: int) -> None:
        with Wire(daemon.address) as wire:
            for i in range(30):
                x = wire.put(float(number), float(i))
                y = wire.fresh()
                wire.call(op(1, "aten::mul.Tensor", tensor(x), tensor(x), results=[y]))
                if wire.get(y) != [float(number * number), float(i * i)]:
                    wrong.append(f"client {number}, round {i}")
                wire.call(release=[x, y])

    threads = [threading.Thread(target=client, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_greedy_session_does_not_starve_the_others(start: Starter) -> None:
    daemon = start("--session-bytes", str(8 << 20), "--session-handles", "1000")
    with Wire(daemon.address) as greedy, Wire(daemon.address) as modest:
        mine = modest.put(1.0)
        codes = set()
        for _ in range(3000):
            reply = greedy.call(op(1, "aten::zeros", [1024], results=[greedy.fresh()]))
            codes |= {CODES[error.code] for error in reply.errors}
        assert codes == {"RESOURCE_EXHAUSTED"}
        started = time.monotonic()
        assert modest.get(mine) == [1.0]
        assert time.monotonic() - started < 5


def test_the_daemons_ceiling_stands_above_all_sessions(start: Starter) -> None:
    daemon = start("--memory-bytes", str(5 << 20))
    wires = [Wire(daemon.address) for _ in range(3)]
    try:
        failures = [list(wire.call(op(1, "aten::zeros", [1 << 19], results=[wire.fresh()])).errors) for wire in wires]
        assert [len(errors) for errors in failures] == [0, 0, 1]
        assert "ceiling" in failures[2][0].message
    finally:
        for wire in wires:
            wire.channel.close()


def test_memory_returns_when_sessions_end(start: Starter) -> None:
    daemon = start("--lease-seconds", "1")
    with Wire(daemon.address) as first:
        first.put(1.0)
    base = daemon.memory()
    for _ in range(10):
        with Wire(daemon.address) as wire:
            for _ in range(8):
                wire.call(op(1, "aten::ones", [1 << 20], results=[wire.fresh()]))
    end = time.monotonic() + 30
    while daemon.memory() > base + (64 << 20):
        assert time.monotonic() < end, f"{daemon.memory() >> 20} MiB resident, {base >> 20} before"
        time.sleep(0.2)


@pytest.mark.hostile
def test_streams_that_are_cut_off(start: Starter) -> None:
    daemon = start()
    with Wire(daemon.address) as wire:
        for i in range(60):
            replies = wire.stream(iter([ops_pb2.OpFrame(
                ops=[op(1, "aten::ones", [1000])], fence=1) for _ in range(i % 5)]))
            next(replies)
            replies.cancel()
        assert wire.get(wire.put(1.0)) == [1.0]
        with pytest.raises(Failed):
            wire.call(*[op(1, "aten::relu")] * 1025)
