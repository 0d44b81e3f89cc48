"""Opyard's client: tensors that live in a daemon, operator calls that are routed there.

    with opyard.connect() as yard:
        x = yard.tensor([[1.0, 2.0], [3.0, 4.0]])
        print((x @ x + 1).relu())
"""

from .dtypes import bool_ as bool
from .dtypes import complex64, complex128, float16, float32, float64, int8, int16, int32, int64, uint8
from .errors import (
                     Aborted,
                     AlreadyExists,
                     Cancelled,
                     DataLoss,
                     DeadlineExceeded,
                     Error,
                     FailedPrecondition,
                     Internal,
                     InvalidArgument,
                     NotFound,
                     OutOfRange,
                     PermissionDenied,
                     ResourceExhausted,
                     Unauthenticated,
                     Unavailable,
                     Unimplemented,
                     Unknown,
)
from .routing import Explanation, Step, Table, Trace, TraceLine
from .tensor import Tensor
from .transport import FrameStream, TraceStream, Transport
from .yard import VERSION as __version__
from .yard import Stats, Yard, connect

__all__ = [
    "Aborted", "AlreadyExists", "Cancelled", "DataLoss", "DeadlineExceeded", "Error", "Explanation",
    "FailedPrecondition", "FrameStream", "Internal", "InvalidArgument", "NotFound", "OutOfRange", "PermissionDenied",
    "ResourceExhausted", "Stats", "Step", "Table", "Tensor", "Trace", "TraceLine", "TraceStream", "Transport",
    "Unauthenticated", "Unavailable", "Unimplemented", "Unknown", "Yard", "__version__", "bool", "complex128", "complex64", "connect", "float16", "float32", "float64",
    "int16", "int32", "int64", "int8", "uint8"]
