"""What is known of calls that failed, until the results are gone or somebody has looked."""

from __future__ import annotations

import collections
from typing import Iterable, Optional

from .errors import Error, error_of
from .v1 import ops_pb2

MAX_UNSEEN = 256


class Record:
    """A call on its way: what its failure would have to be told to."""

    __slots__ = ("seq", "site", "first", "count", "target")

    def __init__(self, seq: int, site: str, first: int, count: int, target: int) -> None:
        self.seq, self.site = seq, site
        self.first, self.count = first, count  # ids of the results
        self.target = target                   # id of the tensor that the call changes in place, or 0


class Failures:
    """Guarded by the pipeline's lock."""

    def __init__(self) -> None:
        self._results: dict[int, Error] = {}   # by result id: what every look at it raises
        self._targets: dict[int, Error] = {}   # by target of an in-place call: raised at the next look, once
        self._uploads: dict[int, str] = {}     # by id of an upload: the line that made it
        self._unseen: collections.OrderedDict[tuple[int, int], Error] = collections.OrderedDict()

    def note_upload(self, id_: int, site: str) -> None:
        self._uploads[id_] = site

    def forget(self, ids: Iterable[int]) -> None:
        """The ids are released, and no call that named them is under way."""
        for id_ in ids:
            self._results.pop(id_, None)
            self._targets.pop(id_, None)
            self._uploads.pop(id_, None)

    def look(self, id_: int) -> Optional[Error]:
        """What this id stands for, if it stands for a failure."""
        return self._results.get(id_) or self._targets.pop(id_, None)

    def lasting(self, id_: int) -> Optional[Error]:
        return self._results.get(id_)

    def seen(self, error: Error) -> None:
        if error._key is not None:
            self._unseen.pop(error._key, None)

    def oldest_unseen(self) -> Optional[Error]:
        """The oldest failure that nobody has looked at; it counts as seen from now on."""
        for error in self._unseen.values():
            for id_ in [id_ for id_, pending in self._targets.items() if pending is error]:
                del self._targets[id_]
            self.seen(error)
            return error
        return None

    def blame(self, record: Record, error: Error, first: bool) -> None:
        """Notes a failed call with everything that it would have made or changed."""
        error.site = error.site or record.site
        for id_ in range(record.first, record.first + record.count):
            self._results[id_] = error
        if record.target and record.target not in self._results:
            self._targets.setdefault(record.target, error)
        if first and error._key is not None and len(self._unseen) < MAX_UNSEEN:
            self._unseen[error._key] = error

    def blame_upload(self, id_: int, error: Error) -> None:
        """An error about an id: of its upload, if that was one and it is not known to have failed."""
        if id_ in self._uploads and id_ not in self._results:
            error.site = error.site or self._uploads[id_]
            if error.reason != "POISONED":
                self._results[id_] = error


def error_from(stream: int, failure: ops_pb2.OpError) -> Error:
    """The daemon's report as an exception; one that only follows from another tells that one's operator and line."""
    info = failure.info
    cause = None
    key = (stream, failure.seq) if failure.seq else (-1, failure.id)
    if info.HasField("cause"):
        cause = error_of(info.cause.code, info.cause.message, op=info.cause.op, site=info.cause.site)
        key = (info.cause.stream, info.cause.seq)
    error = error_of(failure.code, failure.message, op=cause.op if cause else info.op, site=cause.site if cause else "",
                     reason=info.reason, argument=info.argument, cause=cause)
    error._key = key
    return error
