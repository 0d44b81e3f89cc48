"""`x[...]`: indices, slices, None, `...` and index tensors as calls of view operators."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .errors import InvalidArgument, OutOfRange
from .tensor import Tensor


def view_of(tensor: Tensor, index: Any) -> Tensor:
    """The part that `index` names: a view, except behind an index tensor, which copies."""
    items = index if isinstance(index, tuple) else (index,)
    items = _without_ellipsis(tensor, items)
    dim = 0
    for item in items:
        if item is None:
            tensor = tensor.unsqueeze(dim)
            dim += 1
        elif isinstance(item, slice):
            tensor = _sliced(tensor, dim, item)
            dim += 1
        elif isinstance(item, (Tensor, list, np.ndarray)):
            tensor = tensor.index_select(dim, _indices(tensor, item))
            dim += 1
        else:
            tensor = tensor.select(dim, _whole(item))
    return tensor


def _without_ellipsis(tensor: Tensor, items: tuple[Any, ...]) -> tuple[Any, ...]:
    places = [i for i, item in enumerate(items) if item is Ellipsis]
    if not places:
        return items
    if len(places) > 1:
        raise InvalidArgument("an index has room for one `...`, got several")
    at = places[0]
    named = sum(1 for item in items if item is not None and item is not Ellipsis)
    if named > tensor.ndim:
        raise OutOfRange(f"got {named} indices for a tensor of {tensor.ndim} dimensions")
    return (*items[:at], *[slice(None)] * (tensor.ndim - named), *items[at + 1:])


def _whole(item: Any) -> int:
    if isinstance(item, (bool, np.bool_)):
        raise InvalidArgument("a bool is no index here; wanted an int, a slice, None, `...` or an index tensor")
    try:
        return operator.index(item)
    except TypeError:
        raise InvalidArgument(f"{type(item).__name__} is no index; wanted an int, a slice, None, `...` or an index"
                              " tensor") from None


def _sliced(tensor: Tensor, dim: int, item: slice) -> Tensor:
    if item == slice(None):
        return tensor
    start, stop, step = (None if part is None else _whole(part) for part in (item.start, item.stop, item.step))
    if step is not None and step < 1:
        raise InvalidArgument(f"a slice's step is at least 1 here, got {step}")
    sliced: Tensor = tensor._call("aten::slice", dim, start, stop, 1 if step is None else step)
    return sliced


def _indices(tensor: Tensor, item: Any) -> Tensor:
    if isinstance(item, Tensor):
        return item
    array = np.asarray(item)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InvalidArgument(f"an index list has one dimension and holds integers, got {array.dtype} of the shape"
                              f" {array.shape}")
    return tensor._yard.tensor(array.astype(np.int64))
