"""Frames of operator calls: gathered, sent without waiting, and what comes back for them.

Calls are appended to a frame, which leaves when it is full, when somebody waits for a value, or a moment after its
first call. The stream's thread takes them by `_next_frame`; the reply thread runs `_on_reply`. Finalisers only append
to `Pipeline.released` and wake the stream's thread: no lock is taken there.
"""

from __future__ import annotations

import collections
import itertools
import queue
import threading
import time
from typing import Any, Callable, Optional

from .errors import (
    Aborted,
    DeadlineExceeded,
    Error,
    FailedPrecondition,
    NotFound,
    ResourceExhausted,
    Unavailable,
    error_of,
)
from .failures import Failures, Record, error_from
from .transport import FrameStream, Transport
from .v1 import control_pb2, ops_pb2

OPS_PER_FRAME = 128          # a frame leaves when it has so many
LINGER = 0.0005              # seconds that a frame waits for more calls
MAX_OPS_IN_FLIGHT = 4096     # beyond these, a call waits for the daemon
MAX_BYTES_IN_FLIGHT = 64 << 20
ACK_OPS, ACK_BYTES = 1024, 8 << 20  # a fence at least so often, so that what is in flight is known

_TICK = object()
_STOP = object()


class _Stream:
    """One stream's state. Guarded by the pipeline's lock, except `tokens`."""

    def __init__(self, transport: FrameStream) -> None:
        self.transport = transport
        self.tokens: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.opened: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.number = 0
        self.next_id = 0
        self.seq = 0
        self.acked = 0
        self.names: dict[str, int] = {}
        self.frame = ops_pb2.OpFrame()
        self.frame_ops = 0
        self.frame_bytes = 0
        self.records: collections.deque[Record] = collections.deque()
        self.releases: collections.deque[tuple[int, list[int]]] = collections.deque()  # with the last call before them
        self.fetches: dict[int, collections.deque[Any]] = {}
        self.values: dict[int, Any] = {}
        self.fences: dict[int, tuple[Any, int]] = {}
        self.fenced_seq = 0
        self.sent_bytes = self.fenced_bytes = self.done_bytes = 0
        self.end: Optional[Error] = None


