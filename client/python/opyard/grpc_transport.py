"""The gRPC transport: the only file of the client that knows gRPC."""

from __future__ import annotations

import threading
from typing import Any, Callable, Iterable, Iterator, Optional, Sequence

import grpc

from .errors import Error, Unavailable, error_of
from .transport import FrameStream, TraceStream, Transport
from .v1 import common_pb2, control_pb2, ops_pb2, registry_pb2, tensors_pb2

SESSION_KEY = "opyard-session-bin"
DETAILS_KEY = "grpc-status-details-bin"
_PREFIX = "/opyard.v1."
# Largest reply: the 4 MiB of a frame and room for a server whose limits are wider.
_RECEIVE_BYTES = 64 << 20
_OPTIONS = [
    ("grpc.max_receive_message_length", _RECEIVE_BYTES),
    ("grpc.max_send_message_length", -1),  # the handshake's limits are checked before this
    ("grpc.enable_retries", 0),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),  # a new Yard must not inherit another's wait between attempts
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
]


def _details_of(error: grpc.RpcError) -> Optional[common_pb2.ErrorInfo]:
    """The ErrorInfo in the trailing metadata; None when the daemon did not speak (gRPC itself made the error)."""
    metadata: Any = error.trailing_metadata() or ()
    for key, value in metadata:
        if key == DETAILS_KEY:
            info = common_pb2.ErrorInfo()
            try:
                for detail in common_pb2.StatusDetails.FromString(value).details:
                    detail.Unpack(info)  # leaves `info` alone when it is something else
            except Exception:  # a peer's bytes: whatever is wrong with them, the status itself still counts
                info.Clear()
            return info
    return None


def cause_of(info: common_pb2.ErrorInfo) -> Optional[Error]:
    if not info.HasField("cause"):
        return None
    return error_of(info.cause.code, info.cause.message, op=info.cause.op, site=info.cause.site)


class GrpcTransport(Transport):
    def __init__(self, address: str) -> None:
        self.address = address
        self._channel = grpc.insecure_channel(address, options=_OPTIONS)
        self._handshake = self._unary("Control/Handshake", control_pb2.HandshakeReply)
        self._open = self._unary("Control/OpenSession", control_pb2.OpenSessionReply)
        self._close = self._unary("Control/CloseSession", control_pb2.CloseSessionReply)
        self._describe = self._unary("Tensors/Describe", tensors_pb2.DescribeReply)
        self._list_ops = self._unary("Registry/ListOps", registry_pb2.ListOpsReply)
        self._schema = self._unary("Registry/GetSchema", registry_pb2.GetSchemaReply)
        self._explain = self._unary("Registry/Explain", registry_pb2.ExplainReply)
        self._table = self._unary("Registry/DumpTable", registry_pb2.DumpTableReply)
        self._check = self._unary("Registry/CheckInvariants", registry_pb2.CheckInvariantsReply)
        self._trace = self._channel.stream_stream(
            _PREFIX + "Ops/Trace", request_serializer=ops_pb2.TraceRequest.SerializeToString,
            response_deserializer=ops_pb2.TraceReply.FromString)
        self._put = self._channel.stream_unary(
            _PREFIX + "Tensors/Put", request_serializer=tensors_pb2.PutRequest.SerializeToString,
            response_deserializer=tensors_pb2.PutReply.FromString)
        self._get = self._channel.unary_stream(
            _PREFIX + "Tensors/Get", request_serializer=tensors_pb2.GetRequest.SerializeToString,
            response_deserializer=tensors_pb2.GetReply.FromString)
        self._stream = self._channel.stream_stream(
            _PREFIX + "Ops/Stream", request_serializer=ops_pb2.OpFrame.SerializeToString,
            response_deserializer=ops_pb2.OpReply.FromString)

    def _unary(self, name: str, reply: Any) -> Any:
        return self._channel.unary_unary(
            _PREFIX + name, request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=reply.FromString)

    def error(self, error: grpc.RpcError) -> Error:
        """gRPC's error in this package's words."""
        code, text = error.code(), error.details() or ""
        info = _details_of(error)
        if code == grpc.StatusCode.UNAVAILABLE and info is None:
            return self._gone(text)
        info = info or common_pb2.ErrorInfo()
        number = code.value[0] if code is not None else 2
        return error_of(number, text, op=info.op, reason=info.reason, argument=info.argument, cause=cause_of(info))

    def _gone(self, text: str) -> Unavailable:
        return Unavailable(
            f"opyardd does not answer at {self.address}: is it running, and is this its address? Start it with"
            f" `opyardd --listen {self.address}`, or set OPYARD_ADDRESS to the one that runs ({text})")

    def _call(self, method: Any, request: Any, timeout: float, token: Optional[bytes] = None) -> Any:
        try:
            return method(request, timeout=timeout, metadata=_session(token))
        except grpc.RpcError as error:
            raise self.error(error) from None
        except ValueError as error:  # the channel was closed meanwhile
            raise Unavailable(f"the connection to {self.address} is closed ({error})") from None

    def handshake(self, client: str, timeout: float) -> control_pb2.HandshakeReply:
        request = control_pb2.HandshakeRequest(
            min_version=1, max_version=1, client=client, wanted_features=["ops.stream", "ops.fetch"])
        reply: control_pb2.HandshakeReply = self._call(self._handshake, request, timeout)
        return reply

    def open_session(self, label: str, timeout: float) -> control_pb2.OpenSessionReply:
        reply: control_pb2.OpenSessionReply = self._call(
            self._open, control_pb2.OpenSessionRequest(label=label), timeout)
        return reply

    def close_session(self, token: bytes, timeout: float) -> control_pb2.CloseSessionReply:
        reply: control_pb2.CloseSessionReply = self._call(
            self._close, control_pb2.CloseSessionRequest(token=token), timeout)
        return reply

    def open_stream(self, token: bytes) -> FrameStream:
        return _GrpcFrameStream(self, self._stream, token)

    def put(self, token: bytes, requests: Iterable[tensors_pb2.PutRequest], timeout: float) -> common_pb2.TensorMeta:
        reply: tensors_pb2.PutReply = self._call(self._put, iter(requests), timeout, token)
        return reply.meta

    def get(self, token: bytes, request: tensors_pb2.GetRequest, timeout: float) -> Iterator[tensors_pb2.GetReply]:
        replies = self._call(self._get, request, timeout, token)
        try:
            yield from replies
        except grpc.RpcError as error:
            raise self.error(error) from None
        finally:
            replies.cancel()

    def describe(self, token: bytes, ids: Sequence[int], timeout: float) -> tensors_pb2.DescribeReply:
        reply: tensors_pb2.DescribeReply = self._call(
            self._describe, tensors_pb2.DescribeRequest(ids=ids), timeout, token)
        return reply

    def list_ops(self, request: registry_pb2.ListOpsRequest, timeout: float) -> registry_pb2.ListOpsReply:
        reply: registry_pb2.ListOpsReply = self._call(self._list_ops, request, timeout)
        return reply

    def get_schema(self, op: str, timeout: float) -> registry_pb2.GetSchemaReply:
        reply: registry_pb2.GetSchemaReply = self._call(
            self._schema, registry_pb2.GetSchemaRequest(op=op), timeout)
        return reply

    def explain(self, token: bytes, request: registry_pb2.ExplainRequest,
                timeout: float) -> registry_pb2.ExplainReply:
        reply: registry_pb2.ExplainReply = self._call(self._explain, request, timeout, token)
        return reply

    def dump_table(self, request: registry_pb2.DumpTableRequest, timeout: float) -> registry_pb2.DumpTableReply:
        reply: registry_pb2.DumpTableReply = self._call(self._table, request, timeout)
        return reply

    def check_invariants(self, timeout: float) -> registry_pb2.CheckInvariantsReply:
        reply: registry_pb2.CheckInvariantsReply = self._call(
            self._check, registry_pb2.CheckInvariantsRequest(), timeout)
        return reply

    def open_trace(self, token: bytes, op_prefix: str) -> TraceStream:
        return _GrpcTraceStream(self, self._trace, token, op_prefix)

    def close(self) -> None:
        self._channel.close()


