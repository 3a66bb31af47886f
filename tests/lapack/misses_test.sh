#!/usr/bin/env bash
# misses_test.sh LIBRARY: whether lapack_test.sh tells a threshold that Troupe alone misses from one that
# LAPACK misses, too. A script stands for netlib's program; LIBRARY is any.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/xeigtstz" <<'PROGRAM'
#!/usr/bin/env bash
cat >/dev/null
printf ' ZST routines passed the tests of the error exits (176 tests done)\n'
if [[ -z ${LD_PRELOAD:-} ]]; then
  cat "${0%/*}/alone"
else
  printf 'z%s requested 1 passed on 0\n' heev heevd heevr heevx >&2
  cat "${0%/*}/with"
fi
PROGRAM
chmod +x "$folder/xeigtstz"

passed=' All tests for ZST drivers  passed the threshold ( 15552 tests run)'
# missing RATIO…
missing() {
  printf '    6: norm( X - XACT )   / ( norm(XACT) * (error bound) )\n'
  printf ' Matrix order=  100, type=10, seed=3951, 161, 269,4001, result  65 is%8s\n' "$@"
  printf ' ZST drivers:%7s out of  15552 tests failed to pass the threshold\n' "$#"
}
# expect STATUS WITH ALONE
expect() {
  local status=0
  printf '%s\n' "$2" >"$folder/with"
  printf '%s\n' "$3" >"$folder/alone"
  "$(dirname "$0")/lapack_test.sh" "$library" "$folder" z symmetric >"$folder/said" 2>&1 || status=$?
  ((status == $1)) && return
  printf 'status %s instead of %s with\n%s\nwhere LAPACK alone says\n%s\n' "$status" "$1" "$2" "$3"
  cat "$folder/said"
  exit 1
}

library=$1
expect 0 "$passed" "$passed"
expect 0 "$passed" "$(missing 66.64)"
expect 0 "$(missing 57.94)" "$(missing 66.64)"
expect 0 "$(missing 57.94 66.64)" "$(missing 66.64 50.01)"
expect 1 "$(missing 57.94)" "$passed"
expect 1 "$(missing 66.65)" "$(missing 66.64)"
expect 1 "$(missing 57.94 51.00)" "$(missing 66.64)"
expect 1 "$(missing NaN)" "$(missing 66.64)"
expect 1 "$(missing '********')" "$(missing 66.64)"
expect 1 "$(missing 57.94)" " ZSX drivers:      1 out of  15552 tests failed to pass the threshold"
expect 1 "$(printf ' *** Error code from ZHEEV =    3\n'; missing 57.94)" "$(missing 66.64)"
