"""Errors of calls: one class per canonical code, all below `Error`."""

from __future__ import annotations

from typing import ClassVar, Optional, Tuple


class Error(Exception):
    """A call that failed.

    `code` is the canonical number, `op` the operator, `site` the line of the caller's code that made the failed call
    ("train.py:12"), `reason` a stable word of the daemon, `cause` the first failure when this one only follows from it.
    """

    code: ClassVar[int] = 2
    code_name: ClassVar[str] = "UNKNOWN"

    def __init__(self, message: str, *, op: str = "", site: str = "", reason: str = "", argument: str = "",
                 cause: Optional[Error] = None) -> None:
        super().__init__(message)
        self.message = message
        self.op = op
        self.site = site
        self.reason = reason
        self.argument = argument
        self.cause = cause
        self._key: Optional[Tuple[int, int]] = None  # stream and number of the call that failed first

    def __str__(self) -> str:
        text = self.message
        if self.op and self.op not in text:
            text = f"{self.op}: {text}"
        if self.site:
            text += f"\n  called at {self.site}"
        return text

    def again(self) -> Error:
        """A fresh copy: an exception that is raised twice would gather the tracebacks of both places."""
        copy = type(self)(self.message, op=self.op, site=self.site, reason=self.reason, argument=self.argument,
                          cause=self.cause)
        copy.__cause__ = self.cause
        return copy


class Cancelled(Error):
    code, code_name = 1, "CANCELLED"


class Unknown(Error):
    code, code_name = 2, "UNKNOWN"


class InvalidArgument(Error):
    code, code_name = 3, "INVALID_ARGUMENT"


class DeadlineExceeded(Error):
    code, code_name = 4, "DEADLINE_EXCEEDED"


class NotFound(Error):
    code, code_name = 5, "NOT_FOUND"


class AlreadyExists(Error):
    code, code_name = 6, "ALREADY_EXISTS"


class PermissionDenied(Error):
    code, code_name = 7, "PERMISSION_DENIED"


class ResourceExhausted(Error):
    code, code_name = 8, "RESOURCE_EXHAUSTED"


class FailedPrecondition(Error):
    code, code_name = 9, "FAILED_PRECONDITION"


class Aborted(Error):
    code, code_name = 10, "ABORTED"


class OutOfRange(Error):
    code, code_name = 11, "OUT_OF_RANGE"


class Unimplemented(Error):
    code, code_name = 12, "UNIMPLEMENTED"


class Internal(Error):
    code, code_name = 13, "INTERNAL"


class Unavailable(Error):
    code, code_name = 14, "UNAVAILABLE"


class DataLoss(Error):
    code, code_name = 15, "DATA_LOSS"


class Unauthenticated(Error):
    code, code_name = 16, "UNAUTHENTICATED"


_BY_CODE = {kind.code: kind for kind in (
    Cancelled, Unknown, InvalidArgument, DeadlineExceeded, NotFound, AlreadyExists, PermissionDenied, ResourceExhausted,
    FailedPrecondition, Aborted, OutOfRange, Unimplemented, Internal, Unavailable, DataLoss, Unauthenticated)}


def error_of(code: int, message: str, *, op: str = "", site: str = "", reason: str = "", argument: str = "",
             cause: Optional[Error] = None) -> Error:
    """The error for a canonical code; a code that this client does not know becomes Unknown."""
    error = _BY_CODE.get(code, Unknown)(message, op=op, site=site, reason=reason, argument=argument, cause=cause)
    error.__cause__ = cause
    return error
