"""`Tensor`: the client's handle of a tensor that lives in the daemon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, NamedTuple, Optional, Sequence, Union

import numpy as np

from .dtypes import DTypeLike, dtype_name, is_dtype_name, numpy_dtype
from .errors import DataLoss, Error, InvalidArgument, NotFound
from .v1 import common_pb2, ops_pb2, tensors_pb2

if TYPE_CHECKING:
    from .yard import Yard

Number = Union[bool, int, float, complex]
Operand = Union["Tensor", Number, "np.ndarray[Any, Any]", Sequence[Any]]


class Meta(NamedTuple):
    dtype: str
    shape: tuple[int, ...]
    device: str

    @staticmethod
    def of(message: common_pb2.TensorMeta) -> Meta:
        return Meta(message.dtype, tuple(message.sizes), message.device)


class Tensor:
    """A tensor in the daemon. Operators return at once; `numpy`, `item`, `shape` and the like wait.

    Made by `Yard.tensor` and by operators. Operators without a method of their own are found by name: `x.sigmoid()` is
    `yard.ops.aten.sigmoid(x)`. The daemon's memory goes with the Python object.
    """

    __slots__ = ("_yard", "_id", "_meta", "_released", "__weakref__")
    __array_priority__ = 1000  # numpy leaves `array + tensor` to us
    __array_ufunc__ = None

    def __init__(self, yard: Yard, id_: int, meta: Optional[Meta] = None) -> None:
        self._released = yard._released
        self._yard = yard
        self._id = id_
        self._meta = meta

    def __del__(self) -> None:
        # Runs in any thread, at any place, perhaps while the interpreter goes down: nothing but this.
        try:
            released = self._released
            released.append(self._id)
            if len(released) == 1:
                self._yard._pipeline.wake()
        except AttributeError:
            pass  # never finished, or already taken apart

    # What it is.

    def _described(self) -> Meta:
        """Dtype, shape and device; asks once, then remembers."""
        if self._meta is None:
            result = self._yard._pipeline.fetch(self._id, ops_pb2.WANT_META, "a tensor's shape and dtype")
            self._meta = Meta.of(result.meta)
        return self._meta

    @property
    def shape(self) -> tuple[int, ...]:
        return self._described().shape

    @property
    def dtype(self) -> str:
        return self._described().dtype

    @property
    def device(self) -> str:
        return self._described().device

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def yard(self) -> Yard:
        return self._yard

    def numel(self) -> int:
        count = 1
        for size in self.shape:
            count *= size
        return count

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a 0-d tensor has no length")
        return self.shape[0]

    # Its values.

    def numpy(self) -> "np.ndarray[Any, Any]":
        """A copy as a numpy array. Raises the failure of the call that should have made this tensor."""
        result = self._yard._pipeline.fetch(self._id, ops_pb2.WANT_VALUE, "a tensor's values")
        self._meta = meta = Meta.of(result.meta)
        dtype = numpy_dtype(meta.dtype)
        data = self._download(result.meta) if result.data_omitted else bytearray(result.data)
        array = np.frombuffer(data, dtype=dtype.newbyteorder("<")).astype(dtype, copy=False)
        return array.reshape(meta.shape)

    def _download(self, meta: common_pb2.TensorMeta) -> bytearray:
        pipeline = self._yard._pipeline
        data = bytearray(meta.bytes)
        at = 0
        for reply in pipeline.transport.get(pipeline.token, tensors_pb2.GetRequest(id=self._id), pipeline.timeout):
            end = at + len(reply.data)
            if end > len(data):
                raise DataLoss(f"the daemon sent more than the {len(data)} bytes that the tensor has")
            data[at:end] = reply.data
            at = end
        if at != len(data):
            raise DataLoss(f"the daemon sent {at} of the tensor's {len(data)} bytes; try again")
        return data

    def item(self) -> Any:
        """The only element as a Python number."""
        array = self.numpy()
        if array.size != 1:
            raise InvalidArgument(f"item() wants a tensor of one element, this one has the shape {self.shape}")
        return array.item()

    def tolist(self) -> Any:
        return self.numpy().tolist()

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> "np.ndarray[Any, Any]":
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __index__(self) -> int:
        value = self.item()
        if not isinstance(value, int):
            raise TypeError(f"an index wants a tensor of integers, this one has {self.dtype}")
        return value

    def __repr__(self) -> str:
        from .printing import text_of
        try:
            return text_of(self)
        except Error as error:
            return f"<opyard.Tensor without a value: {error}>"

    # Calls.

    def _call(self, name: str, *args: Any, **kwargs: Any) -> Tensor:
        """A call with this tensor first, of an operator that returns one tensor."""
        result: Tensor = self._yard._invoke(name, (self, *args), kwargs)
        return result

    def _reversed(self, name: str, other: Any) -> Tensor:
        result: Tensor = self._yard._invoke(name, (other, self), {})
        return result

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        full = f"aten::{name}"
        try:
            self._yard._find(full)
        except NotFound as error:
            raise AttributeError(f"a tensor has no attribute '{name}', and no operator is called so: {error}") from None
        return lambda *args, **kwargs: self._yard._invoke(full, (self, *args), kwargs)

    def __add__(self, other: Operand) -> Tensor: return self._call("aten::add", other)
    def __radd__(self, other: Operand) -> Tensor: return self._call("aten::add", other)
    def __sub__(self, other: Operand) -> Tensor: return self._call("aten::sub", other)
    def __rsub__(self, other: Operand) -> Tensor: return self._reversed("aten::sub", other)
    def __mul__(self, other: Operand) -> Tensor: return self._call("aten::mul", other)
    def __rmul__(self, other: Operand) -> Tensor: return self._call("aten::mul", other)
    def __truediv__(self, other: Operand) -> Tensor: return self._call("aten::div", other)
    def __rtruediv__(self, other: Operand) -> Tensor: return self._reversed("aten::div", other)
    def __pow__(self, other: Operand) -> Tensor: return self._call("aten::pow", other)
    def __neg__(self) -> Tensor: return self._call("aten::neg")
    def __pos__(self) -> Tensor: return self
    def __abs__(self) -> Tensor: return self._call("aten::abs")
    def __matmul__(self, other: Operand) -> Tensor: return self._call("aten::mm", other)
    def __rmatmul__(self, other: Operand) -> Tensor: return self._reversed("aten::mm", other)
    def __iadd__(self, other: Operand) -> Tensor: return self._call("aten::add_", other)
    def __isub__(self, other: Operand) -> Tensor: return self._call("aten::sub_", other)
    def __imul__(self, other: Operand) -> Tensor: return self._call("aten::mul_", other)
    def __itruediv__(self, other: Operand) -> Tensor: return self._call("aten::div_", other)
    def __eq__(self, other: Operand) -> Tensor: return self._call("aten::eq", other)  # type: ignore[override]
    def __ne__(self, other: Operand) -> Tensor: return self._call("aten::ne", other)  # type: ignore[override]
    def __lt__(self, other: Operand) -> Tensor: return self._call("aten::lt", other)
    def __gt__(self, other: Operand) -> Tensor: return self._call("aten::gt", other)
    def __le__(self, other: Operand) -> Tensor: return self._call("aten::le", other)
    def __ge__(self, other: Operand) -> Tensor: return self._call("aten::ge", other)

    def __hash__(self) -> int:
        return id(self)

    def __getitem__(self, index: Any) -> Tensor:
        from .indexing import view_of
        return view_of(self, index)

    def __setitem__(self, index: Any, value: Operand) -> None:
        from .indexing import view_of
        source = value if isinstance(value, Tensor) else self._yard.tensor(np.asarray(value, numpy_dtype(self.dtype)))
        view_of(self, index)._call("aten::copy_", source)

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    @property
    def T(self) -> Tensor:
        return self._call("aten::t")

    def to(self, *targets: DTypeLike, dtype: Optional[DTypeLike] = None, device: Optional[str] = None,
           non_blocking: bool = False) -> Tensor:
        """A copy on another device or with another element type: x.to("toy"), x.to("toy:1", "float64"),
        x.to(device="cpu"). With non_blocking the copy to a device may be done later, before the device does more."""
        wanted: dict[str, Any] = {"dtype": dtype, "device": device}
        for target in targets:
            name = "device" if isinstance(target, str) and not is_dtype_name(target) else "dtype"
            if wanted[name] is not None:
                raise InvalidArgument(f"to() was given two of a kind: {wanted[name]!r} and {target!r} as {name}")
            wanted[name] = target
        if wanted["dtype"] is not None:
            wanted["dtype"] = dtype_name(wanted["dtype"])
        given = {name: value for name, value in wanted.items() if value is not None}
        if not given:
            raise InvalidArgument("to() wants a device, an element type, or both")
        if non_blocking:
            given["non_blocking"] = True
        return self._call("aten::_to_copy", **given)

    # The rest is here for editors and type checkers: each is the operator of the same name.

    def add(self, other: Operand, *, alpha: Number = 1) -> Tensor: return self._call("aten::add", other, alpha=alpha)
    def add_(self, other: Operand, *, alpha: Number = 1) -> Tensor: return self._call("aten::add_", other, alpha=alpha)
    def sub(self, other: Operand, *, alpha: Number = 1) -> Tensor: return self._call("aten::sub", other, alpha=alpha)
    def sub_(self, other: Operand, *, alpha: Number = 1) -> Tensor: return self._call("aten::sub_", other, alpha=alpha)
    def mul(self, other: Operand) -> Tensor: return self._call("aten::mul", other)
    def mul_(self, other: Operand) -> Tensor: return self._call("aten::mul_", other)
    def div(self, other: Operand) -> Tensor: return self._call("aten::div", other)
    def div_(self, other: Operand) -> Tensor: return self._call("aten::div_", other)
    def neg(self) -> Tensor: return self._call("aten::neg")
    def exp(self) -> Tensor: return self._call("aten::exp")
    def log(self) -> Tensor: return self._call("aten::log")
    def sqrt(self) -> Tensor: return self._call("aten::sqrt")
    def tanh(self) -> Tensor: return self._call("aten::tanh")
    def sigmoid(self) -> Tensor: return self._call("aten::sigmoid")
    def relu(self) -> Tensor: return self._call("aten::relu")
    def eq(self, other: Operand) -> Tensor: return self._call("aten::eq", other)
    def gt(self, other: Operand) -> Tensor: return self._call("aten::gt", other)
    def lt(self, other: Operand) -> Tensor: return self._call("aten::lt", other)
    def mm(self, mat2: Operand) -> Tensor: return self._call("aten::mm", mat2)
    def t(self) -> Tensor: return self._call("aten::t")
    def clone(self) -> Tensor: return self._call("aten::clone")
    def copy_(self, src: Operand) -> Tensor: return self._call("aten::copy_", src)
    def unsqueeze(self, dim: int) -> Tensor: return self._call("aten::unsqueeze", dim)
    def select(self, dim: int, index: int) -> Tensor: return self._call("aten::select", dim, index)
    def index_select(self, dim: int, index: Tensor) -> Tensor: return self._call("aten::index_select", dim, index)
    def view(self, *size: Any) -> Tensor: return self._call("aten::view", *size)
    def expand(self, *size: Any) -> Tensor: return self._call("aten::expand", *size)
    def permute(self, *dims: Any) -> Tensor: return self._call("aten::permute", *dims)
    def sum(self, *args: Any, **kwargs: Any) -> Tensor: return self._call("aten::sum", *args, **kwargs)
    def mean(self, *args: Any, **kwargs: Any) -> Tensor: return self._call("aten::mean", *args, **kwargs)
    def amax(self, *args: Any, **kwargs: Any) -> Tensor: return self._call("aten::amax", *args, **kwargs)
    def argmax(self, dim: Optional[int] = None, keepdim: bool = False) -> Tensor:
        return self._call("aten::argmax", dim, keepdim)

    def softmax(self, dim: int) -> Tensor:
        return self._call("aten::_softmax", dim, False)
