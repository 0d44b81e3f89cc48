"""Wrong input, line by line: one clear error with the right code; the session, its values and all others live on."""

from __future__ import annotations

import time
from typing import Any

import grpc
import pytest
from daemon import Daemon
from opyard.v1 import common_pb2, control_pb2, ops_pb2, tensors_pb2
from wire import CODES, Failed, Wire, floats, op, read_floats, tensor, value

pytestmark = pytest.mark.hostile

MATRIX = "matrix"  # stands for the id of a 2 × 3 tensor in the rows below
VECTOR = "vector"  # of a tensor of 2 elements
WHOLE = "whole"    # of an int64 tensor of 2 elements

# operator, positional arguments, keyword arguments, code, words in the message
ROWS = [
    ("aten::ad.Tensor", [VECTOR, VECTOR], {}, "NOT_FOUND", ["aten::add.Tensor"]),
    ("aten::add", [VECTOR, VECTOR], {}, "NOT_FOUND", ["aten::add.Tensor", "overload"]),
    ("kernel::add.Tensor", [VECTOR, VECTOR, 1, VECTOR], {}, "NOT_FOUND", ["aten::add.Tensor"]),
    ("", [VECTOR], {}, "INVALID_ARGUMENT", ["names no operator"]),
    ("x" * 257, [VECTOR], {}, "INVALID_ARGUMENT", ["256 bytes, got 257"]),
    ("x" * 70000, [VECTOR], {}, "INVALID_ARGUMENT", ["256 bytes, got 70000"]),
    ("aten::mm", [MATRIX], {}, "INVALID_ARGUMENT", ["'mat2'", "missing"]),
    ("aten::mm", [MATRIX, MATRIX, MATRIX], {}, "INVALID_ARGUMENT", ["got 3", "at most 2"]),
    ("aten::relu", [VECTOR], {"slope": 1}, "INVALID_ARGUMENT", ["'slope'", "aten::relu(Tensor self)"]),
    ("aten::relu", [VECTOR], {"self": VECTOR}, "INVALID_ARGUMENT", ["'self'", "twice"]),
    ("aten::relu", ["text"], {}, "INVALID_ARGUMENT", ["'self'", "got str", "wanted Tensor"]),
    ("aten::relu", [None], {}, "INVALID_ARGUMENT", ["got None", "wanted Tensor"]),
    ("aten::permute", [MATRIX, "x"], {}, "INVALID_ARGUMENT", ["'dims'", "int[]"]),
    ("aten::select.int", [MATRIX, 0.5, 0], {}, "INVALID_ARGUMENT", ["'dim'", "got float", "wanted int"]),
    ("aten::zeros", [[2]], {"dtype": "float33"}, "INVALID_ARGUMENT", ["float33"]),
    ("aten::zeros", [[2]], {"device": "nowhere"}, "INVALID_ARGUMENT", ["'device'", "nowhere", "is no device"]),
    ("aten::zeros", [[-1]], {}, "INVALID_ARGUMENT", ["-1"]),
    ("aten::zeros", [[1 << 40, 1 << 40]], {}, "INVALID_ARGUMENT", []),
    ("aten::zeros", [[1 << 40]], {}, "RESOURCE_EXHAUSTED", ["quota"]),
    ("aten::zeros", [[1] * 65], {}, "INVALID_ARGUMENT", ["64"]),
    ("aten::mm", [MATRIX, MATRIX], {}, "INVALID_ARGUMENT", ["aten::mm"]),
    ("aten::mm", [VECTOR, MATRIX], {}, "INVALID_ARGUMENT", ["aten::mm"]),
    ("aten::add.Tensor", [MATRIX, VECTOR], {}, "INVALID_ARGUMENT", ["[2, 3]", "[2]"]),
    ("aten::select.int", [MATRIX, 7, 0], {}, "OUT_OF_RANGE", ["7"]),
    ("aten::select.int", [MATRIX, 0, 9], {}, "OUT_OF_RANGE", ["9"]),
    ("aten::permute", [MATRIX, [0, 0]], {}, "INVALID_ARGUMENT", []),
    ("aten::view", [MATRIX, [5]], {}, "INVALID_ARGUMENT", []),
    ("aten::index_select", [MATRIX, 0, VECTOR], {}, "INVALID_ARGUMENT", []),
    ("aten::add_.Tensor", [WHOLE, VECTOR], {}, "INVALID_ARGUMENT", []),
]


