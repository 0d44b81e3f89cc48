#!/usr/bin/python3
"""Writes the header with the hash of the files that fix the library's binary layout.

Usage: fingerprint.py OUTPUT FILE...   The output is left alone when nothing changed.
"""

import hashlib
import pathlib
import sys


def main() -> None:
    output = pathlib.Path(sys.argv[1])
    digest = hashlib.sha256()
    for name in sorted(sys.argv[2:], key=lambda path: pathlib.Path(path).name):
        path = pathlib.Path(name)
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    text = f'#pragma once\n\n#define OPYARD_HEADERS_HASH "{digest.hexdigest()[:16]}"\n'
    if not output.exists() or output.read_text() != text:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text)


main()
