"""Wrong input against the real opyardd: one clear error with the right code, and nothing else suffers."""

import random

import numpy as np
import opyard
import pytest
from opyard.v1 import ops_pb2, tensors_pb2

pytestmark = pytest.mark.hostile


@pytest.fixture(autouse=True)
def bystander(daemon):
    """Another session, and a tensor of the same one: both must be as they were."""
    with opyard.connect(daemon.address, timeout=20) as other:
        kept = other.tensor([1.0, 2.0])
        yield other
        assert (kept + kept).tolist() == [2, 4]
    assert daemon.alive()


def raw(yard, op, *operands, results=1, **kwargs):
    """A call as it stands, past the client's own checks. Operands are tensors or fields of a `Value`."""
    def fill(call):
        for operand in operands:
            fields = {"id": operand._id} if isinstance(operand, opyard.Tensor) else operand
            call.args.add(**fields)
        for name, fields in kwargs.items():
            call.kwargs.add(name=name, value=fields)
        return 100

    return opyard.Tensor(yard, yard._pipeline.call(op, fill, results, "hostile.py:1"))


def test_an_unknown_operator_names_the_nearest(real):
    with pytest.raises(opyard.NotFound, match="aten::add"):
        real.ops.aten.ad_(real.tensor(1.0))
    with pytest.raises(opyard.NotFound, match="aten::add.Tensor") as error:
        raw(real, "aten::add.Tensr", real.tensor(1.0), real.tensor(1.0)).numpy()
    assert error.value.site == "hostile.py:1"


@pytest.mark.parametrize("op, operands, kwargs, words", [
    ("aten::relu", [], {}, "missing"), ("aten::relu", [{"int_value": 1}] * 2, {}, "position"),
    ("aten::relu", [{"string_value": "x"}], {}, "self"), ("aten::relu", [{"none": True}], {}, "self"),
    ("aten::relu", [{}], {}, "kind"), ("aten::relu", [{"ints": {"items": [1]}}], {}, "self"),
    ("aten::zeros", [{"ints": {"items": [2]}}], {"dtype": {"dtype": "float31"}}, "float31"),
    ("aten::zeros", [{"ints": {"items": [2]}}], {"dtipe": {"dtype": "float32"}}, "dtype"),
    ("aten::zeros", [{"ints": {"items": [2]}}], {"device": {"device": "moon"}}, "moon"),
    ("aten::zeros", [{"ints": {"items": [-1]}}], {}, "-1"),
    ("aten::zeros", [{"ints": {"items": [1 << 40, 1 << 40]}}], {}, ""),
    ("aten::zeros", [{"ints": {"items": [1] * 65}}], {}, "")])
def test_arguments_that_do_not_fit(real, op, operands, kwargs, words):
    kept = real.tensor([3.0])
    with pytest.raises((opyard.InvalidArgument, opyard.ResourceExhausted)) as error:
        raw(real, op, *operands, **kwargs).numpy()
    assert words in str(error.value) and op in str(error.value)
    assert kept.item() == 3


@pytest.mark.parametrize("shape", [(1 << 62,), (1 << 31, 1 << 31), (1 << 45,)])
def test_sizes_beyond_all_memory(real, shape):
    with pytest.raises((opyard.ResourceExhausted, opyard.InvalidArgument)):
        real.zeros(*shape).shape  # noqa: B018


@pytest.mark.parametrize("call", [
    lambda x, y: x @ x, lambda x, y: x + y, lambda x, y: x.view(5), lambda x, y: x.select(2, 0), lambda x, y: x[7],
    lambda x, y: x.permute(0, 0), lambda x, y: x.expand(3, 3), lambda x, y: x[[9]], lambda x, y: x[:, [-4]],
    lambda x, y: x.sum([0, 0]), lambda x, y: x.sum([5]), lambda x, y: x._yard.ops.aten.cat([x, y], 0),
    lambda x, y: x.index_select(0, x), lambda x, y: x.mm(y.view(4).to("int64")), lambda x, y: x.softmax(9),
    lambda x, y: x[:, :0].amax([1]), lambda x, y: x.unsqueeze(7)])
