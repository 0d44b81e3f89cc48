#!/usr/bin/env bash
# usage: call_axpby.sh PREFIX: the example, built out of tree, is found by name, loaded and called: in C++ and in C.
set -euo pipefail
for plugin in axpby axpby_c; do
  out="$("$1/bin/opyard" call --local --plugin cpu --plugin "$plugin" axpby::axpby '[1.5,2]' '[30,40.5]' a=2 b=0.5 --json)"
  printf '%s: %s\n' "$plugin" "$out"
  [[ "${out//[[:space:]]/}" == *'"data":[18.0,24.25]'* ]]
done
readelf -n "$1/lib/opyard/plugins/libopyard_plugin_axpby_c.so" | grep OPYARD >/dev/null
if readelf -d "$1/lib/opyard/plugins/libopyard_plugin_axpby_c.so" | grep libopyard.so; then
  printf 'the C plugin links libopyard\n' >&2
  exit 1
fi
