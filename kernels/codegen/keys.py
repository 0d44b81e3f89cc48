"""Names of dispatch keys, read from the one list that there is of them."""

import pathlib
import re

DEF = pathlib.Path(__file__).resolve().parents[2] / "server/lib/opyard/core/dispatch_keys.def"


def _first_arguments(macro, entry):
    """What stands first in every ENTRY(…) of #define MACRO(…); P, the prefix that all share, is skipped."""
    body = re.search(rf"#define {macro}\(.*?\)((?:.*\\\n)*.*)", DEF.read_text()).group(1)
    return tuple(re.findall(rf"\b{entry}\((?:P, )?(\w+)", body))


BACKENDS = _first_arguments("OPYARD_BACKENDS", "X")
ALIASES = _first_arguments("OPYARD_ALIASES", "A")
