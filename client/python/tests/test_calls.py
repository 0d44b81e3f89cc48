"""Calls, values and shapes, against the double."""

import numpy as np
import opyard
import pytest


@pytest.mark.parametrize("data, dtype, shape", [
    ([1, 2], "int64", (2,)), ([[1.0, 2], [3, 4]], "float32", (2, 2)), (3, "int64", ()), (2.5, "float32", ()),
    ([True, False], "bool", (2,)), ([], "float32", (0,)), (np.arange(3, dtype=np.int32), "int32", (3,)),
    (np.eye(2), "float64", (2, 2)), (np.float64(1), "float64", ()), (np.zeros((0, 3), np.uint8), "uint8", (0, 3)),
    (np.arange(6, dtype=">f4").reshape(2, 3).T, "float32", (3, 2))])
def test_elements_survive_the_way_there_and_back(yard, data, dtype, shape):
    x = yard.tensor(data)
    assert (x.dtype, x.shape, x.device, x.ndim) == (dtype, shape, "cpu", len(shape))
    back = x.numpy()
    assert back.dtype == dtype and back.shape == shape and back.flags.writeable
    assert np.array_equal(back, np.asarray(data))


def test_a_wanted_dtype_wins(yard):
    assert yard.tensor([1, 2], dtype="float64").numpy().dtype == np.float64
    assert yard.tensor([1, 2], dtype=np.int32).dtype == "int32"
    assert yard.tensor(np.eye(2), dtype=float).dtype == "float32"


@pytest.mark.parametrize("data", [[[1], [1, 2]], ["a"], [object()], 2 ** 63, [None]])
def test_data_that_is_no_tensor_is_refused_before_anything_is_sent(yard, double, data):
    with pytest.raises(opyard.InvalidArgument):
        yard.tensor(data)
    yard.synchronize()
    assert double.live_values() == 0


def test_large_arrays_go_both_ways_in_chunks(yard, double):
    data = np.arange(1_500_000, dtype=np.float32).reshape(1500, 1000)
    x = yard.tensor(data)
    assert np.array_equal((x + x).numpy(), data + data)
    assert double.counts["bulk puts"] == 1 and double.counts["bulk gets"] == 1


def test_operators(yard):
    a, b = np.array([[1, -2], [3, 4]], np.float32), np.array([[5, 6], [7, 8]], np.float32)
    x, y = yard.tensor(a), yard.tensor(b)
    for got, wanted in [(x + y, a + b), (x + 1, a + 1), (1 + x, a + 1), (x - y, a - b), (2 - x, 2 - a), (x * 3, a * 3),
                        (x @ y, a @ b), (x.relu(), np.maximum(a, 0)), (x.sum(), a.sum()), (x.sum(0), a.sum(0)),
                        (x.sum([0, 1]), a.sum()), (x.sum(dim=[1], keepdim=True), a.sum(1, keepdims=True)),
                        (x + b, a + b), (b + x, a + b), (x.view(4), a.reshape(4)), (x.view([1, 4]), a.reshape(1, 4)),
                        (x.view(1, 2, 2), a.reshape(1, 2, 2)),
                        (yard.ops.aten.add(x, y, alpha=2), a + 2 * b), (yard.ops.aten.add.Tensor(x, y), a + b),
                        (yard.ops.aten.cat([x, y], 1), np.concatenate([a, b], 1))]:
        assert np.array_equal(got.numpy(), wanted)


def test_in_place_calls_return_their_target(yard):
    x = yard.tensor([1.0, 2.0])
    same = x
    x += yard.tensor([10.0, 20.0])
    assert x is same and x.tolist() == [11, 22]
    out = yard.zeros(2)
    assert yard.ops.aten.add(x, x, out=out) is out and out.tolist() == [22, 44]
    x[0] = 5
    assert x.tolist() == [5, 22]


@pytest.mark.parametrize("index", [0, -1, (0, 1), slice(1, None), (slice(None), slice(0, 2)), None, (..., 0),
                                   (0, ..., None), (slice(None, None, 2), 1), (None, slice(1, 2), None, 0), [2, 0],
                                   (slice(None), [1, 1])])
def test_indexing_is_numpys(yard, index):
    data = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert np.array_equal(yard.tensor(data)[index].numpy(), data[index])


@pytest.mark.parametrize("index", [True, "a", 1.5, slice(None, None, -1), (..., ...), slice("a", None)])
def test_what_is_no_index_is_refused(yard, index):
    with pytest.raises(opyard.InvalidArgument):
        yard.tensor([1, 2, 3])[index]


def test_several_results_values_and_nothing(yard):
    x = yard.tensor([1.0, 2.0])
    first, second = yard.ops.test.pair(x)
    assert first.tolist() == [1, 2] and second.tolist() == [-1, -2]
    assert yard.ops.test.equal(x, first) is True and yard.ops.test.equal(x, second) is False
    assert yard.ops.test.text("Grüße") == "Grüße"
    assert yard.ops.test.nothing(3) is None


def test_python_protocols(yard):
    x = yard.tensor([[1, 2], [3, 4]])
    assert len(x) == 2 and [row.tolist() for row in x] == [[1, 2], [3, 4]]
    assert int(x[0, 0]) == 1 and float(x[1, 1]) == 4.0 and bool(x[0, 1]) and [10, 20][yard.tensor(1)] == 20
    assert np.asarray(x).tolist() == [[1, 2], [3, 4]]
    assert len({x, x}) == 1 and x in [x] if x is x else False
    with pytest.raises(opyard.InvalidArgument):
        x.item()
    with pytest.raises(TypeError):
        len(yard.tensor(1))


def test_repr_shows_values_dtype_and_shape(yard):
    assert repr(yard.tensor([[1, 2], [3, 4]])) == (
        "tensor([[1, 2],\n        [3, 4]], dtype=int64, shape=(2, 2))")
    assert repr(yard.tensor([])) == "tensor([], dtype=float32, shape=(0,))"


def test_repr_of_a_large_tensor_fetches_its_corners_only(yard, double):
    data = np.arange(1_200_000, dtype=np.int32).reshape(3, 400_000)
    text = repr(yard.tensor(data))
    assert "399997,  399998,  399999" in text and "..." in text and "800000" in text and "shape=(3, 400000)" in text
    assert double.counts["bulk gets"] == 0


def test_namespaces_can_be_looked_through(yard):
    assert "relu" in dir(yard.ops.aten) and "test" in dir(yard.ops)
    assert set(dir(yard.ops.aten.add)) == {"Scalar", "Tensor", "out"}
    assert "Scalar alpha=1" in repr(yard.ops.aten.add)
    assert not hasattr(yard.tensor(1), "no_such_operator")
    with pytest.raises(opyard.NotFound, match="did you mean"):
        yard.ops.aten.ad  # noqa: B018


def test_explain_names_the_overload_that_a_call_would_take(yard):
    x = yard.tensor([[1.0]])
    trail = yard.explain("aten::add", x, x + 1)
    assert trail.op == "aten::add.Tensor" and "[1, 1]" in str(trail) and trail.steps[0].key == "CPU"
    assert yard.explain(yard.ops.aten.add, x, 1).op == "aten::add.Scalar"
