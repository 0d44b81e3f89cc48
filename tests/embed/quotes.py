"""usage: quotes.py ROOT DOCUMENT: every code block of the document that follows a line "`path`:" is a run of lines of that
file of the repository, word for word. A document without such a block is an error."""
import pathlib
import re
import sys


def quotes(text):
    """(path, lines) for each block that says where it comes from."""
    return [(match[1], match[2].splitlines())
            for match in re.finditer(r"^`([^`\n]+)`:\n\n?```\w*\n(.*?)^```$", text, flags=re.S | re.M)]


def is_in(lines, file_lines):
    return any(file_lines[at:at + len(lines)] == lines for at in range(len(file_lines) - len(lines) + 1))


def main(root, document):
    found = quotes(document.read_text())
    if not found:
        print(f"{document} quotes nothing")
        return 1
    stale = [f"{path}: {lines[0]} …" for path, lines in found
             if not lines or not is_in(lines, (root / path).read_text().splitlines())]
    if stale:
        print(f"{document}: these blocks are not what stands in the file any more:", *stale, sep="\n  ")
    return len(stale)


if __name__ == "__main__":
    sys.exit(1 if main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])) else 0)