@pytest.mark.parametrize("row", ROWS, ids=[f"{i}-{row[0][:24]}" for i, row in enumerate(ROWS)])
def test_wrong_calls(wire: Wire, row: Any) -> None:
    name, args, kwargs, code, words = row
    numbers = {MATRIX: wire.put(*range(6), sizes=[2, 3]), VECTOR: wire.put(1.0, 2.0), WHOLE: wire.fresh()}
    wire.call(puts=[ops_pb2.InlineTensor(id=numbers[WHOLE], dtype="int64", sizes=[2], data=bytes(16))])

    def filled(item: Any) -> Any:
        return tensor(numbers[item]) if isinstance(item, str) and item in numbers else item

    started = time.monotonic()
    error = wire.error(op(1, name, *map(filled, args), results=[wire.fresh()],
                          **{key: filled(item) for key, item in kwargs.items()}))
    assert time.monotonic() - started < 10
    assert CODES[error.code] == code, error.message
    for word in words:
        assert word in error.message
    assert "0x" not in error.message


def test_index_values_are_checked_by_the_kernel(wire: Wire) -> None:
    matrix = wire.put(*range(6), sizes=[2, 3])
    for index in (2, -3, 1 << 40, -(1 << 63)):
        where = wire.fresh()
        wire.call(puts=[ops_pb2.InlineTensor(id=where, dtype="int64", sizes=[1],
                                             data=index.to_bytes(8, "little", signed=True))])
        error = wire.error(op(1, "aten::index_select", tensor(matrix), 0, tensor(where)))
        assert CODES[error.code] == "OUT_OF_RANGE", error.message
        assert str(index) in error.message


def test_dead_and_foreign_ids(shared: Daemon, wire: Wire) -> None:
    number = wire.put(1.0)
    wire.call(release=[number])
    assert CODES[wire.error(op(1, "aten::relu", tensor(number))).code] == "NOT_FOUND"
    assert CODES[wire.error(op(2, "aten::relu", tensor(12345))).code] == "NOT_FOUND"
    with Wire(shared.address) as other:
        theirs = other.put(1.0)
        for _ in range(theirs):
            wire.fresh()
        assert CODES[wire.error(op(3, "aten::relu", tensor(theirs + 100))).code] == "NOT_FOUND"
        with pytest.raises(Failed) as caught:
            wire.download(theirs + 100)
        assert caught.value.code == "NOT_FOUND"


def test_bytes_that_do_not_match_the_shape(wire: Wire) -> None:
    number = wire.fresh()
    reply = wire.call(puts=[ops_pb2.InlineTensor(id=number, dtype="float32", sizes=[3], data=floats(1, 2))])
    assert CODES[reply.errors[0].code] == "INVALID_ARGUMENT"
    assert "12" in reply.errors[0].message or "3 elements" in reply.errors[0].message
    assert reply.errors[0].id == number
    header = tensors_pb2.PutHeader(id=wire.fresh(), dtype="float32", sizes=[3], total_bytes=8)
    with pytest.raises(Failed) as caught:
        wire.upload([tensors_pb2.PutRequest(header=header, data=floats(1, 2))])
    assert caught.value.code == "INVALID_ARGUMENT"
    header = tensors_pb2.PutHeader(id=wire.fresh(), dtype="float32", sizes=[3], total_bytes=12)
    with pytest.raises(Failed) as caught:
        wire.upload([tensors_pb2.PutRequest(header=header, data=floats(1, 2))])
    assert caught.value.code == "DATA_LOSS"


def test_poison_names_its_first_cause(wire: Wire) -> None:
    matrix = wire.put(*range(6), sizes=[2, 3])
    first, second, third = wire.fresh(), wire.fresh(), wire.fresh()
    broken = op(1, "aten::mm", tensor(matrix), tensor(matrix), results=[first])
    broken.site = "train.py:7"
    reply = wire.call(broken, op(2, "aten::relu", tensor(first), results=[second]),
                      op(3, "aten::neg", tensor(second), results=[third]),
                      op(4, "aten::neg", tensor(matrix), results=[wire.fresh()]))
    assert [CODES[error.code] for error in reply.errors] == [
        "INVALID_ARGUMENT", "FAILED_PRECONDITION", "FAILED_PRECONDITION"]
    for error in reply.errors[1:]:
        assert error.info.reason == "POISONED"
        assert (error.info.cause.op, error.info.cause.seq, error.info.cause.site) == ("aten::mm", 1, "train.py:7")
        assert CODES[error.info.cause.code] == "INVALID_ARGUMENT"
    with pytest.raises(Failed) as caught:
        wire.download(third)
    assert caught.value.code == "FAILED_PRECONDITION"
    assert caught.value.info.cause.op == "aten::mm"


@pytest.mark.parametrize("megabytes", [5, 20])
def test_overlong_frames(wire: Wire, megabytes: int) -> None:
    frame = ops_pb2.OpFrame(puts=[ops_pb2.InlineTensor(
        id=wire.fresh(), dtype="uint8", sizes=[megabytes << 20], data=bytes(megabytes << 20))])
    with pytest.raises(Failed) as caught:
        wire.unary("Ops/Call", frame, ops_pb2.OpReply)
    assert caught.value.code == "RESOURCE_EXHAUSTED"
    replies = wire.stream(iter([frame]))
    with pytest.raises(grpc.RpcError) as ended:
        for _ in replies:
            pass
    assert ended.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED


