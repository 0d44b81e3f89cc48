"""`yard.ops.<namespace>.<operator>(...)`: whatever the daemon's Registry knows, found by name."""

from __future__ import annotations

import os
import sys
from types import CodeType
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from .errors import FailedPrecondition, InvalidArgument, NotFound, Unimplemented
from .schema import Operator, Overload, Plan
from .tensor import Tensor
from .v1 import common_pb2, ops_pb2, registry_pb2

if TYPE_CHECKING:
    from .yard import Yard

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_OWN: dict[str, bool] = {}
_SITES: dict[tuple[CodeType, int], str] = {}


def call_site() -> str:
    """The line of the caller's code, as "train.py:12": the first frame outside this package."""
    frame = sys._getframe(1)
    while True:
        code = frame.f_code
        own = _OWN.get(code.co_filename)
        if own is None:
            own = _OWN[code.co_filename] = os.path.abspath(code.co_filename).startswith(_HERE)
        if not own or frame.f_back is None:
            break
        frame = frame.f_back
    key = (code, frame.f_lineno)
    site = _SITES.get(key)
    if site is None:
        if len(_SITES) >= 4096:
            _SITES.clear()
        site = _SITES[key] = f"{os.path.relpath(code.co_filename) if _below_here(code) else code.co_filename}" \
                             f":{frame.f_lineno}"
    return site


def _below_here(code: CodeType) -> bool:
    try:
        return os.path.abspath(code.co_filename).startswith(os.getcwd() + os.sep)
    except OSError:
        return False


def python_value(value: common_pb2.Value) -> Any:
    """A result that is not a tensor, as a Python value."""
    kind = value.WhichOneof("kind")
    if kind is None or kind == "none":
        return None
    if kind == "complex_value":
        return complex(value.complex_value.real, value.complex_value.imag)
    if kind == "list":
        return [python_value(item) for item in value.list.items]
    if kind in ("ints", "doubles", "bools", "ids"):
        return list(getattr(value, kind).items)
    return getattr(value, kind)


class BoundOperator:
    """An operator, `yard.ops.aten.add`, or one overload of it, `yard.ops.aten.add.Tensor`."""

    def __init__(self, yard: Yard, operator: Operator) -> None:
        self._yard = yard
        self._operator = operator
        self.__name__ = operator.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return invoke(self._yard, self._operator, args, kwargs)

    def __getattr__(self, name: str) -> BoundOperator:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return BoundOperator(self._yard, self._operator.only(name))
        except NotFound as error:
            raise AttributeError(str(error)) from None

    def __dir__(self) -> list[str]:
        return [name.rpartition(".")[2] if "." in name else "default" for name in self._operator.overloads]

    @property
    def schemas(self) -> list[str]:
        return [overload.text for overload in self._operator.overloads.values()]

    def __repr__(self) -> str:
        return "\n".join(self.schemas)


class Namespace:
    """`yard.ops.aten`."""

    def __init__(self, yard: Yard, name: str) -> None:
        self._yard = yard
        self._name = name

    def __getattr__(self, name: str) -> BoundOperator:
        if name.startswith("__"):
            raise AttributeError(name)
        return BoundOperator(self._yard, find(self._yard, f"{self._name}::{name}"))

    def __dir__(self) -> list[str]:
        prefix = f"{self._name}::"
        return sorted({name[len(prefix):].split(".")[0] for name in self._yard.list_ops(prefix)})


class Ops:
    """`yard.ops`."""

    def __init__(self, yard: Yard) -> None:
        self._yard = yard

    def __getattr__(self, name: str) -> Namespace:
        if name.startswith("__"):
            raise AttributeError(name)
        return Namespace(self._yard, name)

    def __dir__(self) -> list[str]:
        return sorted({name.split("::")[0] for name in self._yard.list_ops()})


def find(yard: Yard, name: str) -> Operator:
    """The operator with all its overloads; asks the Registry once. Raises NotFound, which names the nearest."""
    operator = yard._operators.get(name)
    if operator is None:
        pipeline = yard._pipeline
        pipeline.check_open()
        reply = pipeline.transport.get_schema(name, pipeline.timeout)
        operator = yard._operators[name] = Operator(name, [Overload(schema) for schema in reply.schemas])
    return operator


