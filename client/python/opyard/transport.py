"""What the client needs of a way to the daemon. Frames and replies are the messages of proto/opyard/v1."""

from __future__ import annotations

import abc
from typing import Callable, Iterable, Iterator, Optional, Sequence

from .errors import Error
from .v1 import common_pb2, control_pb2, ops_pb2, registry_pb2, tensors_pb2


class FrameStream(abc.ABC):
    """One ordered stream of operator frames.

    The transport asks `next_frame` for frames on a thread of its own (None ends the stream) and hands replies to
    `on_reply` and, exactly once, the end to `on_end` (None after an orderly one) on another.
    """

    @abc.abstractmethod
    def start(self, next_frame: Callable[[], Optional[ops_pb2.OpFrame]], on_reply: Callable[[ops_pb2.OpReply], None],
              on_end: Callable[[Optional[Error]], None]) -> None:
        """Opens the stream and returns at once."""

    @abc.abstractmethod
    def cancel(self) -> None:
        """Ends the stream now. Never blocks."""


class TraceStream(abc.ABC):
    """One session's calls, live. `replies` is used by one thread, the others by any."""

    @abc.abstractmethod
    def replies(self) -> Iterator[ops_pb2.TraceReply]:
        """Blocks; ends after `stop` and the lines of calls that were answered before it."""

    @abc.abstractmethod
    def stop(self) -> None: ...

    @abc.abstractmethod
    def cancel(self) -> None:
        """Ends the stream now. Never blocks."""


class Transport(abc.ABC):
    """All methods raise `opyard.Error`, take a deadline in seconds, and may be called from any thread."""

    address: str

    @abc.abstractmethod
    def handshake(self, client: str, timeout: float) -> control_pb2.HandshakeReply: ...

    @abc.abstractmethod
    def open_session(self, label: str, timeout: float) -> control_pb2.OpenSessionReply: ...

    @abc.abstractmethod
    def close_session(self, token: bytes, timeout: float) -> control_pb2.CloseSessionReply: ...

    @abc.abstractmethod
    def open_stream(self, token: bytes) -> FrameStream: ...

    @abc.abstractmethod
    def put(self, token: bytes, requests: Iterable[tensors_pb2.PutRequest],
            timeout: float) -> common_pb2.TensorMeta: ...

    @abc.abstractmethod
    def get(self, token: bytes, request: tensors_pb2.GetRequest, timeout: float) -> Iterator[tensors_pb2.GetReply]: ...

    @abc.abstractmethod
    def describe(self, token: bytes, ids: Sequence[int], timeout: float) -> tensors_pb2.DescribeReply: ...

    @abc.abstractmethod
    def list_ops(self, request: registry_pb2.ListOpsRequest, timeout: float) -> registry_pb2.ListOpsReply: ...

    @abc.abstractmethod
    def get_schema(self, op: str, timeout: float) -> registry_pb2.GetSchemaReply: ...

    @abc.abstractmethod
    def explain(self, token: bytes, request: registry_pb2.ExplainRequest,
                timeout: float) -> registry_pb2.ExplainReply: ...

    @abc.abstractmethod
    def dump_table(self, request: registry_pb2.DumpTableRequest, timeout: float) -> registry_pb2.DumpTableReply: ...

    @abc.abstractmethod
    def check_invariants(self, timeout: float) -> registry_pb2.CheckInvariantsReply: ...

    @abc.abstractmethod
    def open_trace(self, token: bytes, op_prefix: str) -> TraceStream:
        """The first reply says that it has begun."""

    @abc.abstractmethod
    def close(self) -> None:
        """Gives connections back. Calls in flight end with Cancelled."""
