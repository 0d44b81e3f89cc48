"""Against the real opyardd: what the operators give, and what a session promises."""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import opyard
import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "examples"
A = np.array([[1.5, -2, 0.25], [3, 4, -0.5]], np.float32)
B = np.array([[5, 6, 0.5], [-7, 8, 2]], np.float32)


def softmax(a):
    e = np.exp(a - a.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


CASES = {
    "add": (lambda y, a, b: a + b, A + B),
    "add alpha": (lambda y, a, b: y.ops.aten.add(a, b, alpha=2), A + 2 * B),
    "add number": (lambda y, a, b: a + 1.5, A + 1.5),
    "sub": (lambda y, a, b: a - b, A - B),
    "number minus": (lambda y, a, b: 2 - a, 2 - A),
    "mul": (lambda y, a, b: a * b, A * B),
    "div": (lambda y, a, b: a / b, A / B),
    "number over": (lambda y, a, b: 1 / b, 1 / B),
    "neg": (lambda y, a, b: -a, -A),
    "exp": (lambda y, a, b: a.exp(), np.exp(A)),
    "log": (lambda y, a, b: (a * a).log(), np.log(A * A)),
    "sqrt": (lambda y, a, b: (a * a).sqrt(), np.abs(A)),
    "tanh": (lambda y, a, b: a.tanh(), np.tanh(A)),
    "sigmoid": (lambda y, a, b: a.sigmoid(), 1 / (1 + np.exp(-A))),
    "relu": (lambda y, a, b: a.relu(), np.maximum(A, 0)),
    "gt": (lambda y, a, b: a > b, A > B),
    "lt": (lambda y, a, b: a < 0, A < 0),
    "eq": (lambda y, a, b: a == a, A == A),
    "where": (lambda y, a, b: y.ops.aten.where(a > b, a, b), np.where(A > B, A, B)),
    "sum": (lambda y, a, b: a.sum(), A.sum()),
    "sum dim": (lambda y, a, b: a.sum([0]), A.sum(0)),
    "sum keepdim": (lambda y, a, b: a.sum([1], keepdim=True), A.sum(1, keepdims=True)),
    "mean": (lambda y, a, b: a.mean(), A.mean()),
    "mean dim": (lambda y, a, b: a.mean([-1]), A.mean(-1)),
    "amax": (lambda y, a, b: a.amax([1]), A.max(1)),
    "argmax": (lambda y, a, b: a.argmax(1), A.argmax(1)),
    "argmax all": (lambda y, a, b: b.argmax(), B.argmax()),
    "mm": (lambda y, a, b: a @ b.t(), A @ B.T),
    "addmm": (lambda y, a, b: y.ops.aten.addmm(y.ones(2), a, b.T), 1 + A @ B.T),
    "softmax": (lambda y, a, b: a.softmax(1), softmax(A)),
    "view": (lambda y, a, b: a.view(3, 2), A.reshape(3, 2)),
    "permute": (lambda y, a, b: a.permute(1, 0), A.T),
    "expand": (lambda y, a, b: a[0].expand(4, 3), np.broadcast_to(A[0], (4, 3))),
    "slice": (lambda y, a, b: a[:, 1:], A[:, 1:]),
    "slice step": (lambda y, a, b: a[:, ::2], A[:, ::2]),
    "select": (lambda y, a, b: a[1, -1], A[1, -1]),
    "unsqueeze": (lambda y, a, b: a[None, :, None], A[None, :, None]),
    "squeeze": (lambda y, a, b: a[:1].squeeze(), A[0]),
    "cat": (lambda y, a, b: y.ops.aten.cat([a, b], 1), np.concatenate([A, B], 1)),
    "clone": (lambda y, a, b: a.t().clone(), A.T),
    "to": (lambda y, a, b: a.to("int32"), A.astype(np.int32)),
    "index_select": (lambda y, a, b: a[:, [2, 0]], A[:, [2, 0]]),
    "zeros": (lambda y, a, b: y.zeros(2, 3), np.zeros((2, 3), np.float32)),
    "full": (lambda y, a, b: y.full([2], 7), np.full(2, 7)),
    "arange": (lambda y, a, b: y.arange(5), np.arange(5)),
    "promotion": (lambda y, a, b: a + y.tensor([1, 2, 3]), A + np.array([1, 2, 3], np.float32)),
    "number keeps dtype": (lambda y, a, b: y.tensor([1, 2]) + 1, np.array([2, 3])),
    "number promotes": (lambda y, a, b: y.tensor([1, 2]) * 1.5, np.array([1.5, 3], np.float32)),
}


@pytest.mark.parametrize("name", CASES)
def test_operators_give_numpys_results(real, name):
    call, wanted = CASES[name]
    got = call(real, real.tensor(A), real.tensor(B)).numpy()
    assert got.dtype == np.asarray(wanted).dtype and got.shape == np.shape(wanted)
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_in_place_and_out(real):
    x, y = real.tensor(A), real.tensor(B)
    x += y
    x.mul_(2)
    np.testing.assert_allclose(x.numpy(), (A + B) * 2, rtol=1e-6)
    row = x[0]
    row.copy_(real.zeros(3))
    assert x[0].tolist() == [0, 0, 0] and row.tolist() == [0, 0, 0]
    out = real.empty(2, 3)
    assert real.ops.aten.add(y, 1, out=out) is out
    np.testing.assert_allclose(out.numpy(), B + 1, rtol=1e-6)


def test_the_seed_decides_the_numbers(real, daemon):
    def drawn(yard, seed):
        yard.manual_seed(seed)
        return yard.rand(1000).numpy(), yard.randn(1000).numpy()

    (uniform, normal), again, other = drawn(real, 5), drawn(real, 5), drawn(real, 6)
    assert np.array_equal(uniform, again[0]) and np.array_equal(normal, again[1])
    assert not np.array_equal(uniform, other[0])
    assert 0 <= uniform.min() and uniform.max() < 1 and abs(normal.mean()) < 0.2 and abs(normal.std() - 1) < 0.2
    with opyard.connect(daemon.address) as second:
        assert np.array_equal(drawn(second, 5)[0], uniform)


@pytest.mark.parametrize("shape, dtype", [((1,), "float32"), ((300_000,), "float64"), ((1024, 1025), "float32"),
                                          ((0, 5), "int64"), ((2_000_003,), "uint8"), ((7,), "bool")])
def test_elements_go_both_ways(real, shape, dtype):
    data = (np.random.default_rng(1).random(shape) * 100).astype(dtype)
    x = real.tensor(data)
    assert np.array_equal(x.numpy(), data)
    back = x.clone().numpy()
    assert back.dtype == dtype and np.array_equal(back, data)


def test_calls_are_gathered(real):
    x = real.tensor([0.0])
    for _ in range(5000):
        x = x + 1
    assert x.item() == 5000
    assert real.stats.calls == 5000 and real.stats.frames < 5000 / 20


def test_released_tensors_are_gone(real):
    x = real.tensor([1.0]) + 1
    x.item()
    id_ = x._id
    del x
    real.synchronize()
    with pytest.raises(opyard.NotFound):
        opyard.Tensor(real, id_).numpy()


def test_explain_shows_the_trail(real):
    trail = real.explain("aten::mm", real.tensor(A), real.tensor(B).t())
    assert trail.op == "aten::mm" and trail.chosen == trail.steps[0].key and "aten::mm" in str(trail)
    assert any(step.key == "CPU" and "cpu" in step.source for step in trail.steps), trail.steps


def test_repr(real):
    ones = real.tensor([[1.0, 2.0]]) * 0 + 1
    assert repr(ones) == "tensor([[1., 1.]], dtype=float32, shape=(1, 2))"
    text = repr(real.arange(300_000))
    assert text == "tensor([     0,      1,      2, ..., 299997, 299998, 299999], dtype=int64, shape=(300000,))"


def test_many_yards_and_threads(daemon):
    failures = []

    def work(number):
        try:
            with opyard.connect(daemon.address, timeout=20) as yard:
                x = yard.tensor(np.full(10, float(number), np.float32))
                for _ in range(100):
                    x = x + number
                assert x.numpy()[0] == number * 101
        except Exception as error:  # told below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures and daemon.alive()


def test_kill_in_the_middle_of_calls(own_daemon):
    yard = opyard.connect(own_daemon.address, timeout=20)
    x = yard.tensor(np.ones((64, 64), np.float32))
    x.numpy()
    threading.Timer(0.3, own_daemon.kill).start()
    started = time.monotonic()
    with pytest.raises(opyard.Unavailable, match="is it running"):
        while True:
            (x @ x).numpy()
    assert time.monotonic() - started < 10
    started = time.monotonic()
    for call in (lambda: x + 1, lambda: x.numpy(), lambda: yard.tensor([1]), yard.synchronize):
        with pytest.raises(opyard.Unavailable):
            call()
    assert time.monotonic() - started < 10
    own_daemon.start()
    until = time.monotonic() + 10
    while True:
        try:
            x + 1
        except opyard.Aborted as error:
            assert error.reason == "SESSION_LOST" and "connect again" in str(error)
            break
        except opyard.Unavailable:
            assert time.monotonic() < until
            time.sleep(0.05)
    yard.close()


def test_a_stopped_daemon_meets_the_deadline(own_daemon):
    yard = opyard.connect(own_daemon.address, timeout=1)
    x = yard.tensor([1.0])
    x.item()
    own_daemon.process.send_signal(signal.SIGSTOP)
    try:
        os.waitid(os.P_PID, own_daemon.process.pid, os.WSTOPPED)
        started = time.monotonic()
        with pytest.raises(opyard.DeadlineExceeded):
            (x + 1).item()
        assert time.monotonic() - started < 5
    finally:
        own_daemon.process.send_signal(signal.SIGCONT)
    assert (x + 1).item() == 2
    yard.close()


def test_sigterm_drains(own_daemon):
    yard = opyard.connect(own_daemon.address, timeout=10)
    x = yard.tensor([1.0])
    assert (x + 1).item() == 2
    own_daemon.stop()
    with pytest.raises(opyard.Unavailable):
        (x + 1).item()


def run_example(daemon, name, *options):
    return subprocess.run([sys.executable, str(EXAMPLES / name), *options], capture_output=True, text=True, timeout=120,
                          check=False, env={**os.environ, "OPYARD_ADDRESS": daemon.address,
                                            "PYTHONPATH": os.pathsep.join(sys.path)})


def test_the_quickstart_runs(daemon):
    done = run_example(daemon, "quickstart.py")
    assert done.returncode == 0 and done.stderr == ""
    assert "dtype=float32, shape=(2, 2)" in done.stdout


def test_digits_learns_and_says_so(daemon):
    done = run_example(daemon, "digits.py", "--epochs", "4", "--wanted", "0.85", "--seed", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    for words in ("seed 3", "epoch   4/4", "op calls routed", "calls per second", "per call", "CPU"):
        assert words in done.stdout


def test_digits_fails_when_it_has_not_learnt(daemon):
    done = run_example(daemon, "digits.py", "--epochs", "1", "--wanted", "1.01")
    assert done.returncode == 1 and "is below 1.01" in done.stderr
