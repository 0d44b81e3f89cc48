"""Text that is written only when it changed, so that nothing is rebuilt for nothing."""

import pathlib
import textwrap

BANNER = "// Generated from kernels/ops by kernels/codegen; changes here are lost.\n"
WIDTH = 98


def write_if_changed(path, text):
    path = pathlib.Path(path)
    if path.is_file() and path.read_text() == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return True


def comment(text):
    return "\n".join(textwrap.wrap(text, WIDTH, initial_indent="// ", subsequent_indent="// "))


def sentence(entry):
    """An entry's doc with its preconditions."""
    if not entry.preconditions:
        return entry.doc
    return f"{entry.doc} Needs: {'; '.join(entry.preconditions)}."
