#!/usr/bin/env bash
# usage: installed_programs.sh PREFIX: the installed opyard finds its library and plugin, wherever the prefix lies.
set -euo pipefail
out="$("$1/bin/opyard" call --local aten::add.Tensor '[[1,2],[3,4]]' '[[10,20],[30,40]]' alpha=2 --json)"
printf '%s\n' "$out"
[[ "${out//[[:space:]]/}" == *'"data":[[21,42],[63,84]]'* ]]
"$1/bin/opyardd" --help >/dev/null
