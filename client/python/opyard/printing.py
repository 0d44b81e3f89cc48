"""How a tensor is shown. Of a large one only the corners are brought here."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import numpy_dtype
from .errors import Unimplemented
from .tensor import Tensor

_SHOWN_WHOLE = 1000   # elements, as numpy
_EDGE = 3
_FETCHED_WHOLE = 1 << 16


def text_of(tensor: Tensor) -> str:
    """tensor([[1., 2.]], dtype=float32, shape=(1, 2))."""
    shape, count = tensor.shape, tensor.numel()
    tail = f"dtype={tensor.dtype}, shape={shape}"
    if tensor.device != "cpu":
        tail += f", device={tensor.device}"
    try:
        array = tensor.numpy() if count <= _FETCHED_WHOLE else _corners(tensor)
    except Unimplemented:
        return f"tensor(..., {tail})"
    text = np.array2string(array, separator=", ", prefix="tensor(", threshold=_SHOWN_WHOLE, edgeitems=_EDGE)
    return f"tensor({text}, {tail})"


def _corners(tensor: Tensor) -> "np.ndarray[Any, Any]":
    """An array of the tensor's shape in which only the elements that are shown are filled in.

    The rest is never touched, so it takes no memory.
    """
    shape = tensor.shape
    whole = np.zeros(shape, numpy_dtype(tensor.dtype))
    places, part = [], tensor
    for dim, size in enumerate(shape):
        if size > 2 * _EDGE + 1:
            edges = [part._call("aten::slice", dim, 0, _EDGE), part._call("aten::slice", dim, size - _EDGE, size)]
            part = tensor._yard.ops.aten.cat(edges, dim)
            places.append([*range(_EDGE), *range(size - _EDGE, size)])
        else:
            places.append(list(range(size)))
    whole[np.ix_(*places)] = part.numpy()
    return whole
