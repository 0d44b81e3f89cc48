"""Batching, releases, failures that come up later, limits, and what happens when the daemon goes away."""

import gc
import os
import subprocess
import sys
import threading
import time

import numpy as np
import opyard
import pytest
from double import Double
from opyard import address


def line():
    """The line of the caller, as a failed call is expected to tell it."""
    return sys._getframe(1).f_lineno


def wait_for(condition):
    until = time.monotonic() + 5
    while not condition() and time.monotonic() < until:
        time.sleep(0.005)
    assert condition()


def failure_of(call):
    try:
        call()
    except opyard.Error as error:
        return error
    return None


def test_dependent_calls_travel_together_and_names_once(yard, double):
    x = yard.tensor([1.0])
    for _ in range(1000):
        x = x + 1
    assert x.item() == 1001
    assert yard.stats.calls == double.counts["ops"] == 1000
    assert double.counts["frames"] <= 1000 // 32 and double.counts["most ops in a frame"] <= 128
    assert double.counts["names"] == 1 and double.counts["schemas asked"] == 1


def test_calls_do_not_wait_for_the_daemon(yard, double):
    x = yard.tensor([1.0])
    x.item()
    double.hold.clear()
    started = time.monotonic()
    for _ in range(200):
        x = x + 1
    assert time.monotonic() - started < 2
    double.hold.set()
    assert x.item() == 201


def test_a_lone_call_leaves_without_being_asked(yard, double):
    x = yard.tensor([1.0]) + 1
    wait_for(lambda: double.counts["ops"] == 1)
    assert x.item() == 2


def test_a_call_waits_when_too_much_is_under_way(double):
    with opyard.connect(double.address, timeout=20) as yard:
        x = yard.tensor([1.0])
        x.item()
        double.hold.clear()
        yard._pipeline.timeout = 0.5
        with pytest.raises(opyard.DeadlineExceeded, match="under way"):
            for _ in range(5000):
                x = x + 1
        yard._pipeline.timeout = 20
        double.hold.set()
        assert x.item() == 1 + 4096


def test_released_tensors_leave_the_daemon(yard, double):
    kept = yard.tensor([1.0])
    for _ in range(300):
        kept + 1
    yard.synchronize()
    wait_for(lambda: double.live_values() == 1)
    del kept
    wait_for(lambda: double.live_values() == 0)


def test_a_finaliser_may_run_anywhere(yard, double):
    """In a cycle, from the collector in another thread, and while this thread holds the pipeline's lock."""
    cycle = [yard.tensor([1.0])]
    cycle.append(cycle)
    with yard._pipeline._lock:
        del cycle
        collector = threading.Thread(target=gc.collect)
        collector.start()
        collector.join(5)
        assert not collector.is_alive()
    wait_for(lambda: double.live_values() == 0)


def test_failures_of_dropped_results_leave_nothing_behind(yard):
    x = yard.tensor([1.0, 2.0])
    for _ in range(300):
        yard.ops.test.refuse(x)
    dropped = yard.tensor([1.0])
    dropped.add_(x)
    del dropped
    with pytest.raises(opyard.InvalidArgument):
        yard.synchronize()
    for _ in range(2):  # the first takes the releases along, the second hears of them
        x + 1
        yard._pipeline.fence()
    failures = yard._pipeline._failures
    assert not failures._results and not failures._targets and len(failures._uploads) == 1
    while failures.oldest_unseen():
        pass


def test_threads_share_a_yard(yard):
    x = yard.tensor(np.zeros(4, np.float32))
    results, errors = [], []

    def work(number):
        try:
            y = x
            for _ in range(200):
                y = y + number
            results.append((number, y.numpy()))
        except Exception as error:  # shown below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not errors and sorted(n for n, _ in results) == list(range(8))
    assert all(np.array_equal(values, np.full(4, 200.0 * n)) for n, values in results)


