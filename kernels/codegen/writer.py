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


def remove_stale(folder, files):
    """Deletes generated C++ that no entry asks for any more; other files are left alone."""
    for pattern in ("opyard/**/*.h", "opyard/**/*.cc", "kernels/*.h", "kernels/*.cc"):
        for path in pathlib.Path(folder).glob(pattern):
            if str(path.relative_to(folder)) not in files and path.read_text().startswith(BANNER):
                path.unlink()


def comment(text):
    return "\n".join(textwrap.wrap(text, WIDTH, initial_indent="// ", subsequent_indent="// "))


def sentence(entry):
    """An entry's doc with its preconditions."""
    if not entry.preconditions:
        return entry.doc
    return f"{entry.doc} Needs: {'; '.join(entry.preconditions)}."
