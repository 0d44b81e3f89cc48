"""What a person sees of routing: the same from the library, the wire, the command line and Python."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from typing import Any

import opyard
import pytest
from daemon import BIN, Daemon
from opyard.v1 import registry_pb2
from wire import Wire

OPS = ["aten::add.Tensor", "aten::add.Scalar", "aten::mm", "aten::zeros", "aten::view", "kernel::add.Tensor"]
KEY_SETS = [["CPU"], ["CPU", "AutogradCPU", "ADInplaceOrView", "AutocastCPU"], ["CUDA", "AutogradCUDA"],
            ["SparseCPU"], ["Meta"], ["Negative", "CPU"]]


def opyard_command(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "OPYARD_SESSION")}
    return subprocess.run([str(BIN / "opyard"), *words], capture_output=True, text=True, timeout=60,
                          env={**env, **more})


def said(*words: str, **more: str) -> str:
    done = opyard_command(*words, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def plain(trail: Any) -> dict[str, Any]:
    """The fields that the command line prints, from a reply of the wire or from Python."""
    remaining = trail.remaining if hasattr(trail, "remaining") else trail.keys
    return {"op": trail.op, "schema": trail.schema, "arguments": list(trail.arguments),
            "included": list(trail.included), "excluded": list(trail.excluded),
            "fallthrough": list(trail.fallthrough), "keys": list(remaining),
            "chosen": trail.chosen or None, "fails": trail.fails, "text": trail.text,
            "steps": [{name: getattr(step, name)
                       for name in ("key", "op", "kernel", "rule", "source", "generation", "place")}
                      for step in trail.steps]}


@pytest.mark.parametrize("op", OPS)
def test_explain_is_the_same_everywhere(shared: Daemon, wire: Wire, op: str) -> None:
    with opyard.connect(shared.address) as yard:
        for keys in KEY_SETS:
            by_wire = plain(wire.explain(op, keys))
            assert plain(yard.explain_keys(op, *keys)) == by_wire
            words = ("explain", op, *keys)
            assert json.loads(said(*words, "--json", "--address", shared.address)) == by_wire
            assert json.loads(said(*words, "--json", "--local")) == by_wire, "libopyard in the command's own process"
            assert said(*words, "--local") == by_wire["text"]
            for step in by_wire["steps"]:
                assert step["kernel"] == "no kernel" or step["source"]
            if keys == ["CPU"] and op == "aten::mm":
                assert by_wire["steps"][-1]["source"] == "cpu" and by_wire["steps"][-1]["generation"] == 1
                assert "registered at kernels/cpu/matmul.cc:" in by_wire["steps"][-1]["place"]


def test_explain_by_arguments_chooses_the_overload(shared: Daemon) -> None:
    with opyard.connect(shared.address) as yard:
        x = yard.tensor([1.0, 2.0])
        for other, overload, words in ((x, "aten::add.Tensor", ["[1,2]", "[3,4]"]),
                                       (2, "aten::add.Scalar", ["[1,2]", "2"])):
            by_python = plain(yard.explain("aten::add", x, other))
            assert by_python["op"] == overload
            assert json.loads(said("explain", "aten::add", *words, "--json", "--address", shared.address)) == by_python
            assert json.loads(said("explain", "aten::add", *words, "--json", "--local")) == by_python
    without = opyard_command("explain", "aten::add", "--address", shared.address)
    assert without.returncode == 2
    assert "3 overloads" in without.stderr and "aten::add.Scalar(Tensor self" in without.stderr


@pytest.mark.parametrize("op", OPS)
def test_tables_are_the_same_everywhere(shared: Daemon, wire: Wire, op: str) -> None:
    kinds = registry_pb2.DumpTableRequest
    with opyard.connect(shared.address) as yard:
        for kind, flags, form in ((kinds.COMPUTED, ["--dump"], "dump"), (kinds.REGISTRATIONS, ["--state"], "state"),
                                  (kinds.FOLDED, [], "folded"), (kinds.SLOTS, ["--all"], "all")):
            reply = wire.table(op, kind, 90)
            assert reply.text
            assert yard.table(op, form, 90).text == reply.text
            assert said("table", op, *flags, "--address", shared.address, COLUMNS="90") == reply.text
            assert said("table", op, *flags, "--local", COLUMNS="90") == reply.text
            shown = json.loads(said("table", op, *flags, "--json", "--local", COLUMNS="90"))
            assert [row["key"] for row in shown["rows"]] == [row.key for row in reply.rows]


def test_the_table_of_add_fits_its_terminal(shared: Daemon) -> None:
    for width in (80, 120):
        lines = said("table", "aten::add.Tensor", "--local", COLUMNS=str(width)).splitlines()
        assert lines[0] == "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
        assert max(map(len, lines[1:])) <= width
        assert len(lines) < 20
    lines = said("table", "aten::add.Tensor", "--local").splitlines()
    assert [line.split("  ")[0] for line in lines[2:]] == [
        "KEYS", "CPU", "Meta", "Autograd*", "BackendSelect, ADInplaceOrView, Autocast*", "all others"]
    assert "falls through (12 keys)" in lines[6] and "no kernel (106 keys)" in lines[7]


def test_invariants(shared: Daemon) -> None:
    with opyard.connect(shared.address) as yard:
        text = yard.check_invariants()
        assert said("table", "--check", "--address", shared.address) == text
        assert said("table", "--check", "--local") == text
        assert "operators" in text


TRACED = [" [callBoxed] op=[aten::add.Scalar], key=[AutogradCPU]",
          "  [call] op=[aten::add.Tensor], key=[AutogradCPU]",
          "   [redispatch] op=[aten::add.Tensor], key=[CPU]",
          "    [redispatch] op=[kernel::add.Tensor], key=[CPU]"]


def test_one_call_traced(shared: Daemon) -> None:
    for place in (["--local"], ["--address", shared.address]):
        words = ("trace", "aten::add", "[1.5,2]", "2", *place)
        assert said(*words).splitlines() == [*TRACED, "tensor([3.5, 4. ], dtype=float32)"]
        shown = json.loads(said(*words, "--json"))
        assert [line["depth"] for line in shown["lines"]] == [1, 2, 3, 4]
        assert shown["lost"] == 0 and shown["results"][0]["data"] == [3.5, 4.0]
        only = said(*words, "--op", "kernel::")
        assert only.splitlines()[0] == TRACED[3]
    failed = opyard_command("trace", "aten::mm", "[[1.0]]", "[[1.0],[2.0]]", "--local")
    assert failed.returncode == 1
    assert "op=[aten::mm]" in failed.stdout and "INVALID_ARGUMENT" in failed.stderr
    environment = opyard_command("call", "aten::add", "[1.5,2]", "2", "--local", OPYARD_SHOW_DISPATCH_TRACE="1")
    assert environment.stderr.splitlines() == TRACED


def test_a_session_is_followed_by_who_has_its_token(shared: Daemon) -> None:
    with opyard.connect(shared.address) as yard, opyard.connect(shared.address) as other:
        x = yard.tensor([1.5, 2.0])
        y = other.tensor([1.0])
        command = [str(BIN / "opyard"), "trace", "--address", shared.address, "--session", yard.session]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as follower:
            assert follower.stdout and follower.stderr
            assert follower.stderr.readline() == "following; Ctrl-C ends\n"
            (y + 1).tolist()
            (x + 2).tolist()
            assert [follower.stdout.readline().rstrip("\n") for _ in TRACED] == TRACED
            follower.send_signal(signal.SIGINT)
            assert follower.wait(20) == 0
            assert follower.stdout.read() == ""
        counted = [*command, "--count", "2", "--json", "--op", "aten::"]
        with subprocess.Popen(counted, stdout=subprocess.PIPE, text=True) as follower:
            assert follower.stdout
            until = time.monotonic() + 20
            while follower.poll() is None and time.monotonic() < until:
                (x + 2).tolist()
            lines = [json.loads(line) for line in follower.stdout.read().splitlines()]
            assert [line["op"] for line in lines] == ["aten::add.Scalar", "aten::add.Tensor"]
            assert follower.wait(20) == 0
        follower = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert follower.stderr and follower.stderr.readline()
    with follower:
        assert follower.wait(20) == 0
        assert "the session has ended" in follower.stderr.read()


def test_each_result_has_its_file(tmp_path: Any) -> None:
    two = opyard_command("call", "aten::relu", "[1]", "-o", f"{tmp_path}/a.npy", "-o", f"{tmp_path}/b.npy", "--local")
    assert two.returncode == 1 and "got 2 files to write, but the call has 1 tensors" in two.stderr
    assert said("call", "aten::relu", "[1]", "-o", f"{tmp_path}/a.npy", "--local") == f"wrote {tmp_path}/a.npy\n"


def test_keys_may_be_given_one_by_one(shared: Daemon) -> None:
    shown = json.loads(said("explain", "aten::mm", "CPU", "AutogradCPU", "--include", "Negative", "--include", "Tracer",
                            "--exclude", "AutogradCPU", "--exclude", "Negative", "--json", "--local"))
    assert "Tracer" in shown["included"] and shown["keys"] == ["CPU", "Tracer"]


def test_who_names_no_session_is_told_how(shared: Daemon) -> None:
    for words in (["trace"], ["trace", "--local"]):
        done = opyard_command(*words)
        assert done.returncode == 2 and "--session" in done.stderr
    assert opyard_command("trace", "--session", "12", "--address", shared.address).returncode == 2
    unknown = opyard_command("trace", "--session", "0" * 32, "--address", shared.address)
    assert unknown.returncode == 1 and "NOT_FOUND" in unknown.stderr


def test_a_drained_daemon_ends_the_followers(start: Any) -> None:
    daemon = start()
    with opyard.connect(daemon.address, timeout=5) as yard:
        command = [str(BIN / "opyard"), "trace", "--address", daemon.address, "--session", yard.session]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as follower:
            assert follower.stderr and follower.stderr.readline()
            began = time.monotonic()
            assert daemon.stop() == 0
            assert time.monotonic() - began < 10
            assert follower.wait(20) == 1
            assert "draining" in follower.stderr.read()
        yard._pipeline.abandon()