def _prepared(yard: Yard, plan: Plan, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
    """Numbers at the end gathered into a list, arrays uploaded where a tensor is wanted."""
    if plan.gather_from >= 0:
        args = [*args[:plan.gather_from], list(args[plan.gather_from:])]
    if plan.uploads:
        def made(kind: Any, value: Any) -> Any:
            array = isinstance(value, (list, tuple, np.ndarray))
            return yard.tensor(value) if array and kind.is_tensor and not kind.is_list else value
        args = [made(kind, value) for kind, value in zip(plan.kinds, args)]
        kwargs = {name: made(kind, kwargs[name]) for name, kind in plan.named}
    return args, kwargs


def _check_yard(yard: Yard, values: Sequence[Any]) -> None:
    for value in values:
        if type(value) is Tensor:
            if value._yard is not yard:
                raise InvalidArgument("an argument is a tensor of another yard; bring it over with"
                                      " yard.tensor(x.numpy())")
        elif isinstance(value, (list, tuple)):
            for item in value:
                if type(item) is Tensor and item._yard is not yard:
                    raise InvalidArgument("a list holds a tensor of another yard; bring it over with"
                                          " yard.tensor(x.numpy())")


def invoke(yard: Yard, operator: Operator, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Sends one call: returns tensors at once; waits only for results that are not tensors."""
    plan = operator.plan(args, kwargs)
    overload = plan.overload
    if plan.gather_from >= 0 or plan.uploads:
        args, kwargs = _prepared(yard, plan, args, kwargs)
    _check_yard(yard, args)
    if kwargs:
        _check_yard(yard, list(kwargs.values()))
    pipeline = yard._pipeline
    limits = pipeline.limits

    def fill(call: ops_pb2.OpCall) -> int:
        return plan.fill(call, args, kwargs, limits.list_items, limits.string_bytes)

    if overload.written:
        return _invoke_in_place(yard, plan, args, kwargs, fill)
    if overload.gives_tensors and overload.returns:
        first = pipeline.call(overload.name, fill, plan.count, call_site())
        if plan.count == 1:
            return Tensor(yard, first)
        return tuple(Tensor(yard, first + i) for i in range(plan.count))
    if overload.gives_values:
        if not overload.returns:
            pipeline.call(overload.name, fill, 0, call_site())
            return None
        values = [python_value(value) for value in
                  pipeline.call_for_values(overload.name, fill, len(overload.returns), call_site())]
        return values[0] if len(values) == 1 else tuple(values)
    raise Unimplemented(f"{overload.name} returns {', '.join(overload.returns)}: this client cannot choose the ids of a"
                        " list whose length it does not know", op=overload.name)


def _invoke_in_place(yard: Yard, plan: Plan, args: Sequence[Any], kwargs: dict[str, Any], fill: Any) -> Any:
    overload = plan.overload
    written = [plan.argument(name, args, kwargs) for name in overload.written]
    targets = [target for target in written if isinstance(target, Tensor)]
    if len(targets) != len(written):
        raise InvalidArgument(f"the arguments {', '.join(overload.written)} are written to: tensors are wanted there",
                              op=overload.name)
    if not all(overload.targets) and overload.returns:
        raise FailedPrecondition(f"{overload.name} returns both new and written tensors, which this client cannot name",
                                 op=overload.name)
    yard._pipeline.call(overload.name, fill, 0, call_site(), targets[0]._id)
    for target in targets:
        target._meta = None
    results = [plan.argument(name, args, kwargs) for name in overload.targets if name]
    if not results:
        return None
    return results[0] if len(results) == 1 else tuple(results)


def explain_request(yard: Yard, operator: Operator, args: Sequence[Any],
                    kwargs: dict[str, Any]) -> registry_pb2.ExplainRequest:
    plan = operator.plan(args, kwargs)
    args, kwargs = _prepared(yard, plan, args, kwargs)
    _check_yard(yard, [*args, *kwargs.values()])
    call = ops_pb2.OpCall()
    plan.fill(call, args, kwargs, yard._pipeline.limits.list_items, yard._pipeline.limits.string_bytes)
    return registry_pb2.ExplainRequest(op=plan.overload.name, args=call.args, kwargs=call.kwargs)
