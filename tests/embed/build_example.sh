#!/usr/bin/env bash
# usage: build_example.sh CMAKE EXAMPLE-DIR PREFIX WORK-DIR CC CXX [FLAG...]: builds an example of plugins/examples out of
# tree, from a copy that has nothing of the repository around it, and installs it beside the plugins of PREFIX.
set -euo pipefail
cmake="$1" example="$2" prefix="$3" work="$4/$(basename "$2")" cc="$5" cxx="$6"
shift 6
rm -rf "$work"
mkdir -p "$work"
cp -r "$example" "$work/source"
"$cmake" -G Ninja -S "$work/source" -B "$work/build" "-DCMAKE_PREFIX_PATH=$prefix" -DCMAKE_BUILD_TYPE=Release \
  "-DCMAKE_C_COMPILER=$cc" "-DCMAKE_CXX_COMPILER=$cxx" "-DCMAKE_C_FLAGS=$*" "-DCMAKE_CXX_FLAGS=$*"
"$cmake" --build "$work/build"
"$cmake" --install "$work/build" --prefix "$prefix"
