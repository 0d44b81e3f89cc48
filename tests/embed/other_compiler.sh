#!/usr/bin/env bash
# usage: other_compiler.sh CMAKE EXAMPLE-DIR PREFIX WORK-DIR CC CXX: the example built by another compiler than Opyard was.
# In C it runs all the same; typed kernels in C++ are refused, with the reason, of which the lint has warned.
set -euo pipefail
cmake="$1" example="$2" prefix="$3" work="$4" cc="$5" cxx="$6"
"$cmake" -G Ninja -S "$example" -B "$work" "-DCMAKE_PREFIX_PATH=$prefix" "-DCMAKE_C_COMPILER=$cc" \
  "-DCMAKE_CXX_COMPILER=$cxx"
rm -rf "$work/libopyard_plugin_axpby.so"
built="$("$cmake" --build "$work" 2>&1)" || { printf '%s\n' "$built" >&2; exit 1; }
printf '%s\n' "$built"
[[ "$(grep -c 'opyard lint: warning .*another compiler' <<<"$built")" == 1 ]]  # the typed one
call() {
  "$prefix/bin/opyard" call --local --plugin-dir "$work" --plugin-dir "$prefix/lib/opyard/plugins" --plugin cpu \
    --plugin "$1" axpby::axpby '[1.5,2]' '[30,40.5]' a=2 b=0.5 --json 2>&1
}
out="$(call axpby_c)"
printf '%s\n' "$out"
[[ "${out//[[:space:]]/}" == *'"data":[18.0,24.25]'* ]]
if out="$(call axpby)"; then
  printf 'a typed build of another compiler was taken:\n%s\n' "$out" >&2
  exit 1
fi
printf '%s\n' "$out"
[[ "$out" == *FAILED_PRECONDITION* && "$out" == *"another compiler"* ]]
