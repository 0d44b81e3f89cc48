#!/usr/bin/env bash
# usage: unfit_is_refused.sh CMAKE SOURCE-DIR PREFIX WORK-DIR CXX [FLAG...]: building a file that is no plugin fails, with
# the reason of the lint.
set -euo pipefail
cmake="$1" source="$2" prefix="$3" work="$4" cxx="$5"
shift 5
"$cmake" -G Ninja -S "$source" -B "$work" "-DCMAKE_PREFIX_PATH=$prefix" "-DCMAKE_CXX_COMPILER=$cxx" \
  "-DCMAKE_CXX_FLAGS=$*"
if out="$("$cmake" --build "$work" 2>&1)"; then
  printf 'it was built:\n%s\n' "$out" >&2
  exit 1
fi
printf '%s\n' "$out"
[[ "$out" == *"no note"* ]]
