#!/usr/bin/env bash
# usage: build_by_pkg_config.sh CXX PREFIX WORK-DIR [FLAG...]: the same program with what pkg-config says, and runs it.
set -euo pipefail
cxx="$1" prefix="$2" work="$3"
shift 3
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
read -r -a flags <<<"$(pkg-config --cflags --libs opyard)"
"$cxx" "$@" "$(dirname "${BASH_SOURCE[0]}")/consumer/embed.cc" -o "$work/embed_by_pkg_config" \
  "${flags[@]}" "-Wl,-rpath,$prefix/lib"
"$work/embed_by_pkg_config"
