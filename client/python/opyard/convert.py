"""Python values as arguments: whether a value suits a schema's type, and how it is written as a `Value`."""

from __future__ import annotations

import re
from typing import Any, Callable, Optional, Sequence

import numpy as np

from .dtypes import dtype_name
from .errors import InvalidArgument
from .tensor import Tensor
from .v1 import common_pb2

# Costs of a match: the overload with the lowest sum is taken.
EXACT, CLOSE, WIDER, MADE = 0, 1, 2, 4

Write = Callable[[common_pb2.Value, Any], None]
Cost = Callable[[Any], Optional[int]]

_TYPE = re.compile(r"(?P<base>[A-Za-z_]\w*)(?:\([^)]*\))?(?P<element>\?)?(?:\[(?P<size>\d*)\](?P<optional>\?)?)?")
_ARRAYS = (list, tuple, np.ndarray)
_INT, _FLOAT, _BOOL, _COMPLEX = (int, np.integer), (float, np.floating), (bool, np.bool_), (complex, np.complexfloating)


def _number_cost(value: Any) -> Optional[int]:
    if isinstance(value, (*_INT, *_FLOAT, *_COMPLEX, *_BOOL)):
        return EXACT
    return None


def _int_cost(value: Any) -> Optional[int]:
    if isinstance(value, _BOOL):
        return None
    return EXACT if isinstance(value, _INT) else None


def _float_cost(value: Any) -> Optional[int]:
    if isinstance(value, _BOOL):
        return None
    if isinstance(value, _FLOAT):
        return EXACT
    return CLOSE if isinstance(value, _INT) else None


def _bool_cost(value: Any) -> Optional[int]:
    return EXACT if isinstance(value, _BOOL) else None


def _text_cost(value: Any) -> Optional[int]:
    return EXACT if isinstance(value, str) else None


def _dtype_cost(value: Any) -> Optional[int]:
    return EXACT if isinstance(value, (str, type, np.dtype)) else None


def _tensor_cost(value: Any) -> Optional[int]:
    if isinstance(value, Tensor):
        return EXACT
    if _number_cost(value) is not None:
        return WIDER
    return MADE if isinstance(value, (list, tuple, np.ndarray)) else None


def _never(value: Any) -> Optional[int]:
    return None


def write_number(out: common_pb2.Value, value: Any) -> None:
    if isinstance(value, _BOOL):
        out.bool_value = bool(value)
    elif isinstance(value, _INT):
        _write_int(out, value)
    elif isinstance(value, _FLOAT):
        out.double_value = float(value)
    else:
        out.complex_value.real, out.complex_value.imag = value.real, value.imag


def _write_int(out: common_pb2.Value, value: Any) -> None:
    try:
        out.int_value = int(value)
    except ValueError:
        raise InvalidArgument(f"{value} does not fit into 64 bits") from None


def _write_float(out: common_pb2.Value, value: Any) -> None:
    out.double_value = float(value)


def _write_bool(out: common_pb2.Value, value: Any) -> None:
    out.bool_value = bool(value)


def _write_tensor(out: common_pb2.Value, value: Any) -> None:
    if isinstance(value, Tensor):
        out.id = value._id
    else:
        write_number(out, value)


def _write_dtype(out: common_pb2.Value, value: Any) -> None:
    out.dtype = dtype_name(value)


def _attribute(name: str) -> Write:
    return lambda out, value: setattr(out, name, value)


_SINGLE: dict[str, tuple[Cost, Write]] = {
    "Tensor": (_tensor_cost, _write_tensor),
    "Scalar": (_number_cost, write_number),
    "int": (_int_cost, _write_int),
    "SymInt": (_int_cost, _write_int),
    "float": (_float_cost, _write_float),
    "SymFloat": (_float_cost, _write_float),
    "bool": (_bool_cost, _write_bool),
    "SymBool": (_bool_cost, _write_bool),
    "complex": (_number_cost, write_number),
    "number": (_number_cost, write_number),
    "str": (_text_cost, _attribute("string_value")),
    "ScalarType": (_dtype_cost, _write_dtype),
    "Device": (_text_cost, _attribute("device")),
    "Layout": (_text_cost, _attribute("layout")),
    "MemoryFormat": (_text_cost, _attribute("memory_format")),
}


