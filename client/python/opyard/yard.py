"""`connect` and `Yard`: a session with a daemon."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import warnings
import weakref
from types import TracebackType
from typing import Any, Iterator, NamedTuple, Optional, Sequence

import numpy as np

from .address import resolve
from .dtypes import DTypeLike, dtype_name, little_endian, numpy_dtype
from .errors import Error, InvalidArgument, ResourceExhausted
from .grpc_transport import GrpcTransport
from .ops import BoundOperator, Ops, call_site, explain_request, invoke
from .pipeline import Pipeline
from .routing import Explanation, Table, Trace, explanation, table, table_request
from .schema import Operator, Overload
from .tensor import Meta, Number, Tensor
from .transport import Transport
from .v1 import common_pb2, registry_pb2, tensors_pb2

VERSION = "0.1.0"
CLIENT = f"opyard-python {VERSION}"
DEFAULT_TIMEOUT = 30.0
INLINE_BYTES = 256 << 10  # larger arrays are uploaded on a call of their own

_LITERALS = {"b": "bool", "i": "int64", "u": "int64", "f": "float32", "c": "complex64"}
_open_yards: "weakref.WeakSet[Yard]" = weakref.WeakSet()


class Stats(NamedTuple):
    calls: int   # operator calls sent or about to be
    frames: int  # frames that carried them


def connect(address: Optional[str] = None, *, timeout: float = DEFAULT_TIMEOUT, label: str = "",
            transport: Optional[Transport] = None) -> Yard:
    """Opens a session with the daemon at `address`, else OPYARD_ADDRESS, else the user's default socket.

    `timeout` is the deadline of every call and wait, in seconds. Raises Unavailable when no daemon answers.
    """
    if not timeout > 0:
        raise InvalidArgument(f"the timeout is a positive number of seconds, got {timeout!r}")
    chosen = transport or GrpcTransport(resolve(address))
    try:
        return Yard(chosen, timeout, label or os.path.basename(sys.argv[0])[:64] or "python")
    except BaseException:
        chosen.close()
        raise


class Yard:
    """A session: tensors, calls, a random generator. Made by `connect`; close it, or use it in a `with` block."""

    def __init__(self, transport: Transport, timeout: float, label: str) -> None:
        hello = transport.handshake(CLIENT, timeout)
        opened = transport.open_session(label, timeout)
        self.server: str = hello.server
        self.devices: tuple[str, ...] = tuple(hello.devices)
        self.address = transport.address
        self._operators: dict[str, Operator] = {}
        self._pipeline = Pipeline(transport, hello, opened.token, CLIENT, timeout)
        self._released = self._pipeline.released
        _open_yards.add(self)

    # Tensors.

    def tensor(self, data: Any, dtype: Optional[DTypeLike] = None, device: Optional[str] = None) -> Tensor:
        """A tensor in the daemon with the given elements, on cpu unless a device is named.

        numpy arrays keep their element type; of literals, whole numbers give int64, others float32, bools bool.
        """
        array = _array_of(data, dtype)
        data_bytes = little_endian(array)
        limits = self._pipeline.limits
        if limits.dims and array.ndim > limits.dims:
            raise InvalidArgument(f"the array has {array.ndim} dimensions, the daemon takes {limits.dims}")
        if limits.session_bytes and array.nbytes > limits.session_bytes:
            raise ResourceExhausted(f"the array has {array.nbytes} bytes, a session may hold {limits.session_bytes}")
        meta = Meta(array.dtype.name, array.shape, "cpu")
        inline = min(INLINE_BYTES, int(limits.frame_bytes) // 4 or INLINE_BYTES)
        if array.nbytes <= inline:
            made = Tensor(self, self._pipeline.put(meta.dtype, array.shape, data_bytes.tobytes(), call_site()), meta)
        else:
            made = self._upload(data_bytes, meta)
        return made if device is None else made.to(device=device)

    def _upload(self, array: "np.ndarray[Any, Any]", meta: Meta) -> Tensor:
        pipeline = self._pipeline
        id_ = next(pipeline.uploads)
        chunk = min(1 << 20, int(pipeline.limits.chunk_bytes) or 1 << 20)
        view = memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]  # an array is a buffer

        def requests() -> Iterator[tensors_pb2.PutRequest]:
            header = tensors_pb2.PutHeader(id=id_, dtype=meta.dtype, sizes=meta.shape, total_bytes=array.nbytes)
            yield tensors_pb2.PutRequest(header=header, data=bytes(view[:chunk]))
            for at in range(chunk, len(view), chunk):
                yield tensors_pb2.PutRequest(data=bytes(view[at:at + chunk]))

        pipeline.transport.put(pipeline.token, requests(), pipeline.timeout)
        return Tensor(self, id_, meta)

    def _factory(self, name: str, *args: Any, dtype: Optional[DTypeLike], device: Optional[str]) -> Tensor:
        kwargs = {} if dtype is None else {"dtype": dtype_name(dtype)}
        if device is not None:
            kwargs["device"] = device
        made: Tensor = self._invoke(name, args, kwargs)
        return made

    def empty(self, *size: Any, dtype: Optional[DTypeLike] = None, device: Optional[str] = None) -> Tensor:
        return self._factory("aten::empty", _size(size), dtype=dtype, device=device)

    def zeros(self, *size: Any, dtype: Optional[DTypeLike] = None, device: Optional[str] = None) -> Tensor:
        return self._factory("aten::zeros", _size(size), dtype=dtype, device=device)

    def ones(self, *size: Any, dtype: Optional[DTypeLike] = None, device: Optional[str] = None) -> Tensor:
        return self._factory("aten::ones", _size(size), dtype=dtype, device=device)

    def full(self, size: Sequence[int], fill_value: Number, *, dtype: Optional[DTypeLike] = None,
             device: Optional[str] = None) -> Tensor:
        return self._factory("aten::full", list(size), fill_value, dtype=dtype, device=device)

    def arange(self, *bounds: Number, dtype: Optional[DTypeLike] = None, device: Optional[str] = None) -> Tensor:
        return self._factory("aten::arange", *bounds, dtype=dtype, device=device)

    def rand(self, *size: Any, dtype: Optional[DTypeLike] = None, device: Optional[str] = None) -> Tensor:
        """Uniform in [0, 1), from the session's generator."""
        return self._factory("aten::rand", _size(size), dtype=dtype, device=device)

    def randn(self, *size: Any, dtype: Optional[DTypeLike] = None, device: Optional[str] = None) -> Tensor:
        """Standard normal, from the session's generator."""
        return self._factory("aten::randn", _size(size), dtype=dtype, device=device)

    def manual_seed(self, seed: int) -> None:
        """Sets the session's generator. The same seed gives the same numbers on every backend."""
        self._invoke("opyard::manual_seed", (seed,), {})

    # Calls.

    @property
    def ops(self) -> Ops:
        """Operators by name: `yard.ops.aten.add(x, y, alpha=2)`."""
        return Ops(self)

    def _invoke(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return invoke(self, self._operators.get(name) or self._find(name), args, kwargs)

    def _find(self, name: str) -> Operator:
        """The operator with all its overloads; asks the Registry once. Raises NotFound, which names the nearest."""
        operator = self._operators.get(name)
        if operator is None:
            self._pipeline.check_open()
            reply = self._pipeline.transport.get_schema(name, self._pipeline.timeout)
            operator = self._operators[name] = Operator(name, [Overload(schema) for schema in reply.schemas])
        return operator

    def list_ops(self, prefix: str = "") -> list[str]:
        """Full names of the daemon's operators."""
        pipeline, names = self._pipeline, []
        request = registry_pb2.ListOpsRequest(prefix=prefix)
        while True:
            reply = pipeline.transport.list_ops(request, pipeline.timeout)
            names += [op.name for op in reply.ops]
            if not reply.next_page_token:
                return names
            request.page_token = reply.next_page_token

    def explain(self, op: Any, *args: Any, **kwargs: Any) -> Explanation:
        """How the call would be routed, key by key. Runs nothing. `op` is "aten::add" or `yard.ops.aten.add`."""
        operator = op._operator if isinstance(op, BoundOperator) else self._operator(str(op))
        request = explain_request(self, operator, args, kwargs)
        pipeline = self._pipeline
        pipeline.fence()  # Explain looks at the session from outside the stream
        reply = pipeline.transport.explain(pipeline.token, request, pipeline.timeout)
        return explanation(reply, request.op)

    def explain_keys(self, op: str, *keys: str, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> Explanation:
        """The same for free keys: `yard.explain_keys("aten::add.Tensor", "CPU", "AutogradCPU")`."""
        pipeline = self._pipeline
        pipeline.check_open()
        request = registry_pb2.ExplainRequest(op=op, keys=keys, include=include, exclude=exclude)
        return explanation(pipeline.transport.explain(pipeline.token, request, pipeline.timeout), op)

    def table(self, op: Any, form: str = "folded", width: int = 0) -> Table:
        """Which kernel stands at which dispatch key of one overload.

        "folded": equal keys together; "all": a row for each; "dump" and "state": PyTorch's dumps of what keys resolve
        to, and of what was registered. `width`: most characters in a line of the first two; 0: as many as it takes.
        """
        name = op._operator.name if isinstance(op, BoundOperator) else str(op)
        pipeline = self._pipeline
        pipeline.check_open()
        return table(pipeline.transport.dump_table(table_request(name, form, width), pipeline.timeout))

    def check_invariants(self) -> str:
        """Compares all tables of the daemon with what their registrations resolve to; raises Internal if one differs."""
        self._pipeline.check_open()
        text: str = self._pipeline.transport.check_invariants(self._pipeline.timeout).text
        return text

    def trace(self, op: str = "") -> Trace:
        """This session's calls as they run, those of operators whose full name starts with `op`.

            with yard.trace("aten::") as trace:
                y = x + 1
            print(trace)
        """
        return Trace(self, op)

    @property
    def session(self) -> str:
        """The session's token in hexadecimal, for `opyard trace --session`. Whoever has it is this session."""
        return self._pipeline.token.hex()

    def _operator(self, name: str) -> Operator:
        base, dot, overload = name.partition(".")
        operator = self._find(base)
        return operator.only(overload) if dot else operator

    def refresh(self) -> None:
        """Forgets the schemas: after a plugin has defined or withdrawn operators."""
        self._operators.clear()

    def flush(self) -> None:
        """Sends the calls that were gathered, without waiting for them."""
        self._pipeline.flush()

    def synchronize(self) -> None:
        """Waits for every call so far, and raises the first failure that nobody has looked at."""
        self._pipeline.fence()
        error = self._pipeline.unseen()
        if error is not None:
            raise error

    @property
    def stats(self) -> Stats:
        return Stats(self._pipeline.calls, self._pipeline.frames)

    @property
    def limits(self) -> common_pb2.Limits:
        """What the daemon published in its handshake."""
        return self._pipeline.limits

    # Ends.

    def close(self) -> None:
        """Carries out what was called, then ends the session: its tensors are gone. A second close does nothing."""
        if self in _open_yards:
            _open_yards.discard(self)
            try:
                unseen = self._pipeline.close(self._pipeline.timeout)
            except Error as error:
                warnings.warn(f"the yard was closed, but: {error}", RuntimeWarning, stacklevel=2)
                return
            if unseen is not None:
                warnings.warn(f"a call failed and nobody looked at its result: {unseen}", RuntimeWarning, stacklevel=2)

    def __enter__(self) -> Yard:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def __del__(self) -> None:
        # No waiting here: the session is given back by the stream's own thread.
        try:
            if self._pipeline._closed is None:
                self._pipeline.abandon_session()
        except AttributeError:
            pass

    def __repr__(self) -> str:
        state = "" if self._pipeline._closed is None else ", closed"
        return f"<opyard.Yard at {self.address} ({self.server}){state}>"


def _size(size: tuple[Any, ...]) -> list[int]:
    return list(size[0]) if len(size) == 1 and isinstance(size[0], (list, tuple)) else list(size)


def _array_of(data: Any, dtype: Optional[DTypeLike]) -> "np.ndarray[Any, Any]":
    if isinstance(data, Tensor):
        raise InvalidArgument("this is a tensor already; x.clone() copies it, yard.tensor(x.numpy()) brings it over")
    wanted = None if dtype is None else numpy_dtype(dtype_name(dtype))
    try:
        array = np.asarray(data)
    except ValueError as error:
        raise InvalidArgument(f"the nested lists have no common shape ({error})") from None
    if isinstance(data, (np.ndarray, np.generic)):
        dtype_name(array.dtype.newbyteorder("="))
        return array.astype(wanted or array.dtype.newbyteorder("="), copy=False)
    if array.dtype.kind not in _LITERALS or array.dtype == np.uint64:
        raise InvalidArgument(f"the elements are not all numbers that fit: numpy sees {array.dtype}; wanted nested"
                              " lists of numbers, or a numpy array")
    return array.astype(wanted or _LITERALS[array.dtype.kind], copy=False)


def _close_all() -> None:
    """At the interpreter's exit: sessions are given back while threads still run, but nobody waits long."""
    threads = []
    for yard in list(_open_yards):
        yard._pipeline.timeout = min(yard._pipeline.timeout, 2.0)
        thread = threading.Thread(target=yard.close, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            continue  # too late for threads: the daemon's lease will see to it
        threads.append(thread)
    for thread in threads:
        thread.join(3.0)


atexit.register(_close_all)
