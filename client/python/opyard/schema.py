"""Overloads: which of an operator's schemas a call means, and how its arguments are laid out."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import numpy as np

from .convert import CLOSE, Kind, describe, size_of
from .errors import InvalidArgument, NotFound
from .tensor import Tensor
from .v1 import ops_pb2, registry_pb2

_TENSOR_RETURNS = ("Tensor", "Tensor?")


class Parameter:
    def __init__(self, argument: registry_pb2.OpArgument) -> None:
        self.name = argument.name
        self.kind = Kind(argument.type)
        self.required = not argument.has_default
        self.keyword_only = argument.kwarg_only
        self.alias = argument.alias


class Overload:
    """One schema."""

    def __init__(self, schema: registry_pb2.OpSchema) -> None:
        self.name = schema.name
        self.text = schema.text
        self.parameters = [Parameter(argument) for argument in schema.arguments]
        self.by_name = {parameter.name: parameter for parameter in self.parameters}
        self.positional = [parameter for parameter in self.parameters if not parameter.keyword_only]
        self.returns = [result.type for result in schema.returns]
        # For each return the parameter that it is, where the schema says that it is written in place.
        self.targets = [self._target(result.alias) for result in schema.returns]
        self.written = [parameter.name for parameter in self.parameters if "!" in parameter.alias]
        self.gives_tensors = all(kind in _TENSOR_RETURNS for kind in self.returns)
        self.gives_values = not any(kind.startswith("Tensor") for kind in self.returns)

    def _target(self, alias: str) -> Optional[str]:
        if "!" not in alias:
            return None
        return next((parameter.name for parameter in self.parameters if parameter.alias == alias), None)

    def gathers(self, args: Sequence[Any]) -> bool:
        """x.view(2, 3): the numbers at the end are one int[]."""
        last = len(self.positional) - 1
        if last < 0 or len(args) <= last:
            return False
        kind = self.positional[last].kind
        return kind.is_int_list and not kind.fixed_size and all(
            isinstance(item, (int, np.integer)) and not isinstance(item, bool) for item in args[last:])

    def cost(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Optional[int]:
        return None if self.complaint(args, kwargs) else self._sum(args, kwargs)

    def _sum(self, args: Sequence[Any], kwargs: dict[str, Any]) -> int:
        total = 0
        for parameter, value in zip(self.positional, args):
            total += parameter.kind.cost(value) or 0
        for name, value in kwargs.items():
            total += self.by_name[name].kind.cost(value) or 0
        return total

    def complaint(self, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
        """Why the arguments do not suit this schema; empty when they do."""
        if len(args) > len(self.positional):
            return f"got {len(args)} arguments by position, wanted at most {len(self.positional)}"
        for parameter, value in zip(self.positional, args):
            if parameter.kind.cost(value) is None:
                return f"the argument '{parameter.name}': got {describe(value)}, wanted {parameter.kind.text}"
        given = {parameter.name for parameter in self.positional[:len(args)]}
        for name, value in kwargs.items():
            if name not in self.by_name:
                return f"there is no parameter '{name}'"
            if name in given:
                return f"the argument '{name}' is given twice"
            if self.by_name[name].kind.cost(value) is None:
                return f"the argument '{name}': got {describe(value)}, wanted {self.by_name[name].kind.text}"
        missing = [parameter.name for parameter in self.parameters
                   if parameter.required and parameter.name not in given and parameter.name not in kwargs]
        return f"the argument '{missing[0]}' is missing" if missing else ""


class Plan:
    """A call of one overload whose arguments have known types."""

    def __init__(self, overload: Overload, args: Sequence[Any], kwargs: dict[str, Any], gather: bool) -> None:
        self.overload = overload
        self.gather_from = len(overload.positional) - 1 if gather else -1
        self.kinds = [parameter.kind for parameter in overload.positional[:len(args)]]
        self.named = [(name, overload.by_name[name].kind) for name in kwargs]
        self.uploads = any(
            kind.to_upload(value) for kind, value in [*zip(self.kinds, args), *((kind, kwargs[name]) for name, kind in self.named)])
        self.count = len(overload.returns) if not any(overload.targets) else 0

    def argument(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if name in kwargs:
            return kwargs[name]
        at = next((i for i, parameter in enumerate(self.overload.positional) if parameter.name == name), -1)
        return args[at] if 0 <= at < len(args) else None

    def fill(self, call: ops_pb2.OpCall, args: Sequence[Any], kwargs: dict[str, Any], most_items: int,
             most_text: int) -> int:
        size = 0
        add = call.args.add
        for kind, value in zip(self.kinds, args):
            kind.write(add(), value)
            size += 16 if type(value) is Tensor else self._checked_size(value, most_items, most_text)
        for name, kind in self.named:
            kind.write(call.kwargs.add(name=name).value, kwargs[name])
            size += len(name) + self._checked_size(kwargs[name], most_items, most_text)
        return size

    @staticmethod
    def _checked_size(value: Any, most_items: int, most_text: int) -> int:
        if isinstance(value, (list, tuple)) and len(value) > most_items:
            raise InvalidArgument(f"a list of {len(value)} elements is longer than the {most_items} that the"
                                  " daemon takes")
        if isinstance(value, str) and len(value.encode()) > most_text:
            raise InvalidArgument(f"a text of {len(value)} characters is longer than the {most_text} bytes that the"
                                  " daemon takes")
        return size_of(value)


class Operator:
    """All overloads of one name, or one overload."""

    def __init__(self, name: str, overloads: Sequence[Overload]) -> None:
        self.name = name
        self.overloads = {overload.name: overload for overload in overloads}
        self._plans: dict[Any, Plan] = {}

    def only(self, overload: str) -> Operator:
        full = f"{self.name}.{overload}" if overload != "default" else self.name
        if full not in self.overloads:
            raise NotFound(f"{self.name} has no overload '{overload}'; there are {', '.join(self.overloads)}",
                           op=self.name, reason="UNKNOWN_OP")
        return Operator(full, [self.overloads[full]])

    def plan(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Plan:
        """Raises InvalidArgument when no overload takes these arguments."""
        key: Any = (tuple(map(type, args)), tuple((name, type(value)) for name, value in kwargs.items()))
        plan = self._plans.get(key)
        if plan is None:
            plan, fixed = self._choose(args, kwargs)
            if fixed and len(self._plans) < 256:
                self._plans[key] = plan
        return plan

    def _choose(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Plan, bool]:
        best: Optional[tuple[int, int, str]] = None
        chosen: Optional[Plan] = None
        for overload in self.overloads.values():
            for gather in (False, True):
                given = args
                if gather:
                    if not overload.gathers(args):
                        continue
                    last = len(overload.positional) - 1
                    given = [*args[:last], list(args[last:])]
                cost = overload.cost(given, kwargs)
                if cost is None:
                    continue
                unused = len(overload.parameters) - len(given) - len(kwargs)
                rank = (cost + (CLOSE if gather else 0), unused, overload.name)
                if best is None or rank < best:
                    best, chosen = rank, Plan(overload, given, kwargs, gather)
        if chosen is None:
            raise self._refusal(args, kwargs)
        # What a list holds is not seen from its type: such calls are looked at each time.
        values = [*args, *kwargs.values()]
        return chosen, not any(isinstance(value, (list, tuple, np.ndarray)) for value in values)

    def _refusal(self, args: Sequence[Any], kwargs: dict[str, Any]) -> InvalidArgument:
        overloads = list(self.overloads.values())
        if len(overloads) == 1:
            return InvalidArgument(f"{overloads[0].complaint(args, kwargs)}; the schema is {overloads[0].text}",
                                   op=self.name, reason="BAD_ARGUMENT")
        lines = "".join(f"\n  {one.text}\n    {one.complaint(args, kwargs)}" for one in overloads)
        return InvalidArgument(f"no overload of {self.name} takes these arguments:{lines}", op=self.name,
                               reason="BAD_ARGUMENT")
