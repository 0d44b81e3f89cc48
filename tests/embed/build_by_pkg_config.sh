#!/usr/bin/env bash
# usage: build_by_pkg_config.sh CXX PREFIX WORK-DIR [FLAG...]: the same program with what pkg-config says, and runs it.
# A plugin, too, which the lint finds nothing against.
set -euo pipefail
cxx="$1" prefix="$2" work="$3"
shift 3
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
read -r -a flags <<<"$(pkg-config --cflags --libs opyard)"
"$cxx" "$@" "$(dirname "${BASH_SOURCE[0]}")/consumer/embed.cc" -o "$work/embed_by_pkg_config" \
  "${flags[@]}" "-Wl,-rpath,$prefix/lib"
"$work/embed_by_pkg_config"

plugin="$work/libopyard_plugin_by_pkg_config.so"
read -r -a to_compile <<<"$(pkg-config --variable=plugin_cflags opyard)"
read -r -a to_link <<<"$(pkg-config --variable=plugin_libs opyard)"
"$cxx" "$@" -O2 "$(dirname "${BASH_SOURCE[0]}")/../../plugins/examples/axpby/axpby.cc" -o "$plugin" \
  "${to_compile[@]}" "${to_link[@]}" "${flags[@]}"
exported="$(nm -D --defined-only "$plugin" | awk '$2 != "A" {print $3}')"
printf 'exported: %s\n' "$exported"
[[ "$exported" == opyard_plugin_entry || "$exported" == opyard_plugin_entry@@* ]]
if [[ -x "$prefix/bin/opyard-worker" ]]; then
  said="$("$prefix/bin/opyard-worker" lint "$plugin")"
  printf '%s\n' "$said"
  [[ ! "$said" =~ (stays|warning)\ + ]]
fi
