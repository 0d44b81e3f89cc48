"""A small daemon of the tests' own, in this process: the wire's rules, numpy for a handful of operators.

It is strict where a client could go wrong (ids and sequence numbers that do not grow, names that were not entered, more
operations than allowed) and counts what it got.
"""

import collections
import concurrent.futures
import contextlib
import itertools
import os
import threading
import time

import grpc
import numpy as np
from opyard.v1 import common_pb2, control_pb2, ops_pb2, registry_pb2, tensors_pb2

INVALID, NOT_FOUND, EXISTS, FAILED = 3, 5, 6, 9


class Failure(Exception):
    def __init__(self, code, text, cause=None, reason=""):
        super().__init__(text)
        self.code, self.text, self.cause, self.reason = code, text, cause, reason


class Poison:
    def __init__(self, cause):
        self.cause = cause


def argument(text):
    name, _, default = text.partition("=")
    kind, name = name.rsplit(" ", 1)
    alias = ""
    if "(a!)" in kind:
        kind, alias = kind.replace("(a!)", ""), "(a!)"
    return registry_pb2.OpArgument(name=name, type=kind, has_default=bool(default), default_text=default, alias=alias)


def schema(text):
    """Good enough for the schemas below."""
    name, _, rest = text.partition("(")
    inside, _, result = rest.rpartition(") -> ")
    found = registry_pb2.OpSchema(name=name, text=text)
    keyword_only = False
    for part in filter(None, inside.split(", ")):
        if part == "*":
            keyword_only = True
            continue
        one = argument(part)
        one.kwarg_only = keyword_only
        found.arguments.append(one)
    for part in filter(None, result.strip("()").split(", ") if not result.startswith("Tensor(a!)") else [result]):
        found.returns.add(type=part.replace("(a!)", ""), alias="(a!)" if "(a!)" in part else "")
    return found


def sleep(x, seconds):
    time.sleep(seconds)
    return x


def refuse(x):
    raise Failure(INVALID, "test::refuse: never satisfied", reason="BAD_ARGUMENT")


def mm(x, y):
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[0]:
        raise Failure(INVALID, f"aten::mm: {list(x.shape)} and {list(y.shape)} do not fit; inner sizes must be equal")
    return x @ y


def add_in_place(x, y, alpha=1):
    if x.shape != np.broadcast_shapes(x.shape, np.shape(y)):
        raise Failure(INVALID, "aten::add_.Tensor: the result does not fit into the target")
    x += y * x.dtype.type(alpha)
    return x


OPERATORS = {
    "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor":
        lambda x, y, alpha=1: x + y * np.asarray(alpha, x.dtype),
    "aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor":
        lambda x, y, alpha=1: x + np.asarray(y * alpha, x.dtype),
    "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)":
        lambda x, y, alpha=1, out=None: np.copyto(out, x + y * alpha) or out,
    "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)": add_in_place,
    "aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor":
        lambda x, y, alpha=1: np.asarray(x, getattr(y, "dtype", None)) - y,
    "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor": lambda x, y: x * np.asarray(y, x.dtype),
    "aten::mm(Tensor self, Tensor mat2) -> Tensor": mm,
    "aten::relu(Tensor self) -> Tensor": lambda x: np.maximum(x, 0),
    "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor": lambda x, dtype=None: x.sum(dtype=dtype or x.dtype),
    "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor":
        lambda x, dim, keepdim=False, dtype=None: x.sum(axis=tuple(dim), keepdims=keepdim, dtype=dtype or x.dtype),
    "aten::view(Tensor self, SymInt[] size) -> Tensor": lambda x, size: x.reshape(size),
    "aten::slice.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor":
        lambda x, dim=0, start=None, end=None, step=1: x[(slice(None),) * dim + (slice(start, end, step),)],
    "aten::select.int(Tensor self, int dim, SymInt index) -> Tensor":
        lambda x, dim, index: x[(slice(None),) * dim + (index, ...)],
    "aten::unsqueeze(Tensor self, int dim) -> Tensor": np.expand_dims,
    "aten::index_select(Tensor self, int dim, Tensor index) -> Tensor": lambda x, dim, index: np.take(x, index, dim),
    "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)":
        lambda x, y, non_blocking=False: np.copyto(x, y) or x,
    "aten::cat(Tensor[] tensors, int dim=0) -> Tensor": lambda xs, dim=0: np.concatenate(xs, dim),
    "aten::zeros(SymInt[] size, *, ScalarType? dtype=None) -> Tensor":
        lambda size, dtype=None: np.zeros(size, dtype or np.float32),
    "test::pair(Tensor self) -> (Tensor, Tensor)": lambda x: (x, -x),
    "test::equal(Tensor self, Tensor other) -> bool": lambda x, y: bool((x == y).all()),
    "test::sleep(Tensor self, float seconds) -> Tensor": sleep,
    "test::refuse(Tensor self) -> Tensor": refuse,
    "test::text(str text) -> str": lambda text: text,
    "test::nothing(int n) -> ()": lambda n: None,
}


