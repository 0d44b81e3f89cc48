#!/usr/bin/env bash
# usage: quoted.sh PROGRAM DOCUMENT: the document's first C++ block is the program, word for word.
set -euo pipefail
diff -u "$1" <(awk '/^```cpp$/ && !done {inside = 1; next} /^```$/ && inside {inside = 0; done = 1} inside' "$2")