class Kind:
    """A parameter's type. `cost` is None when a value does not suit it; `write` puts it into a `Value`."""

    def __init__(self, text: str) -> None:
        found = _TYPE.fullmatch(text)
        self.text = text
        self.base = found["base"] if found else text
        self.is_list = bool(found and found["size"] is not None)
        self.is_tensor = self.base == "Tensor"
        self.optional = bool(found and (found["optional"] if self.is_list else found["element"]))
        self.element_optional = bool(found and self.is_list and found["element"])
        self.fixed_size = int(found["size"]) if found and found["size"] else 0
        self._cost, self._write = _SINGLE.get(self.base, (_never, _attribute("string_value")))
        self.write: Write = self._write_list if self.is_list else self._write
        if self.optional:
            inner = self.write
            self.write = lambda out, value: (
                setattr(out, "none", True) if value is None else inner(out, value))

    def to_upload(self, value: Any) -> bool:
        """Whether tensors have to be made of the value, or of items of it, before it can be written."""
        if self.is_tensor and self.is_list:
            return isinstance(value, (list, tuple)) and any(isinstance(item, _ARRAYS) for item in value)
        return self.is_tensor and isinstance(value, _ARRAYS)

    @property
    def is_int_list(self) -> bool:
        return self.is_list and self.base in ("int", "SymInt")

    def cost(self, value: Any) -> Optional[int]:
        if value is None:
            return EXACT if self.optional else None
        if not self.is_list:
            return self._cost(value)
        if isinstance(value, (list, tuple)):
            return self._list_cost(value)
        if isinstance(value, np.ndarray) and value.ndim == 1 and not self.is_tensor:
            return self._list_cost(value.tolist())
        one = self._cost(value) if self.fixed_size and not self.is_tensor else None
        return None if one is None else one + CLOSE

    def _list_cost(self, values: Sequence[Any]) -> Optional[int]:
        worst = EXACT
        for value in values:
            one = EXACT if value is None and self.element_optional else self._cost(value)
            if one is None or (self.is_tensor and one == WIDER):  # a number is no tensor of a list
                return None
            worst = max(worst, one)
        return worst

    def _write_list(self, out: common_pb2.Value, value: Any) -> None:
        values = value if isinstance(value, (list, tuple)) else (
            value.tolist() if isinstance(value, np.ndarray) else [value] * self.fixed_size)
        try:
            if self.is_tensor:
                out.ids.items.extend([0 if item is None else item._id for item in values])
                out.ids.SetInParent()
            elif self.base in ("int", "SymInt"):
                out.ints.items.extend([item.__index__() for item in values])
                out.ints.SetInParent()
            elif self.base in ("float", "SymFloat"):
                out.doubles.items.extend([float(item) for item in values])
                out.doubles.SetInParent()
            elif self.base == "bool":
                out.bools.items.extend([bool(item) for item in values])
                out.bools.SetInParent()
            else:
                out.list.SetInParent()
                for item in values:
                    self._write(out.list.items.add(), item)
        except (AttributeError, TypeError, ValueError) as error:
            raise InvalidArgument(f"{describe(value)} is no {self.text} ({error})") from None


def describe(value: Any) -> str:
    """A value in an error's words: its type, and itself when it is short."""
    if isinstance(value, Tensor):
        return "Tensor"
    if isinstance(value, np.ndarray):
        return f"a numpy array of {value.dtype}"
    if isinstance(value, (list, tuple)) and any(isinstance(item, Tensor) for item in value):
        return f"a list of {len(value)} tensors"
    text = repr(value)
    return f"{type(value).__name__} {text}" if len(text) <= 40 else type(value).__name__


def size_of(value: Any) -> int:
    """About how many bytes a value takes in a frame; at least so many."""
    if isinstance(value, (list, tuple)):
        return 16 + 10 * len(value) + sum(len(item) * 4 for item in value if isinstance(item, str))
    if isinstance(value, str):
        return 8 + 4 * len(value)
    return 24