class Session:
    def __init__(self):
        self.values = {}
        self.lock = threading.Lock()
        self.streams = itertools.count(1)


class Double:
    """The daemon. `limits` and `hold` may be changed before a client connects."""

    def __init__(self, address):
        self.address = address
        self.limits = common_pb2.Limits(
            frame_bytes=4 << 20, chunk_bytes=1 << 20, ops_per_frame=1024, dims=64, depth=16, list_items=65536,
            string_bytes=64 << 10, interned_ops=4096, inline_value_bytes=1 << 20, session_bytes=1 << 30)
        self.incarnation = os.urandom(16)
        self.sessions = {}
        self.counts = collections.Counter()
        self.schemas = {s.name: s for s in map(schema, OPERATORS)}
        self.functions = {s.name: f for s, f in zip(map(schema, OPERATORS), OPERATORS.values())}
        self.hold = threading.Event()  # frames wait while it is not set
        self.hold.set()
        self.sites = []
        self._server = grpc.server(concurrent.futures.ThreadPoolExecutor(16), options=[
            ("grpc.max_receive_message_length", 4 << 20), ("grpc.so_reuseport", 0)])
        self._server.add_generic_rpc_handlers((_handlers(self),))
        self._server.add_insecure_port(address)
        self._server.start()

    def stop(self):
        self.hold.set()
        self._server.stop(0).wait(5)

    def live_values(self):
        return sum(len(session.values) for session in self.sessions.values())

    # Control.

    def handshake(self, request, context):
        return control_pb2.HandshakeReply(version=1, limits=self.limits, incarnation=self.incarnation,
                                          server="double 1", devices=["cpu"])

    def open_session(self, request, context):
        token = os.urandom(16)
        self.sessions[token] = Session()
        return control_pb2.OpenSessionReply(token=token)

    def close_session(self, request, context):
        if self.sessions.pop(request.token, None) is None:
            context.abort(grpc.StatusCode.NOT_FOUND, "no such session")
        return control_pb2.CloseSessionReply()

    def session_of(self, context):
        session = self.sessions.get(dict(context.invocation_metadata()).get("opyard-session-bin"))
        if session is None:
            context.abort(grpc.StatusCode.NOT_FOUND, "no such session")
        return session

    # Ops.

    def stream(self, frames, context):
        session = self.session_of(context)
        number = next(session.streams)
        state = {"seq": 0, "id": number << 48, "names": []}
        yield ops_pb2.OpReply(opened=ops_pb2.StreamOpened(stream=number))
        quiet = 0
        for frame in frames:
            self.hold.wait()
            self.counts["frames"] += 1
            self.counts["most ops in a frame"] = max(self.counts["most ops in a frame"], len(frame.ops))
            if len(frame.ops) > self.limits.ops_per_frame:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, "too many ops in a frame")
            with session.lock:
                reply = self.run(session, state, number, frame)
            quiet += 1
            if reply.errors or reply.results or frame.fence or quiet == 16:
                quiet = 0
                if frame.fence:
                    reply.fence.fence = frame.fence
                yield reply

    def run(self, session, state, number, frame):
        reply = ops_pb2.OpReply()
        for put in frame.puts:
            with _reporting(self, session, reply, state, number, [put.id], put=put):
                self.take(state, put.id)
                session.values[put.id] = _array(put.dtype, put.sizes, put.data)
        for call in frame.ops:
            self.counts["ops"] += 1
            with _reporting(self, session, reply, state, number, list(call.results), call=call):
                self.run_op(session, state, call, reply)
        for fetch in frame.fetch:
            with _reporting(self, session, reply, state, number, [], fetch=fetch):
                value = self.value(session, fetch.id)
                result = reply.results.add(id=fetch.id, meta=_meta(fetch.id, value))
                if fetch.want != ops_pb2.WANT_META:
                    result.data_omitted = value.nbytes > self.limits.inline_value_bytes
                    if not result.data_omitted:
                        result.data = value.tobytes()
        for id_ in frame.release:
            self.counts["released"] += 1
            session.values.pop(id_, None)
        reply.ack = state["seq"]
        return reply

    def take(self, state, id_):
        if id_ <= state["id"] or id_ >> 48 != state["id"] >> 48:
            raise Failure(EXISTS, f"the id {id_} does not grow")
        state["id"] = id_

    def run_op(self, session, state, call, reply):
        if call.seq <= state["seq"]:
            raise Failure(EXISTS, "the sequence number does not grow")
        state["seq"] = call.seq
        for id_ in call.results:
            if id_:
                self.take(state, id_)
        names = state["names"]
        if call.op_index and call.op:
            assert call.op_index in (len(names) + 1, *range(1, len(names) + 1))
            if call.op_index == len(names) + 1:
                names.append(call.op)
            self.counts["names"] += 1
        name = call.op or names[call.op_index - 1]
        self.sites.append(call.site)
        if name not in self.functions:
            raise Failure(NOT_FOUND, f"unknown operator {name}")
        args = [self.python(session, value) for value in call.args]
        kwargs = {named.name: self.python(session, named.value) for named in call.kwargs}
        made = self.functions[name](*args, **kwargs)
        made = list(made) if isinstance(made, tuple) else [] if made is None else [made]
        for i, value in enumerate(made):
            if i < len(call.results) and call.results[i]:
                session.values[call.results[i]] = np.asarray(value)
            if call.want:
                wire = common_pb2.Value()
                kind = "bool_value" if isinstance(value, bool) else "string_value"
                setattr(wire, kind, value)
                reply.results.add(seq=call.seq, index=i, value=wire)

    def value(self, session, id_):
        if id_ not in session.values:
            raise Failure(NOT_FOUND, f"the id {id_} is dead, or of another session")
        value = session.values[id_]
        if isinstance(value, Poison):
            raise Failure(FAILED, f"the input is poisoned: {value.cause.message}", value.cause, "POISONED")
        return value

    def python(self, session, value):
        kind = value.WhichOneof("kind")
        assert kind, "a value of no kind"
        if kind == "none":
            return None
        if kind == "id":
            return self.value(session, value.id)
        if kind == "ids":
            return [None if id_ == 0 else self.value(session, id_) for id_ in value.ids.items]
        if kind in ("ints", "doubles", "bools"):
            return list(getattr(value, kind).items)
        return getattr(value, kind)

    # Tensors and Registry.

    def put(self, requests, context):
        session = self.session_of(context)
        header, data = None, b""
        for request in requests:
            header = request.header if request.HasField("header") else header
            data += request.data
            if len(request.data) > self.limits.chunk_bytes:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, "a chunk is too long")
        self.counts["bulk puts"] += 1
        session.values[header.id] = _array(header.dtype, header.sizes, data)
        return tensors_pb2.PutReply(meta=_meta(header.id, session.values[header.id]))

    def get(self, request, context):
        value = self.session_of(context).values[request.id]
        data = value.tobytes()
        self.counts["bulk gets"] += 1
        for at in range(0, len(data), self.limits.chunk_bytes):
            yield tensors_pb2.GetReply(data=data[at:at + self.limits.chunk_bytes])

    def describe(self, request, context):
        session = self.session_of(context)
        return tensors_pb2.DescribeReply(tensors=[_meta(id_, session.values[id_]) for id_ in request.ids])

    def list_ops(self, request, context):
        return registry_pb2.ListOpsReply(
            ops=[registry_pb2.OpSchema(name=n) for n in sorted(self.schemas) if n.startswith(request.prefix)])

    def get_schema(self, request, context):
        self.counts["schemas asked"] += 1
        found = [s for n, s in sorted(self.schemas.items()) if n == request.op or n.split(".")[0] == request.op]
        if not found:
            context.abort(grpc.StatusCode.NOT_FOUND, f"unknown operator '{request.op}', did you mean 'aten::add'?")
        return registry_pb2.GetSchemaReply(schemas=found)

    def explain(self, request, context):
        session = self.session_of(context)
        ids = [value.id for value in request.args if value.WhichOneof("kind") == "id"]
        shapes = [list(self.value(session, id_).shape) for id_ in ids]
        return registry_pb2.ExplainReply(text=f"{request.op} {shapes} -> CPU", chosen="CPU",
                                         steps=[registry_pb2.ExplainStep(key="CPU", kernel="k", rule="r", source="s")])


