"""How calls are routed: explanations, tables, and traces of the session's calls."""

from __future__ import annotations

import collections
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Iterator, NamedTuple, Optional, Sequence

from .errors import Aborted, DeadlineExceeded, Error, InvalidArgument
from .transport import TraceStream
from .v1 import ops_pb2, registry_pb2

if TYPE_CHECKING:
    from .yard import Yard

KEPT_LINES = 100_000  # that nobody has read yet
FORMS = {"folded": registry_pb2.DumpTableRequest.FOLDED, "all": registry_pb2.DumpTableRequest.SLOTS,
         "dump": registry_pb2.DumpTableRequest.COMPUTED, "state": registry_pb2.DumpTableRequest.REGISTRATIONS}


class Step(NamedTuple):
    """A kernel on the way of a call, or a row of a table."""

    key: str          # of a folded row the first
    kernel: str
    rule: str         # why this kernel stands there
    source: str       # the plugin; empty where there is no kernel
    op: str = ""
    generation: int = 0
    place: str = ""   # "registered at FILE:LINE"
    keys: tuple[str, ...] = ()  # rows: all that this one stands for
    kind: str = ""    # rows: "kernel", "fallback", "pass-down", "fallthrough", "ambiguous", "raises", "missing"


class Explanation(NamedTuple):
    """How a call would be routed. `print` shows the trail."""

    op: str
    text: str
    steps: tuple[Step, ...]
    chosen: str  # empty when the call would fail
    schema: str = ""
    arguments: tuple[str, ...] = ()    # keys that the arguments bring
    included: tuple[str, ...] = ()     # … that the session's thread adds
    excluded: tuple[str, ...] = ()     # … that it takes away
    fallthrough: tuple[str, ...] = ()  # … that the operator's masks take away
    keys: tuple[str, ...] = ()         # what is left; the call goes to the last
    fails: bool = False

    def __str__(self) -> str:
        return self.text.rstrip("\n")


class Table(NamedTuple):
    """An operator's table. `print` shows it."""

    op: str
    text: str
    rows: tuple[Step, ...]

    def __str__(self) -> str:
        return self.text.rstrip("\n")


class TraceLine(NamedTuple):
    """One entry into the dispatcher."""

    text: str   # " [call] op=[aten::ones], key=[CPU]": a blank for each level of nesting
    op: str
    key: str
    label: str
    depth: int  # 1 for an outermost call

    def __str__(self) -> str:
        return self.text.rstrip("\n")


def _step(step: registry_pb2.ExplainStep) -> Step:
    return Step(step.key, step.kernel, step.rule, step.source, step.op, step.generation, step.place,
                tuple(step.keys), step.kind)


def explanation(reply: registry_pb2.ExplainReply, op: str) -> Explanation:
    return Explanation(reply.op or op, reply.text, tuple(map(_step, reply.steps)), reply.chosen, reply.schema,
                       tuple(reply.arguments), tuple(reply.included), tuple(reply.excluded),
                       tuple(reply.fallthrough), tuple(reply.remaining), reply.fails)


def table_request(op: str, form: str, width: int) -> registry_pb2.DumpTableRequest:
    if form not in FORMS:
        raise InvalidArgument(f"the form of a table is one of {', '.join(FORMS)}, got {form!r}")
    if not 0 <= width < 1 << 32:
        raise InvalidArgument(f"the width of a table is a number of characters, 0 for no limit, got {width!r}")
    return registry_pb2.DumpTableRequest(op=op, kind=FORMS[form], width=width)


def table(reply: registry_pb2.DumpTableReply) -> Table:
    return Table(reply.op, reply.text, tuple(map(_step, reply.rows)))


class Trace:
    """The session's calls, seen from its making to `close()` or the end of its `with` block.

    Iterating takes lines out, as they come, until the trace is closed; `lines` are those that are there and not taken.
    `lost` counts lines that came faster than they were read, here or in the daemon.
    """

    def __init__(self, yard: Yard, op: str) -> None:
        self._pipeline = yard._pipeline
        self._pipeline.fence()  # calls of before are not shown
        self._condition = threading.Condition()
        self._lines: collections.deque[TraceLine] = collections.deque()
        self._lost = 0
        self._started = False
        self._ended = False
        self._error: Optional[Error] = None
        self._stream: TraceStream = self._pipeline.transport.open_trace(self._pipeline.token, op)
        self._thread = threading.Thread(target=self._read, name="opyard-trace", daemon=True)
        self._thread.start()
        with self._condition:
            self._condition.wait_for(lambda: self._started or self._ended, self._pipeline.timeout)
            error = self._error
        if error is None and not self._started:
            error = DeadlineExceeded(f"the daemon did not begin to trace within {self._pipeline.timeout:g} s")
        if error is not None:
            self._stream.cancel()
            raise error

    def _read(self) -> None:
        error: Optional[Error] = None
        try:
            for reply in self._stream.replies():
                self._take(reply)
        except Aborted:
            pass  # the session has ended, and the trace with it
        except Error as failure:
            error = failure
        with self._condition:
            self._error, self._ended = error, True
            self._condition.notify_all()

    def _take(self, reply: ops_pb2.TraceReply) -> None:
        with self._condition:
            self._started = True
            for line in reply.lines:
                if len(self._lines) < KEPT_LINES:
                    self._lines.append(TraceLine(line.text, line.op, line.key, line.label, line.depth))
                else:
                    self._lost += 1
            self._lost += reply.lost
            self._condition.notify_all()

    @property
    def lines(self) -> Sequence[TraceLine]:
        with self._condition:
            return list(self._lines)

    @property
    def lost(self) -> int:
        return self._lost

    def __iter__(self) -> Iterator[TraceLine]:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._lines or self._ended)
                if not self._lines:
                    if self._error is not None:
                        raise self._error.again()
                    return
                line = self._lines.popleft()
            yield line

    def close(self) -> None:
        """Waits for the calls so far and for their lines. A second close does nothing."""
        if self._ended:
            return
        try:
            self._pipeline.fence()
        finally:
            self._stream.stop()
            self._thread.join(self._pipeline.timeout)
            if self._thread.is_alive():
                self._stream.cancel()
        if self._error is not None:
            raise self._error.again()

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        try:
            self.close()
        except Error:
            if kind is None:
                raise

    def __str__(self) -> str:
        text = "\n".join(line.text for line in self.lines)
        return text + (f"\n… {self._lost} lines lost" if self._lost else "")

    def __repr__(self) -> str:
        return f"<opyard.Trace, {len(self.lines)} lines, {self._lost} lost, {'ended' if self._ended else 'open'}>"