def test_shapes_dims_and_indices_that_do_not_fit(real, call):
    x, y = real.tensor(np.ones((2, 3), np.float32)), real.tensor(np.ones((2, 2), np.float32))
    bad = call(x, y)
    with pytest.raises((opyard.InvalidArgument, opyard.OutOfRange)) as error:
        bad.numpy()
    assert error.value.site.rpartition(":")[0].endswith("test_hostile.py")
    assert (x + 1).sum().item() == 12


def test_a_failed_call_in_place_changes_nothing(real):
    x = real.tensor([1.0, 2.0])
    x.add_(real.tensor([1.0, 2.0, 3.0]))
    with pytest.raises(opyard.InvalidArgument):
        x.numpy()
    assert x.tolist() == [1, 2]


def test_poison_names_its_first_cause(real):
    x = real.tensor(np.ones((2, 3), np.float32))
    end = ((x @ x) + 1).relu().sum()
    with pytest.raises(opyard.FailedPrecondition) as error:
        end.item()
    assert error.value.op.startswith("aten::mm") and isinstance(error.value.cause, opyard.InvalidArgument)
    assert "test_hostile.py:" in error.value.site and error.value.cause.site == error.value.site
    with pytest.raises(opyard.FailedPrecondition):
        end.numpy()
    assert x.sum().item() == 6


def test_ids_of_other_sessions_and_dead_ones(real, bystander):
    theirs = bystander.tensor([5.0])
    theirs.item()
    own = real.tensor([7.0])  # has the same id in another session: it means another tensor
    assert own._id == theirs._id + 0 or own._id != theirs._id
    for id_ in (0xFFFF_0000_0000_0001, 1 << 47, 12345, own._id + 1000):
        with pytest.raises(opyard.NotFound):
            opyard.Tensor(real, id_).numpy()
        with pytest.raises(opyard.NotFound):
            raw(real, "aten::relu", {"id": id_}).numpy()
    assert own.item() == 7 and theirs.item() == 5


@pytest.mark.parametrize("dtype, sizes, data", [
    ("float32", (3,), b"1234"), ("float32", (-1,), b""), ("float32", (1 << 40, 1 << 40), b""),
    ("float31", (1,), b"1234"), ("float32", (1,) * 65, b"1234"), ("float32", (), b""), ("float32", (2,), b"1" * 12),
    ("int64", (1 << 61,), b"")])
def test_bytes_that_do_not_match_the_shape(real, dtype, sizes, data):
    kept = real.tensor([3.0])
    id_ = real._pipeline.put(dtype, sizes, data, "hostile.py:2")
    with pytest.raises(opyard.InvalidArgument):
        opyard.Tensor(real, id_).numpy()
    with pytest.raises(opyard.InvalidArgument):
        bulk(real, id_=1, dtype=dtype, sizes=sizes, total=len(data), chunks=[data])
    assert kept.item() == 3


def bulk(yard, id_, dtype, sizes, total, chunks, header_at=0):
    header = tensors_pb2.PutHeader(id=id_, dtype=dtype, sizes=sizes, total_bytes=total)
    requests = [tensors_pb2.PutRequest(data=data, header=header if i == header_at else None)
                for i, data in enumerate(chunks)]
    return yard._pipeline.transport.put(yard._pipeline.token, requests, 10)


@pytest.mark.parametrize("kind, options", [
    (opyard.DataLoss, {"total": 8, "chunks": [b"1234"]}),
    (opyard.InvalidArgument, {"total": 8, "chunks": [b"12345678", b"9"]}),
    (opyard.InvalidArgument, {"total": 8, "chunks": [b"12345678"], "header_at": 9}),
    (opyard.InvalidArgument, {"total": 8, "chunks": [b"1234", b"5678"], "header_at": 1}),
    (opyard.InvalidArgument, {"total": 8, "chunks": []}),
    (opyard.InvalidArgument, {"total": 8, "chunks": [b"x" * ((1 << 20) + 1)]}),
    (opyard.ResourceExhausted, {"total": 1 << 44, "sizes": (1 << 42,), "chunks": [b"1234"]})])
