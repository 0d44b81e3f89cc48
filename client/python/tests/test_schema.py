"""Overload resolution, without a daemon."""

import opyard
import pytest
from double import schema
from opyard.schema import Operator, Overload


def operator(*texts):
    return Operator("x::op", [Overload(schema(text)) for text in texts])


@pytest.mark.parametrize("args, kwargs, chosen", [
    ((1,), {}, "x::op.int"), ((1.0,), {}, "x::op.float"), ((True,), {}, "x::op.bool"), (("a",), {}, "x::op.str"),
    (([1, 2],), {}, "x::op.ints"), (([1.0, 2],), {}, "x::op.floats"), ((None,), {}, "x::op.none"),
    ((1,), {"n": 2}, "x::op.two"), ((), {}, "x::op.none")])
def test_the_closest_overload_is_taken(args, kwargs, chosen):
    op = operator("x::op.int(int a) -> ()", "x::op.float(float a) -> ()", "x::op.bool(bool a) -> ()",
                  "x::op.str(str a) -> ()", "x::op.ints(int[] a) -> ()", "x::op.floats(float[] a) -> ()",
                  "x::op.none(Tensor? a=None) -> ()", "x::op.two(int a, *, int n) -> ()")
    assert op.plan(args, kwargs).overload.name == chosen
    assert op.plan(args, kwargs).overload.name == chosen  # from memory


@pytest.mark.parametrize("args, kwargs, words", [
    ((), {}, "'a' is missing"), ((1, 2, 3), {}, "at most 2"), (("x",), {}, "str 'x', wanted int"),
    ((1,), {"c": 1}, "no parameter 'c'"), ((1,), {"a": 1}, "given twice"), ((1.5,), {}, "wanted int"),
    ((1, [1, "x"]), {}, "wanted int[2]"), ((1, [[1]]), {}, "wanted int[2]")])
def test_refusals_say_what_was_got_and_what_is_wanted(args, kwargs, words):
    with pytest.raises(opyard.InvalidArgument) as refused:
        operator("x::op(int a, int[2] b=0) -> ()").plan(args, kwargs)
    assert words in str(refused.value) and "x::op(int a" in str(refused.value)


def test_a_refusal_by_all_overloads_lists_each_with_its_reason():
    with pytest.raises(opyard.InvalidArgument) as refused:
        operator("x::op.a(int a) -> ()", "x::op.b(str a) -> ()").plan((2.5,), {})
    assert str(refused.value).count("float 2.5") == 2


def test_what_a_list_holds_is_looked_at_each_time():
    op = operator("x::op.ints(int[] a) -> ()", "x::op.floats(float[] a) -> ()")
    assert op.plan(([1],), {}).overload.name == "x::op.ints"
    assert op.plan(([1.5],), {}).overload.name == "x::op.floats"


def test_numbers_at_the_end_are_gathered_into_a_list():
    op = operator("x::op(int a, int[] b) -> ()")
    assert op.plan((1, 2, 3), {}).gather_from == 1
    assert op.plan((1, [2, 3]), {}).gather_from == -1
    with pytest.raises(opyard.InvalidArgument):
        op.plan((1, 2, "x"), {})
