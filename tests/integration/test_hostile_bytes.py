"""Bytes that are no protocol, frames that are no frames, connections that say nothing."""

from __future__ import annotations

import os
import random
import socket
import time

import pytest
from conftest import Starter
from daemon import Daemon
from opyard.v1 import common_pb2, ops_pb2
from wire import Failed, Wire, floats, op, tensor

pytestmark = pytest.mark.hostile

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
MUTATIONS = int(os.environ.get("OPYARD_MUTATIONS", "4000"))


def connection(daemon: Daemon) -> socket.socket:
    link = socket.socket(socket.AF_UNIX)
    link.settimeout(20)
    link.connect(str(daemon.path))
    return link


def send_all(link: socket.socket, data: bytes) -> None:
    """Sends what the other side takes; it may hang up in the middle."""
    try:
        link.sendall(data)
        link.shutdown(socket.SHUT_WR)
        while link.recv(65536):
            pass
    except OSError:
        pass


def test_bytes_that_are_no_protocol(shared: Daemon, wire: Wire) -> None:
    source = random.Random(1)
    for data in (b"", b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 4096, b"\xff" * 65536, source.randbytes(10000),
                 PREFACE, PREFACE + source.randbytes(10000), PREFACE + b"\xff\xff\xff\x00\x00\x00\x00\x00\x00",
                 PREFACE + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00" + b"\x00\x00\x05\x01\x05\x00\x00\x00\x01" + b"\x82" * 5):
        with connection(shared) as link:
            send_all(link, data)
    assert shared.alive


def sample_frame(wire: Wire) -> bytes:
    first, second = wire.fresh(), wire.fresh()
    return ops_pb2.OpFrame(
        puts=[ops_pb2.InlineTensor(id=first, dtype="float32", sizes=[2, 2], data=floats(1, 2, 3, 4))],
        ops=[op(1, "aten::add.Tensor", tensor(first), tensor(first), results=[second], alpha=2),
             op(2, "aten::sum.dim_IntList", tensor(second), [0, 1], True, results=[wire.fresh()], want=2),
             op(3, "aten::zeros", [2, 3], dtype=common_pb2.Value(dtype="int64"), results=[wire.fresh()])],
        fetch=[ops_pb2.Fetch(id=second)], release=[first], fence=7).SerializeToString()


def mutated(source: random.Random, frame: bytes) -> bytes:
    data = bytearray(frame)
    for _ in range(source.randint(1, 6)):
        kind = source.randrange(4)
        at = source.randrange(len(data)) if data else 0
        if kind == 0 and data:
            data[at] = source.randrange(256)
        elif kind == 1 and data:
            data[at] ^= 1 << source.randrange(8)
        elif kind == 2:
            data[at:at] = source.randbytes(source.randint(1, 12))
        else:
            del data[at:at + source.randint(1, 12)]
    return bytes(data)


def test_mutated_frames(shared: Daemon, wire: Wire) -> None:
    """Any bytes as a frame: an answer, or an error with a code that blames the frame."""
    source = random.Random(20261129)
    allowed = {"INVALID_ARGUMENT", "INTERNAL", "RESOURCE_EXHAUSTED", "UNIMPLEMENTED", "DEADLINE_EXCEEDED"}
    answered = 0
    for number in range(MUTATIONS):
        if number % 200 == 0:  # a mutated id may use up all lower ones, and a mutated release hits anything
            attacker = Wire(shared.address)
        try:
            reply = ops_pb2.OpReply.FromString(attacker.raw("Ops/Call", mutated(source, sample_frame(attacker))))
            answered += 1
            for error in reply.errors:
                assert error.code in range(1, 17)
                assert error.message
        except Failed as error:
            assert error.code in allowed, str(error)
    assert answered > MUTATIONS // 20


def test_messages_that_are_no_messages(wire: Wire) -> None:
    for body in (b"\xff", b"\x0a\xff\xff\xff\xff\x0f", b"\x0a\x05abc", os.urandom(1000), b"\x08" * 100):
        for name in ("Ops/Call", "Control/OpenSession", "Control/CloseSession", "Tensors/Describe", "Registry/Explain"):
            try:
                wire.raw(name, body)
            except Failed as error:
                assert error.code != "UNAVAILABLE", str(error)


def test_deeply_nested_messages_end_in_an_error(wire: Wire) -> None:
    body = b""
    for _ in range(20000):  # Value.list → ValueList.items → …
        body = b"\x0a" + varint(len(body)) + body
        body = b"\x82\x01" + varint(len(body)) + body
        if len(body) > 1 << 18:
            break
    call = b"\x12\x0aaten::relu\x22" + varint(len(body)) + body
    with pytest.raises(Failed):
        wire.raw("Ops/Call", b"\x0a" + varint(len(call)) + call)


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def test_idle_and_half_open_connections_are_closed(start: Starter) -> None:
    daemon = start("--connections-per-user", "8")
    silent = [connection(daemon) for _ in range(8)]
    refused = connection(daemon)
    assert refused.recv(1) == b"", "the ninth connection of a user is closed at once"
    started = time.monotonic()
    for link in silent:
        while link.recv(65536):
            pass
    assert time.monotonic() - started < 15, "silent connections are closed after five seconds"
    with Wire(daemon.address) as wire:
        assert wire.get(wire.put(1.0)) == [1.0]
