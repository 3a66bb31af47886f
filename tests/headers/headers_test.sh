#!/usr/bin/env bash
# headers_test.sh COMPILER INCLUDE_DIR [HEADER]: every public header compiles alone, included
# twice, without a warning, and names no third-party header. Prints how long each takes to include.
#
# With a header only that one; `./dev check` takes all.
set -euo pipefail

compiler=$1 include=$2 only=${3:-*.hpp}
flags=(-std=c++20 -fsyntax-only -Wall -Wextra -Wconversion -Wsign-conversion -Wshadow -Werror
       -I "$include" -x c++)

check() {
  local header=$1 start seconds
  start=${EPOCHREALTIME/./}
  if ! printf '#include <%s>\n#include <%s>\n' "$header" "$header" |
    "$compiler" "${flags[@]}" -; then
    printf 'FAILED  %s\n' "$header"
    return 1
  fi
  seconds=$((${EPOCHREALTIME/./} - start))
  printf '%d.%02d s  %s%s\n' $((seconds / 1000000)) $((seconds % 1000000 / 10000)) "$header" \
    "$( ((seconds < 300000)) || printf '  (over 0.3 s)')"
}

failed=0
cd "$include"
while read -r header; do
  check "$header" || failed=1
done < <(find troupe -path "troupe/$only" | sort)
if grep -rnE '#include <(fmt|cuda|cublas|cudnn|boost|gtest|zlib|cblas)' troupe; then
  printf 'FAILED  a public header includes a third-party header\n'
  failed=1
fi
exit "$failed"
