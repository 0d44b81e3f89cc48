#!/usr/bin/env bash
# usage: call_toy_device.sh PREFIX: the private backends, built out of tree, compute side by side.
set -euo pipefail
for device in toy toy2:1; do
  out="$("$1/bin/opyard" call --local --plugin cpu --plugin toy --plugin toy2 aten::full '[2]' 0.5 "device=$device" --json)"
  printf '%s\n' "$out"
  [[ "${out//[[:space:]]/}" == *"\"device\":\"$device\",\"data\":[0.5,0.5]"* ]]
done