def _array(dtype, sizes, data):
    wanted = np.dtype(dtype)
    if int(np.prod(sizes, dtype=np.int64)) * wanted.itemsize != len(data):
        raise Failure(INVALID, "the bytes do not match the shape")
    return np.frombuffer(data, wanted).reshape(tuple(sizes)).copy()


def _meta(id_, value):
    return common_pb2.TensorMeta(id=id_, dtype=value.dtype.name, sizes=value.shape, device="cpu", bytes=value.nbytes)


@contextlib.contextmanager
def _reporting(double, session, reply, state, number, ids, call=None, put=None, fetch=None):
    try:
        yield
    except (Failure, ValueError, TypeError, IndexError) as error:
        failure = error if isinstance(error, Failure) else Failure(INVALID, str(error))
        seq = call.seq if call is not None else 0
        name = "" if call is None else call.op or state["names"][call.op_index - 1]
        report = reply.errors.add(seq=seq, id=put.id if put is not None else fetch.id if fetch is not None else 0,
                                  code=failure.code, message=failure.text)
        report.info.op, report.info.reason = name, failure.reason
        cause = failure.cause or common_pb2.Cause(op=name, seq=seq, stream=number, code=failure.code,
                                                  message=failure.text, site=call.site if call is not None else "")
        if failure.cause:
            report.info.cause.CopyFrom(failure.cause)
        for id_ in filter(None, ids):
            session.values[id_] = Poison(cause)


