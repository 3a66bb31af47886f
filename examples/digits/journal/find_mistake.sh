#!/usr/bin/env bash
# find_mistake.sh PROGRAMS DIGITS JOURNAL [REPLAY-OPTION...]
#
# Records the example with the kernel that has a mistake, and finds that kernel by `troupe replay`. With
# `--device cuda` between a GPU and the CPU; else between two devices of the CPU, of which one has the
# mistake. Fails unless the replay names the request, and accepts the kernel without the mistake.
set -euo pipefail

programs=$1 digits=$2 journal=$3 options=("${@:4}")
plugin=$programs/lib/plugins/libdistances.so
trap 'rm -f "$journal"' EXIT

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

replay() { "$programs/bin/troupe" replay "$journal" --plugin "$plugin" "${options[@]}" "$@"; }

DIGITS_KERNEL=fast "$programs/bin/digits_journal" "$digits" "$plugin" "$journal"

# With the mistake the replay sees what the program saw; without it, another digit somewhere.
replay --environment DIGITS_KERNEL=fast | grep -x equal >/dev/null || fail 'the replay is not equal'
found=$(replay --stop-at-difference) && fail 'the replay without the mistake is equal' "$found"
grep 'memory.copy' <<<"$found" || fail 'no value that the program has read differs' "$found"

# Request by request against a second device: the first difference is the kernel's.
found=$(replay --environment DIGITS_KERNEL=fast --against cpu --stop-at-difference) &&
  fail 'the mistake is not found' "$found"
printf '%s\n' "$found"
grep -q 'digits.distances' <<<"$found" || fail 'another request is named' "$found"
# 1500 is 23 · 64 + 28: the first image that is left over.
grep -q '  to\[1472\]: ' <<<"$found" || fail 'another element is named' "$found"

"$programs/bin/digits_journal" "$digits" "$plugin" "$journal" >/dev/null
replay --against cpu | grep -x equal >/dev/null || fail 'the kernel without the mistake is not equal'