def test_uploads_that_break_their_promise(real, kind, options):
    id_ = next(real._pipeline.uploads)
    with pytest.raises(kind):
        bulk(real, **{"id_": id_, "dtype": "float32", "sizes": (2,), **options})
    with pytest.raises((opyard.NotFound, opyard.FailedPrecondition)):
        opyard.Tensor(real, id_).numpy()
    assert np.array_equal(real.tensor(np.ones(300_000)).numpy(), np.ones(300_000))


def test_an_id_is_used_once(real):
    bulk(real, 5, "float32", (1,), 4, [b"1234"])
    with pytest.raises(opyard.AlreadyExists):
        bulk(real, 5, "float32", (1,), 4, [b"1234"])


def test_ranges_beyond_the_end(real):
    x = real.tensor(np.arange(4, dtype=np.uint8))
    x.numpy()
    pipeline = real._pipeline

    def part(offset, length):
        request = tensors_pb2.GetRequest(id=x._id, offset=offset, length=length)
        return b"".join(reply.data for reply in pipeline.transport.get(pipeline.token, request, 10))

    assert part(1, 2) == b"\x01\x02" and part(2, 0) == b"\x02\x03"
    for offset, length in [(5, 0), (0, 5), (1 << 63, 1 << 63), (2, (1 << 64) - 1)]:
        with pytest.raises(opyard.OutOfRange):
            part(offset, length)


@pytest.mark.parametrize("spoil", [
    lambda limits, frame: frame.puts.add(id=1, dtype="uint8", sizes=[5 << 20], data=b"x" * (5 << 20)),
    lambda limits, frame: [frame.ops.add(seq=i + 1, op="aten::relu") for i in range(limits.ops_per_frame + 1)]])
def test_a_frame_that_is_too_long_ends_its_stream_and_only_that(real, spoil):
    kept = real.tensor([3.0])
    assert kept.item() == 3
    frame = ops_pb2.OpFrame(fence=99)
    spoil(real.limits, frame)
    stream = real._pipeline._stream
    with real._pipeline._lock:
        stream.tokens.put(frame)
        real._pipeline._flush(stream)
    with pytest.raises((opyard.ResourceExhausted, opyard.InvalidArgument)):
        kept.numpy()
    assert kept.item() == 3 and (kept + 1).item() == 4
    assert real._pipeline._stream is not stream


def test_sessions_that_are_not(real):
    transport = real._pipeline.transport
    with pytest.raises(opyard.NotFound):
        transport.describe(b"0" * 16, [1], 10)
    for token in (b"", b"short", b"0" * 17):
        with pytest.raises((opyard.Unauthenticated, opyard.NotFound, opyard.InvalidArgument)):
            transport.describe(token, [1], 10)


def test_mutated_frames_never_hurt_the_daemon(daemon, bystander):
    """Frames with random bytes changed, each on a session of its own kind of luck."""
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    good = ops_pb2.OpFrame(fence=1)
    good.puts.add(id=(1 << 48) + 1, dtype="float32", sizes=[2], data=b"12345678")
    for i in range(4):
        call = good.ops.add(seq=i + 1, op="aten::add.Tensor", op_index=1, results=[(1 << 48) + 2 + i], want=2)
        call.args.add(id=(1 << 48) + 1 + i)
        call.args.add(double_value=2)
        call.kwargs.add(name="alpha").value.int_value = 3
    good.fetch.add(id=(1 << 48) + 2, want=2)
    good.release.append((1 << 48) + 1)
    plain = good.SerializeToString()
    for _ in range(30):
        with opyard.connect(daemon.address, timeout=20, label="fuzz") as yard:
            for _ in range(10):
                data = bytearray(plain)
                for _ in range(chance.randrange(1, 6)):
                    data[chance.randrange(len(data))] = chance.randrange(256)
                try:
                    frame = ops_pb2.OpFrame.FromString(bytes(data))
                except Exception:  # not even a message: the client could not send it
                    continue
                yard._pipeline._stream.tokens.put(frame)
            try:
                yard.tensor([1.0]).numpy()
            except opyard.Error:
                pass  # the stream may have ended; what counts is who lives on
    assert bystander.tensor([2.0]).item() == 2 and daemon.alive()
