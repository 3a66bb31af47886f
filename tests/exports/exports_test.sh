#!/usr/bin/env bash
# exports_test.sh LIBRARY: exports of the shared library must be in namespace troupe (functions,
# objects, vtables, type information) or a C entry point named troupe_*.
set -euo pipefail

exports=$(nm --dynamic --defined-only --format=posix "$1" | awk '{print $1}')
strangers=$(grep -vE '^(_ZN[KVRO]*6troupe|_ZT[ISV](P[KV]*)?N6troupe|_ZT[hv].*_NK?6troupe|_ZTCN6troupe|_ZG?V?ZNK?6troupe|_ZGVN6troupe|troupe_)' \
  <<<"$exports" || true)

printf '%d symbols exported\n' "$(wc -l <<<"$exports")"
c++filt <<<"$exports" | sort
if [[ -n $strangers ]]; then
  printf '\nthese are not ours to export:\n'
  c++filt <<<"$strangers"
  exit 1
fi
