#!/usr/bin/env bash
# usage: swap_axpby.sh PREFIX: a daemon of the installed Opyard exchanges the example in C++ for the one in C and back,
# with the commands of the guide.
set -euo pipefail
bin="$1/bin"
folder="$(mktemp -d)"
export OPYARD_ADDRESS="unix:$folder/sock"
"$bin/opyardd" --listen "$OPYARD_ADDRESS" --plugin cpu --plugin axpby >"$folder/log" 2>&1 &
daemon=$!
trap 'kill "$daemon" 2>/dev/null || true; wait "$daemon" || true; rm -rf "$folder"' EXIT
until "$bin/opyard" ping >/dev/null 2>&1; do
  kill -0 "$daemon" || { cat "$folder/log" >&2; exit 1; }
done

fail() {
  printf '%s\n' "$1" >&2
  exit 1
}
computes() {
  out="$("$bin/opyard" call axpby::axpby '[1.5,2]' '[30,40.5]' a=2 b=0.5 --json)"
  [[ "${out//[[:space:]]/}" == *'"data":[18.0,24.25]'* ]] || fail "$out"
}
active_is() {
  out="$("$bin/opyard" plugin list axpby)"
  [[ "$out" =~ \ active\ [^$'\n']*\ "$1"\  ]] || fail "$out"
}

computes
"$bin/opyard" plugin diff axpby axpby_c
if "$bin/opyard" plugin swap axpby axpby_c; then fail "a downgrade passed without being allowed"; fi
"$bin/opyard" plugin swap axpby axpby_c --allow-downgrade
computes
active_is 1.0.1
"$bin/opyard" plugin rollback axpby
computes
active_is 1.0.0
