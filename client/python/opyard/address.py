"""Where the daemon is."""

from __future__ import annotations

import os
import tempfile
from typing import Optional

from .errors import InvalidArgument

SOCKET_PATH_BYTES = 107
_WANTED = "wanted unix:PATH or HOST:PORT"


def default_address() -> str:
    """The socket on which `opyardd` without arguments listens for this user."""
    if os.geteuid() == 0:
        return "unix:/run/opyard/opyardd.sock"
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    folder = os.path.join(runtime, "opyard") if runtime else os.path.join(
        tempfile.gettempdir(), f"opyard-{os.getuid()}")
    return f"unix:{folder}/opyardd.sock"


def resolve(address: Optional[str] = None) -> str:
    """The argument, else OPYARD_ADDRESS, else the default; checked. Raises InvalidArgument."""
    text = address or os.environ.get("OPYARD_ADDRESS") or default_address()
    if text.startswith("unix:"):
        path = text[len("unix:"):]
        if not path:
            raise InvalidArgument(f"the address {text!r} names no path; {_WANTED}")
        size = len(os.fsencode(path))
        if size > SOCKET_PATH_BYTES:
            raise InvalidArgument(f"a Unix socket's path takes {SOCKET_PATH_BYTES} bytes, this one has {size}: {path}")
        return text
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise InvalidArgument(f"{text!r} is no address; {_WANTED}")
    return text
