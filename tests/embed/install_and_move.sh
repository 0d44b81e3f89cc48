#!/usr/bin/env bash
# usage: install_and_move.sh CMAKE BUILD-DIR WORK-DIR: installs into WORK-DIR/stage and moves that to WORK-DIR/opyard.
set -euo pipefail
rm -rf "$3"
mkdir -p "$3"
"$1" --install "$2" --prefix "$3/stage"
mv "$3/stage" "$3/opyard"
for wanted in lib/libopyard.so lib/pkgconfig/opyard.pc lib/cmake/opyard/opyardConfig.cmake include/opyard_plugin.h include/opyard_tensors.h \
  include/plugins/sdk/opyard_stable.h include/plugins/sdk/stable/tensor.h lib/cmake/opyard/opyard_plugin.exports \
  include/opyard/core/tensor.h include/opyard/ops.h lib/opyard/plugins/libopyard_plugin_cpu.so; do
  [ -e "$3/opyard/$wanted" ] || { printf 'not installed: %s\n' "$wanted" >&2; exit 1; }
done
if grep -rlF -- "$2" "$3/opyard" --include='*.cmake' --include='*.pc' --include='*.h'; then
  printf 'the files above remember the build folder\n' >&2
  exit 1
fi
