"""Names of element types, and their numpy counterparts."""

from __future__ import annotations

from typing import Any, Union

import numpy as np

from .errors import InvalidArgument, Unimplemented

DTypeLike = Union[str, type, "np.dtype[Any]"]

float32 = "float32"
float64 = "float64"
float16 = "float16"
int64 = "int64"
int32 = "int32"
int16 = "int16"
int8 = "int8"
uint8 = "uint8"
bool_ = "bool"
complex64 = "complex64"
complex128 = "complex128"

_NUMPY = {name: np.dtype(name) for name in (
    float32, float64, float16, int64, int32, int16, int8, uint8, bool_, complex64, complex128)}
_ELSEWHERE = {float: float32, int: int64, bool: bool_, complex: complex64}
# Types that the daemon knows and numpy does not.
_FOREIGN = ("bfloat16",)


def is_dtype_name(name: str) -> bool:
    return name in _NUMPY or name in _FOREIGN


def dtype_name(dtype: DTypeLike) -> str:
    """"float32" for "float32", np.float32, np.dtype("float32"), or Python's float (as literals: float is float32)."""
    if isinstance(dtype, str):
        if is_dtype_name(dtype):
            return dtype
    elif isinstance(dtype, type) and dtype in _ELSEWHERE:
        return _ELSEWHERE[dtype]
    else:
        try:
            name = np.dtype(dtype).name
        except TypeError:
            name = ""
        if name in _NUMPY:
            return name
    raise InvalidArgument(f"{dtype!r} is no element type; wanted one of {', '.join([*_NUMPY, *_FOREIGN])}")


def numpy_dtype(name: str) -> "np.dtype[Any]":
    """Raises Unimplemented for element types without a numpy counterpart."""
    if name not in _NUMPY:
        raise Unimplemented(f"numpy has no {name}; convert first, as in x.to('float32').numpy()")
    return _NUMPY[name]


def little_endian(array: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """The array as the wire wants it: row-major, little-endian."""
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(array.shape)