def test_a_failure_comes_up_at_the_value_with_the_line_of_the_call(yard):
    x, y = yard.tensor([[1.0, 2.0]]), yard.tensor([[1.0, 2.0]])
    bad = x @ y; where = line()  # noqa: E702
    then = (bad + 1) * 2
    with pytest.raises(opyard.InvalidArgument) as first:
        bad.numpy()
    assert first.value.op == "aten::mm" and first.value.site.endswith(f"test_pipeline.py:{where}")
    with pytest.raises(opyard.FailedPrecondition) as poisoned:
        _ = then.shape
    error = poisoned.value
    assert error.op == "aten::mm" and error.site == first.value.site and error.reason == "POISONED"
    assert isinstance(error.cause, opyard.InvalidArgument) and "inner sizes" in error.cause.message
    assert f"called at {error.site}" in str(error)
    assert x.tolist() == [[1, 2]]  # everything else is intact
    yard.synchronize()  # and was looked at


def test_a_failed_call_in_place_raises_once_and_leaves_its_target_alone(yard):
    x = yard.tensor([1.0, 2.0])
    x += yard.tensor([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(opyard.InvalidArgument, match="target"):
        x.numpy()
    assert x.tolist() == [1, 2]


def test_synchronize_raises_what_nobody_has_seen_then_nothing(yard):
    yard.ops.test.refuse(yard.tensor(1))
    with pytest.raises(opyard.InvalidArgument, match="never satisfied"):
        yard.synchronize()
    yard.synchronize()


def test_a_failure_that_nobody_saw_is_told_at_the_end(double):
    yard = opyard.connect(double.address)
    yard.ops.test.refuse(yard.tensor(1))
    with pytest.warns(RuntimeWarning, match="never satisfied"):
        yard.close()


def test_repr_of_a_failed_tensor_does_not_raise(yard):
    assert "never satisfied" in repr(yard.ops.test.refuse(yard.tensor(1)))


def test_a_failure_of_an_upload_names_its_line(yard):
    id_ = yard._pipeline.put("float32", (3,), b"1234", "here.py:1")
    with pytest.raises(opyard.InvalidArgument, match="here.py:1"):
        opyard.Tensor(yard, id_).numpy()


def test_values_of_another_yard_are_refused_here(double):
    with opyard.connect(double.address) as one, opyard.connect(double.address) as other:
        with pytest.raises(opyard.InvalidArgument, match="another yard"):
            one.tensor(1) + other.tensor(1)
        with pytest.raises(opyard.InvalidArgument, match="another yard"):
            one.ops.aten.cat([one.tensor([1]), other.tensor([1])])


def test_an_unknown_id_is_not_found(yard):
    with pytest.raises(opyard.NotFound):
        opyard.Tensor(yard, 12345).numpy()


def test_limits_of_the_handshake_are_checked_before_sending(double):
    double.limits.list_items = 8
    double.limits.string_bytes = 16
    double.limits.dims = 2
    double.limits.frame_bytes = 100_000
    double.limits.session_bytes = 1 << 20
    with opyard.connect(double.address) as yard:
        x = yard.tensor(np.zeros((2, 2)))
        for call, kind in [(lambda: x.view([1] * 9), opyard.InvalidArgument),
                           (lambda: yard.ops.test.text("x" * 17), opyard.InvalidArgument),
                           (lambda: yard.tensor(np.zeros((1, 1, 1))), opyard.InvalidArgument),
                           (lambda: yard.tensor(np.zeros(1 << 18)), opyard.ResourceExhausted)]:
            with pytest.raises(kind, match="daemon|session"):
                call()
        yard.limits.list_items = yard.limits.string_bytes = 1 << 30
        with pytest.raises(opyard.ResourceExhausted, match="a frame takes 100000"):
            yard.ops.test.text("x" * 100_000)
        for _ in range(40):  # each takes most of a frame
            assert len(yard.ops.test.text("y" * 40_000)) == 40_000
        assert x.numpy().shape == (2, 2)


def test_uploads_and_calls_alternate(yard):
    total = yard.tensor(np.zeros(1000, np.float32))
    for n in range(50):
        total = total + np.full(1000, n, np.float32)
    assert total.numpy()[0] == sum(range(50))


def test_no_daemon_is_unavailable_at_once_and_says_what_to_do(tmp_path):
    started = time.monotonic()
    with pytest.raises(opyard.Unavailable, match="opyardd --listen unix:"):
        opyard.connect(f"unix:{tmp_path}/nobody.sock")
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("text", ["nowhere", "host:", "host:x", ":1", "host:70000", "unix:", "unix:/" + "x" * 107])
def test_addresses_that_are_none(text):
    with pytest.raises(opyard.InvalidArgument):
        opyard.connect(text)


def test_the_address_is_the_argument_then_the_environment_then_the_users(monkeypatch, tmp_path):
    monkeypatch.setenv("OPYARD_ADDRESS", "localhost:1")
    assert address.resolve("localhost:2") == "localhost:2" and address.resolve() == "localhost:1"
    monkeypatch.delenv("OPYARD_ADDRESS")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert address.resolve() == "unix:/run/opyard/opyardd.sock"
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1000")
    assert address.resolve() == "unix:/run/user/1000/opyard/opyardd.sock"
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert address.resolve().endswith(f"/opyard-{os.getuid()}/opyardd.sock")


def test_a_daemon_that_goes_away_ends_every_wait_and_another_one_is_not_mistaken_for_it(double):
    yard = opyard.connect(double.address, timeout=10)
    x = yard.tensor([1.0])
    x.item()
    double.hold.clear()
    threading.Timer(0.2, lambda: double._server.stop(0)).start()
    started = time.monotonic()
    with pytest.raises(opyard.Unavailable):
        (x + 1).item()
    assert time.monotonic() - started < 5
    with pytest.raises(opyard.Unavailable, match="is it running"):
        x + 1
    double.hold.set()
    double._server.stop(0).wait()
    other = Double(double.address)
    try:
        wait_for(lambda: isinstance(failure_of(lambda: x + 1), opyard.Aborted))  # gRPC waits between its attempts
        lost = failure_of(lambda: x + 1)
        assert lost.reason == "SESSION_LOST" and "not the one of before" in lost.message
        yard.close()
    finally:
        other.stop()


def test_the_session_outlives_a_stream_that_broke(double):
    double.limits.ops_per_frame = 4
    with opyard.connect(double.address, timeout=5) as yard:
        kept = yard.tensor([1.0])
        kept.item()
        yard._pipeline._ops_limit = 100  # as if the client did not care for the limit
        with yard._pipeline._lock:
            lost = [kept + 1 for _ in range(5)]
        with pytest.raises(opyard.InvalidArgument, match="too many ops"):
            lost[0].numpy()
        yard._pipeline._ops_limit = 4
        assert kept.item() == 1 and (kept + 1).item() == 2
        with pytest.raises(opyard.InvalidArgument, match="under way"):
            lost[4].numpy()


def test_a_silent_daemon_ends_in_a_deadline(double):
    yard = opyard.connect(double.address, timeout=0.3)
    x = yard.tensor([1.0])
    double.hold.clear()
    with pytest.raises(opyard.DeadlineExceeded, match="0.3 s"):
        x.item()
    double.hold.set()
    assert x.item() == 1
    yard.close()


def test_closing_gives_the_session_back_and_later_calls_are_refused(double):
    yard = opyard.connect(double.address)
    x = yard.tensor([1.0])
    yard.close()
    yard.close()
    assert not double.sessions
    with pytest.raises(opyard.FailedPrecondition, match="closed"):
        x + 1
    with pytest.raises(opyard.FailedPrecondition, match="closed"):
        x.numpy()


def test_a_yard_that_is_dropped_gives_its_session_back(double):
    yard = opyard.connect(double.address)
    yard.tensor([1.0]).item()
    del yard
    gc.collect()
    wait_for(lambda: not double.sessions)


@pytest.mark.parametrize("end", ["", "sys.exit(3)", "raise KeyError('x')", "del yard",
                                 "threading.Thread(target=work, daemon=True).start()"])
def test_the_interpreter_ends_promptly_with_work_under_way(double, end):
    program = ("import sys, threading, opyard\n"
               "def work():\n  try:\n    while True: x + 1\n  except opyard.Error: pass\n"
               f"yard = opyard.connect({double.address!r})\n"
               "x = yard.tensor([1.0]) + 1\nx.item()\nz = [x + n for n in range(500)]\n" + end)
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert time.monotonic() - started < 15
    assert done.returncode == {"sys.exit(3)": 3, "raise KeyError('x')": 1}.get(end, 0), done.stderr
    if "KeyError" not in end:
        assert done.stderr == ""
    wait_for(lambda: not double.sessions)