def nested(levels: int) -> common_pb2.Value:
    inner = value(1)
    for _ in range(levels):
        inner = common_pb2.Value(list=common_pb2.ValueList(items=[inner]))
    return inner


@pytest.mark.parametrize("argument", [
    common_pb2.Value(), nested(17), nested(40), common_pb2.Value(ints=common_pb2.IntList(items=[1] * 65537)),
    common_pb2.Value(string_value="x" * 65537),
    common_pb2.Value(list=common_pb2.ValueList(items=[common_pb2.Value(id=1)])),
], ids=["unset", "deep", "deeper", "long list", "long text", "id in a list"])
def test_values_beyond_the_limits(wire: Wire, argument: common_pb2.Value) -> None:
    error = wire.error(op(1, "aten::relu", argument))
    assert CODES[error.code] == "INVALID_ARGUMENT"
    assert len(error.message) <= 2048


def test_too_many_operations(wire: Wire) -> None:
    with pytest.raises(Failed) as caught:
        wire.call(*[op(i + 1, "aten::relu") for i in range(1025)])
    assert caught.value.code == "INVALID_ARGUMENT"
    assert "1024" in caught.value.details
    reply = wire.call(*[op(i + 1, "aten::relu") for i in range(1024)])
    assert len(reply.errors) == 1024


def test_deadlines(shared: Daemon, wire: Wire) -> None:
    large = wire.fresh()
    busy = [op(1, "aten::rand", [1000, 1000], results=[large])]
    busy += [op(i, "aten::mm", tensor(large), tensor(large), results=[wire.fresh()]) for i in range(2, 8)]
    late = op(9, "aten::neg", tensor(large), results=[wire.fresh()])
    late.deadline_ms = 1
    reply = wire.call(*busy, late, release=[large])
    assert [CODES[error.code] for error in reply.errors] == ["DEADLINE_EXCEEDED"]
    assert "not started" in reply.errors[0].message
    with pytest.raises(Failed) as caught:
        wire.call(op(1, "aten::rand", [2000, 2000], results=[wire.fresh()]), seconds=0.000001)
    assert caught.value.code == "DEADLINE_EXCEEDED"


def test_nothing_leaks_from_fresh_memory(wire: Wire) -> None:
    secret = wire.put(*([3.25] * 4096))
    wire.call(release=[secret])
    for _ in range(50):
        number = wire.fresh()
        wire.call(op(1, "aten::empty.memory_format", [4096], results=[number]))
        assert set(wire.get(number)) == {0.0}
        wire.call(release=[number])


def test_sessions_and_tokens(shared: Daemon) -> None:
    with Wire(shared.address, session=False) as nobody:
        for token, code in ((b"", "UNAUTHENTICATED"), (b"short", "UNAUTHENTICATED"), (bytes(16), "NOT_FOUND")):
            nobody.token = token
            with pytest.raises(Failed) as caught:
                nobody.call()
            assert caught.value.code == code
        with pytest.raises(Failed) as caught:
            nobody.unary("Control/Handshake", control_pb2.HandshakeRequest(min_version=9, max_version=9),
                         control_pb2.HandshakeReply)
        assert caught.value.code == "FAILED_PRECONDITION"
        with pytest.raises(Failed) as caught:
            nobody.raw("Ops/NoSuchCall", b"")
        assert caught.value.code == "UNIMPLEMENTED"


def test_a_daemon_that_is_not_there(tmp_path: Any) -> None:
    started = time.monotonic()
    with pytest.raises(Failed) as caught:
        Wire(f"unix:{tmp_path}/nobody.sock")
    assert caught.value.code == "UNAVAILABLE"
    assert time.monotonic() - started < 10


def test_results_of_mixed_frames_are_right(wire: Wire) -> None:
    """Between all that is wrong, what is right must still be right."""
    number = wire.put(1.0, -2.0)
    good = wire.fresh()
    reply = wire.call(op(1, "aten::nothing", tensor(number)),
                      op(2, "aten::relu", tensor(number), results=[good], want=ops_pb2.WANT_VALUE),
                      op(3, "aten::add.Tensor", tensor(good), 10, results=[wire.fresh()], want=ops_pb2.WANT_VALUE,
                         alpha=2))
    assert [CODES[error.code] for error in reply.errors] == ["NOT_FOUND"]
    assert [read_floats(result.data) for result in reply.results] == [[1.0, 0.0], [21.0, 20.0]]
