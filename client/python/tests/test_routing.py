"""Explanations, tables and traces of the real opyardd."""

import threading
import time

import numpy as np
import opyard
import pytest

RELU = [" [callBoxed] op=[aten::relu], key=[AutogradCPU]", "  [redispatchBoxed] op=[aten::relu], key=[CPU]"]


def test_explanations(real):
    x = real.tensor([1.0])
    trail = real.explain("aten::add", x, x)
    assert trail.op == "aten::add.Tensor" and trail.chosen == trail.keys[-1] == "AutogradCPU"
    assert [step.key for step in trail.steps] == ["AutogradCPU", "CPU", "CPU"]
    assert trail.steps[-1].source == "cpu" and trail.steps[-1].place.startswith("registered at ")
    assert str(trail).splitlines()[0] == "aten::add.Tensor"
    missing = real.explain_keys("aten::mm", "CUDA", exclude=["AutogradCUDA"])
    assert missing.fails and missing.chosen == "" and missing.steps[-1].kernel == "no kernel"
    with pytest.raises(opyard.InvalidArgument):
        real.explain_keys("aten::mm", "NoSuchKey")


def test_tables(real):
    table = real.table("aten::add.Tensor")
    assert sum(len(row.keys) for row in table.rows) == 138 and len(table.rows) < 10
    assert table.rows[0].key == "CPU" and table.rows[-1].kind == "missing"
    assert "Autograd*" in str(table)
    assert all(len(line) <= 80 for line in real.table(real.ops.aten.mm, width=80).text.splitlines())
    assert real.table("aten::mm", "state").text.startswith("name: aten::mm\nschema: ")
    assert real.table("aten::mm", "dump").text.startswith("CPU: ")
    assert len(real.table("aten::select", "all").rows) == 138, "the only overload"
    for wrong in ({"form": "neat"}, {"width": -1}):
        with pytest.raises(opyard.InvalidArgument):
            real.table("aten::mm", **wrong)
    with pytest.raises(opyard.NotFound, match="aten::add.Scalar"):
        real.table("aten::add")
    assert "operators" in real.check_invariants()


def test_a_trace_has_the_calls_of_its_block(real, daemon):
    x = real.tensor([1.0])
    x.exp()
    with opyard.connect(daemon.address) as other, real.trace("aten::") as trace:
        other.tensor([1.0]).exp()
        x.relu()
    x.exp()
    assert [line.text for line in trace.lines] == RELU and trace.lost == 0
    assert str(trace) == "\n".join(RELU)
    assert [(line.op, line.key, line.label, line.depth) for line in trace] == [
        ("aten::relu", "AutogradCPU", "callBoxed", 1), ("aten::relu", "CPU", "redispatchBoxed", 2)]
    assert not trace.lines and "ended" in repr(trace)
    trace.close()


def test_a_trace_is_read_while_calls_run(real):
    x = real.tensor([1.0])
    trace = real.trace("aten::relu")
    seen = []
    reader = threading.Thread(target=lambda: seen.extend(line.text for line in trace))
    reader.start()
    x.relu().tolist()
    until = time.monotonic() + 20
    while len(seen) < 2 and time.monotonic() < until:
        time.sleep(0.01)
    assert seen == RELU, "before the trace is closed"
    trace.close()
    reader.join(20)
    assert not reader.is_alive()


def test_traces_end_with_the_block_that_fails_and_with_the_yard(daemon):
    with opyard.connect(daemon.address) as yard:
        with pytest.raises(ZeroDivisionError), yard.trace() as trace:
            1 // 0
        assert trace._ended
        left_open = [yard.trace() for _ in range(yard.limits.traces_per_session)]
        with pytest.raises(opyard.ResourceExhausted):
            yard.trace()
    for trace in left_open:
        assert list(trace) == []
    with pytest.raises(opyard.FailedPrecondition):
        yard.trace()


def test_what_nobody_reads_is_counted(real, monkeypatch):
    monkeypatch.setattr("opyard.routing.KEPT_LINES", 10)
    x = real.tensor([1.0])
    with real.trace("aten::relu") as trace:
        for _ in range(20):
            x.relu()
    assert len(trace.lines) == 10 and trace.lost == 30
    assert str(trace).endswith("… 30 lines lost")


def test_a_closed_yard_says_so(daemon):
    yard = opyard.connect(daemon.address)
    assert "closed" not in repr(yard)
    yard.close()
    assert repr(yard).endswith(", closed>")
    for call in (yard.check_invariants, lambda: yard.table("aten::mm"), lambda: yard.explain_keys("aten::mm", "CPU")):
        with pytest.raises(opyard.FailedPrecondition):
            call()


def test_arrays_within_a_list_of_tensors_become_tensors(real):
    x = real.tensor([1.0])
    together = real.ops.aten.cat([x, np.array([2.0], np.float32), [3.0, 4.0]])
    assert together.tolist() == [1, 2, 3, 4]
    assert real.ops.aten.cat([np.ones((1, 2)), np.zeros((1, 2))], 1).shape == (1, 4)
    with pytest.raises(opyard.InvalidArgument, match="tensors"):
        real.ops.aten.cat([x, 2])
