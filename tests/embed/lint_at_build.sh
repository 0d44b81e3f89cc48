#!/usr/bin/env bash
# usage: lint_at_build.sh CMAKE PREFIX NAME PATTERN: what the build step of the installed package says of an installed plugin
# has the pattern in it.
set -euo pipefail
said="$("$1" "-DWORKER=$2/bin/opyard-worker" "-DPLUGIN=$2/lib/opyard/plugins/libopyard_plugin_$3.so" \
  -P "$2/lib/cmake/opyard/OpyardLintPlugin.cmake" 2>&1)" || { printf "%s\n" "$said" >&2; exit 1; }
printf '%s\n' "$said"
grep -q -- "$4" <<<"$said"