def _session(token: Optional[bytes]) -> Optional[Sequence[tuple[str, bytes]]]:
    return None if token is None else ((SESSION_KEY, token),)


class _GrpcFrameStream(FrameStream):
    def __init__(self, transport: GrpcTransport, method: Any, token: bytes) -> None:
        self._transport = transport
        self._method = method
        self._token = token
        self._call: Any = None

    def start(self, next_frame: Callable[[], Optional[ops_pb2.OpFrame]], on_reply: Callable[[ops_pb2.OpReply], None],
              on_end: Callable[[Optional[Error]], None]) -> None:
        # gRPC takes frames from this iterator on a thread of its own, one at a time, as the daemon takes them.
        try:
            self._call = self._method(iter(next_frame, None), metadata=_session(self._token))
        except ValueError as error:
            on_end(Unavailable(f"the connection to {self._transport.address} is closed ({error})"))
            return
        threading.Thread(target=self._read, args=(on_reply, on_end), name="opyard-replies", daemon=True).start()

    def _read(self, on_reply: Callable[[ops_pb2.OpReply], None], on_end: Callable[[Optional[Error]], None]) -> None:
        end: Optional[Error] = None
        try:
            for reply in self._call:
                on_reply(reply)
        except grpc.RpcError as error:
            end = self._transport.error(error)
        except Exception as error:  # a reply that this client cannot read must not leave its waiters waiting
            self._call.cancel()
            end = error_of(13, f"the daemon's reply could not be read: {error!r}")
        on_end(end)

    def cancel(self) -> None:
        if self._call is not None:
            self._call.cancel()


class _GrpcTraceStream(TraceStream):
    def __init__(self, transport: GrpcTransport, method: Any, token: bytes, op_prefix: str) -> None:
        self._transport = transport
        self._stopped = threading.Event()
        request = ops_pb2.TraceRequest(op_prefix=op_prefix)
        try:
            self._call = method(self._requests(request, self._stopped), metadata=_session(token))
        except ValueError as error:
            raise Unavailable(f"the connection to {transport.address} is closed ({error})") from None

    @staticmethod
    def _requests(request: ops_pb2.TraceRequest, stopped: threading.Event) -> Iterator[ops_pb2.TraceRequest]:
        yield request
        stopped.wait()  # the end of the requests is the end of the trace

    def replies(self) -> Iterator[ops_pb2.TraceReply]:
        try:
            yield from self._call
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.CANCELLED:
                raise self._transport.error(error) from None
        finally:
            self._stopped.set()

    def stop(self) -> None:
        self._stopped.set()

    def cancel(self) -> None:
        self._stopped.set()
        self._call.cancel()