def _handlers(double):
    kinds = {
        "Control": {"Handshake": (double.handshake, control_pb2.HandshakeRequest),
                    "OpenSession": (double.open_session, control_pb2.OpenSessionRequest),
                    "CloseSession": (double.close_session, control_pb2.CloseSessionRequest)},
        "Tensors": {"Describe": (double.describe, tensors_pb2.DescribeRequest)},
        "Registry": {"ListOps": (double.list_ops, registry_pb2.ListOpsRequest),
                     "GetSchema": (double.get_schema, registry_pb2.GetSchemaRequest),
                     "Explain": (double.explain, registry_pb2.ExplainRequest)},
    }
    methods = {}
    for service, calls in kinds.items():
        for name, (function, request) in calls.items():
            methods[f"/opyard.v1.{service}/{name}"] = grpc.unary_unary_rpc_method_handler(
                function, request_deserializer=request.FromString,
                response_serializer=lambda message: message.SerializeToString())
    write = lambda message: message.SerializeToString()  # noqa: E731
    methods["/opyard.v1.Ops/Stream"] = grpc.stream_stream_rpc_method_handler(
        double.stream, request_deserializer=ops_pb2.OpFrame.FromString, response_serializer=write)
    methods["/opyard.v1.Tensors/Put"] = grpc.stream_unary_rpc_method_handler(
        double.put, request_deserializer=tensors_pb2.PutRequest.FromString, response_serializer=write)
    methods["/opyard.v1.Tensors/Get"] = grpc.unary_stream_rpc_method_handler(
        double.get, request_deserializer=tensors_pb2.GetRequest.FromString, response_serializer=write)

    class Handler(grpc.GenericRpcHandler):
        def service(self, details):
            return methods.get(details.method)

    return Handler()
