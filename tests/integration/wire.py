"""The wire, spoken plainly: what a client library would not send can be sent here."""

from __future__ import annotations

import struct
from typing import Any, Iterator, Optional, Sequence

import grpc

from opyard.v1 import common_pb2, control_pb2, ops_pb2, registry_pb2, tensors_pb2

SECONDS = 60.0  # deadline of every call


class Failed(Exception):
    """A call that did not end with OK."""

    def __init__(self, error: Any) -> None:
        super().__init__(f"{error.code().name}: {error.details()}")
        self.code: str = error.code().name
        self.details: str = error.details() or ""
        self.info = common_pb2.ErrorInfo()
        for key, value in error.trailing_metadata() or ():
            if key == "grpc-status-details-bin":
                for detail in common_pb2.StatusDetails.FromString(value).details:
                    detail.Unpack(self.info)


CODES = {code.value[0]: code.name for code in grpc.StatusCode}


def floats(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def read_floats(data: bytes) -> list[float]:
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def value(item: Any) -> common_pb2.Value:
    """None, bool, int, float, str, [int] or a Value as it is."""
    if isinstance(item, common_pb2.Value):
        return item
    if item is None:
        return common_pb2.Value(none=True)
    if isinstance(item, bool):
        return common_pb2.Value(bool_value=item)
    if isinstance(item, int):
        return common_pb2.Value(int_value=item)
    if isinstance(item, float):
        return common_pb2.Value(double_value=item)
    if isinstance(item, str):
        return common_pb2.Value(string_value=item)
    return common_pb2.Value(ints=common_pb2.IntList(items=item))


def tensor(number: int) -> common_pb2.Value:
    return common_pb2.Value(id=number)


def op(seq: int, name: str, *args: Any, results: Sequence[int] = (), want: int = ops_pb2.WANT_NONE,
       **kwargs: Any) -> ops_pb2.OpCall:
    call = ops_pb2.OpCall(seq=seq, op=name, results=results, want=want)
    for item in args:
        call.args.append(value(item))
    for key, item in kwargs.items():
        call.kwargs.add(name=key, value=value(item))
    return call


class Wire:
    """One connection with one session."""

    def __init__(self, address: str, session: bool = True, **wishes: Any) -> None:
        self.channel = grpc.insecure_channel(address, options=[
            ("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1),
            ("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0)])
        self.token = b""
        self._next = 1
        if session:
            self.token = self.unary("Control/OpenSession", control_pb2.OpenSessionRequest(**wishes),
                                    control_pb2.OpenSessionReply).token

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: Any) -> None:
        self.channel.close()

    def fresh(self) -> int:
        """An id of stream 0 that has not been used."""
        self._next += 1
        return self._next

    @property
    def metadata(self) -> list[tuple[str, bytes]]:
        return [("opyard-session-bin", self.token)] if self.token else []

    def raw(self, name: str, body: bytes, seconds: float = SECONDS) -> bytes:
        call = self.channel.unary_unary("/opyard.v1." + name)
        try:
            answer: bytes = call(body, timeout=seconds, metadata=self.metadata)
            return answer
        except grpc.RpcError as error:
            raise Failed(error) from None

    def unary(self, name: str, request: Any, reply: Any, seconds: float = SECONDS) -> Any:
        return reply.FromString(self.raw(name, request.SerializeToString(), seconds))

    def call(self, *ops: ops_pb2.OpCall, seconds: float = SECONDS, **frame: Any) -> ops_pb2.OpReply:
        request = ops_pb2.OpFrame(ops=ops, **frame)
        reply: ops_pb2.OpReply = self.unary("Ops/Call", request, ops_pb2.OpReply, seconds)
        return reply

    def error(self, call: ops_pb2.OpCall) -> ops_pb2.OpError:
        """The one error of one call."""
        errors = list(self.call(call).errors)
        assert len(errors) == 1, errors
        return errors[0]

    def put(self, *values: float, sizes: Optional[Sequence[int]] = None) -> int:
        number = self.fresh()
        reply = self.call(puts=[ops_pb2.InlineTensor(
            id=number, dtype="float32", sizes=[len(values)] if sizes is None else sizes, data=floats(*values))])
        assert not reply.errors, reply.errors
        return number

    def get(self, number: int) -> list[float]:
        reply = self.call(fetch=[ops_pb2.Fetch(id=number)])
        assert not reply.errors, reply.errors
        return read_floats(reply.results[0].data)

    def upload(self, requests: Sequence[tensors_pb2.PutRequest]) -> tensors_pb2.PutReply:
        call = self.channel.stream_unary(
            "/opyard.v1.Tensors/Put", request_serializer=tensors_pb2.PutRequest.SerializeToString,
            response_deserializer=tensors_pb2.PutReply.FromString)
        try:
            reply: tensors_pb2.PutReply = call(iter(requests), timeout=SECONDS, metadata=self.metadata)
            return reply
        except grpc.RpcError as error:
            raise Failed(error) from None

    def download(self, number: int, **where: int) -> bytes:
        call = self.channel.unary_stream(
            "/opyard.v1.Tensors/Get", request_serializer=tensors_pb2.GetRequest.SerializeToString,
            response_deserializer=tensors_pb2.GetReply.FromString)
        try:
            request = tensors_pb2.GetRequest(id=number, **where)
            return b"".join(reply.data for reply in call(request, timeout=SECONDS, metadata=self.metadata))
        except grpc.RpcError as error:
            raise Failed(error) from None

    def stream(self, frames: Iterator[ops_pb2.OpFrame]) -> Any:
        call = self.channel.stream_stream(
            "/opyard.v1.Ops/Stream", request_serializer=ops_pb2.OpFrame.SerializeToString,
            response_deserializer=ops_pb2.OpReply.FromString)
        return call(frames, timeout=SECONDS, metadata=self.metadata)

    def handshake(self) -> control_pb2.HandshakeReply:
        reply: control_pb2.HandshakeReply = self.unary(
            "Control/Handshake", control_pb2.HandshakeRequest(min_version=1, max_version=1),
            control_pb2.HandshakeReply)
        return reply

    def schemas(self, name: str) -> registry_pb2.GetSchemaReply:
        reply: registry_pb2.GetSchemaReply = self.unary(
            "Registry/GetSchema", registry_pb2.GetSchemaRequest(op=name), registry_pb2.GetSchemaReply)
        return reply

    def explain(self, op: str, keys: Sequence[str]) -> registry_pb2.ExplainReply:
        reply: registry_pb2.ExplainReply = self.unary(
            "Registry/Explain", registry_pb2.ExplainRequest(op=op, keys=keys), registry_pb2.ExplainReply)
        return reply

    def table(self, op: str, kind: Any, width: int) -> registry_pb2.DumpTableReply:
        request = registry_pb2.DumpTableRequest(op=op, kind=kind, width=width)
        reply: registry_pb2.DumpTableReply = self.unary("Registry/DumpTable", request, registry_pb2.DumpTableReply)
        return reply