class Pipeline:
    """The calls of one session. All methods may be called from any thread and raise `opyard.Error`."""

    def __init__(self, transport: Transport, hello: control_pb2.HandshakeReply, token: bytes, client: str,
                 timeout: float) -> None:
        self.transport = transport
        self.token = token
        self.limits = hello.limits
        self.timeout = timeout
        self.calls = 0
        self.frames = 0
        self.released: collections.deque[int] = collections.deque()
        self.uploads = itertools.count(1)  # ids of stream 0
        self._client = client
        self._incarnation = hello.incarnation
        self._lock = threading.RLock()
        self._room = threading.Condition(self._lock)
        self._fence_ids = itertools.count(1)
        self._failures = Failures()
        self._closed: Optional[Error] = None
        self._ending = False
        self._frame_limit = int(self.limits.frame_bytes) or 4 << 20
        self._ops_limit = min(OPS_PER_FRAME, int(self.limits.ops_per_frame) or OPS_PER_FRAME)
        self._stream = self._open_stream(timeout)

    # Calls.

    def call(self, op: str, fill: Callable[[ops_pb2.OpCall], int], count: int, site: str, target: int = 0) -> int:
        """Appends a call with `count` results; returns the id of the first, the others follow it.

        `fill` writes the arguments and returns about how many bytes they take.
        """
        with self._lock:
            stream, call = self._begin(op, fill, site)
            first = self._take_ids(stream, count)
            call.results.extend(range(first, first + count))
            self._commit(stream, Record(call.seq, site, first, count, target))
            return first

    def call_for_values(self, op: str, fill: Callable[[ops_pb2.OpCall], int], count: int, site: str) -> list[Any]:
        """A call whose results are not tensors: waits for them and returns the `Value` messages."""
        box: queue.SimpleQueue[Any] = queue.SimpleQueue()
        with self._lock:
            stream, call = self._begin(op, fill, site)
            call.want = ops_pb2.WANT_META
            call.results.extend([0] * count)
            stream.values[call.seq] = (box, count, [])
            self._commit(stream, Record(call.seq, site, 0, 0, 0))
            self._flush(stream)
        values: list[Any] = self._wait(box, f"{op} (called at {site})")
        return values

    def put(self, dtype: str, sizes: tuple[int, ...], data: bytes, site: str) -> int:
        """Uploads a small tensor within a frame; returns its id."""
        with self._lock:
            stream = self._live()
            if stream.frame_ops or stream.frame_bytes + len(data) > self._frame_limit // 2:
                self._flush(stream)  # uploads come first in a frame, and ids must grow
            upload = stream.frame.puts.add(id=self._take_ids(stream, 1), dtype=dtype, sizes=sizes, data=data)
            self._failures.note_upload(upload.id, site)
            self._grow(stream, len(data) + 64 + 10 * len(sizes))
            return upload.id

    def fetch(self, id_: int, want: int, what: str) -> ops_pb2.Result:
        """The tensor's meta, and its elements when asked for and small enough. Waits."""
        box: queue.SimpleQueue[Any] = queue.SimpleQueue()
        with self._lock:
            self.look(id_)
            stream = self._live()
            stream.frame.fetch.add(id=id_, want=want)
            stream.fetches.setdefault(id_, collections.deque()).append(box)
            self._grow(stream, 16)
            self._flush(stream)
        try:
            result: ops_pb2.Result = self._wait(box, what)
        finally:
            with self._lock:
                self.look(id_)  # a failure that came with the reply
        return result

    def look(self, id_: int) -> None:
        """Raises the failure that this id stands for, if any is known."""
        error = self._failures.look(id_)
        if error is not None:
            raise self._seen(error)

    def flush(self) -> None:
        """Sends what was gathered, without waiting."""
        with self._lock:
            self._flush(self._live())

    def fence(self) -> None:
        """Waits until every call so far has been carried out; failures stay with their results."""
        box: queue.SimpleQueue[Any] = queue.SimpleQueue()
        with self._lock:
            stream = self._live()
            self._add_fence(stream, box)
            self._flush(stream)
        self._wait(box, "a fence")

    def unseen(self) -> Optional[Error]:
        """The oldest failure that nobody has looked at; the others follow at the next calls."""
        with self._lock:
            error = self._failures.oldest_unseen()
            return None if error is None else error.again()

    def wake(self) -> None:
        """Makes the stream's thread look for released ids. For finalisers: takes no lock."""
        self._stream.tokens.put(_TICK)

    # Ends.

    def close(self, timeout: float) -> Optional[Error]:
        """Carries out what was called, then gives the session back. Returns a failure that nobody has looked at.

        Errors of the fence are raised after everything is closed.
        """
        with self._lock:
            if self._closed is not None:
                return None
        try:
            if self._stream.end is None:
                self.fence()
            return self.unseen()
        finally:
            self.abandon()
            try:
                self.transport.close_session(self.token, timeout)
            except Error:
                pass  # it went before us
            self.transport.close()

    def abandon(self) -> None:
        """Ends the stream without waiting; for a session that nobody uses any more."""
        self._closed = FailedPrecondition("this yard is closed; connect again")
        self._stream.tokens.put(_STOP)

    def abandon_session(self) -> None:
        """As `abandon`, and the reply thread gives the session back. For finalisers: takes no lock."""
        self._ending = True
        self.abandon()

    # Building frames. All below: with the lock held.

    def _begin(self, op: str, fill: Callable[[ops_pb2.OpCall], int],
               site: str) -> tuple[_Stream, ops_pb2.OpCall]:
        stream = self._live()
        if stream.seq - stream.acked >= MAX_OPS_IN_FLIGHT or (
                stream.sent_bytes - stream.done_bytes >= MAX_BYTES_IN_FLIGHT):
            stream = self._wait_for_room(stream)
        call = stream.frame.ops.add()
        try:
            size = fill(call) + len(site) + 64
            if stream.frame_bytes + size > self._frame_limit // 2:
                call = self._move_to_new_frame(stream, call)
        except BaseException:
            if len(stream.frame.ops):
                del stream.frame.ops[-1]
            raise
        stream.frame_bytes += size
        stream.seq += 1
        call.seq = stream.seq
        call.site = site
        index = stream.names.get(op)
        if index is not None:
            call.op_index = index
        else:
            call.op = op
            if len(stream.names) < self.limits.interned_ops:
                call.op_index = stream.names[op] = len(stream.names) + 1
        return stream, call

    def _move_to_new_frame(self, stream: _Stream, call: ops_pb2.OpCall) -> ops_pb2.OpCall:
        size = call.ByteSize()
        if size + 4096 > self._frame_limit:
            raise ResourceExhausted(
                f"the arguments of this call take {size} bytes, a frame takes {self._frame_limit} (published by the"
                " daemon): pass large data as tensors")
        kept = ops_pb2.OpCall()
        kept.CopyFrom(call)
        del stream.frame.ops[-1]
        self._flush(stream)
        stream.frame.ops.append(kept)
        return stream.frame.ops[-1]

    def _take_ids(self, stream: _Stream, count: int) -> int:
        first = (stream.number << 48) + stream.next_id + 1
        stream.next_id += count
        return first

    def _commit(self, stream: _Stream, record: Record) -> None:
        stream.records.append(record)
        self.calls += 1
        stream.frame_ops += 1
        if stream.frame_ops >= self._ops_limit or stream.frame_bytes * 4 > self._frame_limit:
            self._flush(stream)
        elif stream.frame_ops == 1:
            stream.tokens.put(_TICK)

    def _grow(self, stream: _Stream, size: int) -> None:
        if stream.frame_bytes == 0:
            stream.tokens.put(_TICK)
        stream.frame_bytes += size

    def _add_fence(self, stream: _Stream, box: Any) -> None:
        if stream.frame.fence:
            self._flush(stream)
        number = next(self._fence_ids)
        stream.frame.fence = number
        stream.fenced_seq = stream.seq
        stream.fenced_bytes = stream.sent_bytes + stream.frame_bytes
        stream.fences[number] = (box, stream.fenced_bytes)

    def _flush(self, stream: _Stream) -> None:
        frame = self._detach(stream)
        if frame is not None:
            stream.tokens.put(frame)

    def _detach(self, stream: _Stream) -> Optional[ops_pb2.OpFrame]:
        """The frame as it stands, with the released ids; None when there is nothing to send."""
        frame = stream.frame
        if self.released:
            most = int(self.limits.list_items) or 65536
            ids: list[int] = []
            while self.released and len(ids) < most:
                ids.append(self.released.popleft())
            frame.release.extend(ids)
            stream.releases.append((stream.seq, ids))
        elif not (stream.frame_ops or stream.frame_bytes or frame.fence):
            return None
        if not frame.fence and (stream.seq - stream.fenced_seq >= ACK_OPS or
                                stream.sent_bytes + stream.frame_bytes - stream.fenced_bytes >= ACK_BYTES):
            self._add_fence(stream, None)
        stream.sent_bytes += stream.frame_bytes
        stream.frame = ops_pb2.OpFrame()
        stream.frame_ops = stream.frame_bytes = 0
        self.frames += 1
        return frame

    def _wait_for_room(self, stream: _Stream) -> _Stream:
        self._flush(stream)
        until = time.monotonic() + self.timeout
        while stream.end is None and (stream.seq - stream.acked >= MAX_OPS_IN_FLIGHT or
                                      stream.sent_bytes - stream.done_bytes >= MAX_BYTES_IN_FLIGHT):
            left = until - time.monotonic()
            if left <= 0 or not self._room.wait(left):
                raise DeadlineExceeded(
                    f"the daemon has not carried out earlier calls within {self.timeout:g} s;"
                    f" {stream.seq - stream.acked} are under way, this one was not sent")
        return self._live()

    def _wait(self, box: Any, what: str) -> Any:
        try:
            answer = box.get(timeout=self.timeout)
        except queue.Empty:
            raise DeadlineExceeded(
                f"no answer within {self.timeout:g} s while waiting for {what}; the calls before it may have run"
                " (connect(timeout=...) sets the deadline)") from None
        if isinstance(answer, Error):
            raise self._seen(answer)
        return answer

    def _seen(self, error: Error) -> Error:
        with self._lock:
            self._failures.seen(error)
        return error.again()

    # The stream and its threads.

    def check_open(self) -> None:
        if self._closed is not None:
            raise self._closed.again()

    def _live(self) -> _Stream:
        self.check_open()
        if self._stream.end is not None:
            self._reopen()
        return self._stream

    def _open_stream(self, timeout: float) -> _Stream:
        stream = _Stream(self.transport.open_stream(self.token))
        stream.transport.start(lambda: self._next_frame(stream), lambda reply: self._on_reply(stream, reply),
                               lambda end: self._on_end(stream, end))
        try:
            answer = stream.opened.get(timeout=timeout)
        except queue.Empty:
            stream.transport.cancel()
            raise DeadlineExceeded(f"{self.transport.address} opened no stream within {timeout:g} s") from None
        if isinstance(answer, Error):
            raise answer
        return stream

    def _reopen(self) -> None:
        """A stream ended: a session outlives it, unless the daemon is another one now."""
        hello = self.transport.handshake(self._client, self.timeout)
        lost = "the daemon at {} is not the one of before: the session and its tensors are lost, connect again"
        if hello.incarnation != self._incarnation:
            self._closed = Aborted(lost.format(self.transport.address), reason="SESSION_LOST")
            raise self._closed.again()
        try:
            self._stream = self._open_stream(self.timeout)
        except NotFound as error:
            self._closed = Aborted(f"the session is gone ({error.message}); connect again", reason="SESSION_LOST")
            raise self._closed.again() from None

    def _next_frame(self, stream: _Stream) -> Optional[ops_pb2.OpFrame]:
        """On the stream's thread: the next frame to send, None at the end."""
        linger: Optional[float] = None
        while True:
            try:
                token = stream.tokens.get(timeout=linger)
            except queue.Empty:
                linger = None
                with self._lock:
                    # Frames are put with the lock held: when none is waiting, the one under construction is next.
                    frame = self._detach(stream) if stream.tokens.empty() and self._stream is stream else None
                if frame is not None:
                    return frame
                continue
            if token is _STOP:
                return None
            if token is not _TICK:
                return token  # type: ignore[no-any-return]
            linger = LINGER

    def _on_reply(self, stream: _Stream, reply: ops_pb2.OpReply) -> None:
        if reply.HasField("opened"):  # before the lock: who waits for it may hold that
            stream.number = reply.opened.stream
            stream.opened.put(stream)
        with self._lock:
            for failure in reply.errors:
                self._on_failure(stream, failure)
            for result in reply.results:
                self._on_result(stream, result)
            stream.acked = max(stream.acked, reply.ack)
            records = stream.records
            while records and records[0].seq <= stream.acked:
                records.popleft()
            # A failure of a call before a release may come after it: only now can there be none any more.
            while stream.releases and stream.releases[0][0] <= stream.acked:
                self._failures.forget(stream.releases.popleft()[1])
            if reply.HasField("fence"):
                box, stream.done_bytes = stream.fences.pop(reply.fence.fence, (None, stream.done_bytes))
                if box is not None:
                    box.put(reply.fence)
            self._room.notify_all()

    def _on_failure(self, stream: _Stream, failure: ops_pb2.OpError) -> None:
        error = error_from(stream.number, failure)
        if failure.seq == 0:
            self._failures.blame_upload(failure.id, error)
            self._answer(stream, failure.id, self._failures.lasting(failure.id) or error)
            return
        record = next((r for r in stream.records if r.seq == failure.seq), None)
        if record is not None:
            self._failures.blame(record, error, error.cause is None)
        waiting = stream.values.pop(failure.seq, None)
        if waiting is not None:
            waiting[0].put(error)

    def _on_result(self, stream: _Stream, result: ops_pb2.Result) -> None:
        if result.seq == 0:
            self._answer(stream, result.id or result.meta.id, result)
            return
        waiting = stream.values.get(result.seq)
        if waiting is not None:
            box, count, values = waiting
            values.append(result.value)
            if len(values) == count:
                del stream.values[result.seq]
                box.put(values)

    def _answer(self, stream: _Stream, id_: int, answer: Any) -> None:
        boxes = stream.fetches.get(id_)
        if boxes:
            boxes.popleft().put(answer)
            if not boxes:
                del stream.fetches[id_]

    def _on_end(self, stream: _Stream, end: Optional[Error]) -> None:
        """On the reply thread: everything that was under way fails, every waiting thread is told."""
        error = end or self._closed or Unavailable("the daemon ended the stream; the next call opens another")
        stream.opened.put(error)
        stream.tokens.put(_STOP)
        with self._lock:
            stream.end = error
            lost_key = (stream.number, stream.acked + 1)  # one reason: who has seen one of them has seen all
            for record in stream.records:
                lost = error_of(error.code, f"the stream ended while this call was under way: {error.message}",
                                site=record.site, reason=error.reason)
                lost._key = lost_key
                self._failures.blame(record, lost, True)
            stream.records.clear()
            for _, ids in stream.releases:
                self._failures.forget(ids)
            stream.releases.clear()
            boxes = [box for boxes in stream.fetches.values() for box in boxes]
            boxes += [waiting[0] for waiting in stream.values.values()]
            boxes += [box for box, _ in stream.fences.values() if box is not None]
            stream.fetches, stream.values, stream.fences = {}, {}, {}
            for box in boxes:
                box.put(error)
            self._room.notify_all()
        if self._ending:
            try:
                self.transport.close_session(self.token, self.timeout)
            except Error:
                pass  # nobody is there to be told
            self.transport.close()
