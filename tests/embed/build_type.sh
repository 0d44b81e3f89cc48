#!/usr/bin/env bash
# usage: build_type.sh CMAKE EXAMPLE-DIR PREFIX WORK-DIR CC CXX: without a build type plugins are compiled with -O2, and CMake
# says so once; a build type and flags of the author's stand. Nothing is compiled.
set -euo pipefail
cmake="$1" example="$2" prefix="$3" work="$4" cc="$5" cxx="$6"
rm -rf "$work"
# NAME [ARGUMENT...]: configures, and leaves what was said and the commands in $said and $commands.
configure() {
  local name="$1"
  shift
  said="$("$cmake" -G Ninja -S "$example" -B "$work/$name" "-DCMAKE_PREFIX_PATH=$prefix" "-DCMAKE_C_COMPILER=$cc" \
    "-DCMAKE_CXX_COMPILER=$cxx" "$@")"
  commands="$(ninja -C "$work/$name" -t commands)"
  printf '%s\n' "$name:" "$said" "$commands"
}
# The commands that compile, each of them, with this flag and not with that one.
all_have() { [[ "$(grep -c -- ' -c ' <<<"$commands")" == "$(grep -- ' -c ' <<<"$commands" | grep -c -- " $1 ")" ]]; }
none_has() { ! grep -- " $1 " <<<"$commands"; }
unset CFLAGS CXXFLAGS
configure none
[[ "$(grep -c 'no CMAKE_BUILD_TYPE' <<<"$said")" == 1 ]]
all_have -O2
configure debug -DCMAKE_BUILD_TYPE=Debug
[[ "$said" != *"no CMAKE_BUILD_TYPE"* ]]
none_has -O2
configure flags -DCMAKE_C_FLAGS=-O1 -DCMAKE_CXX_FLAGS=-O1
[[ "$said" != *"no CMAKE_BUILD_TYPE"* ]]
all_have -O1
none_has -O2
