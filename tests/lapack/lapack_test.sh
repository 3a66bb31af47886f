#!/usr/bin/env bash
# lapack_test.sh LIBRARY TESTERS LETTER [INPUT…]: runs netlib's testing programs for the type with this
# letter (s d c z) with LIBRARY before their LAPACK, on all inputs or on these. TESTERS is where the
# programs lie. Every test must pass, and every routine must have become requests.
set -euo pipefail

library=$(realpath "$1")
testers=$2
letter=$3
shift 3
(($# > 0)) || set -- linear refined svd symmetric generalised eigen
inputs=${TROUPE_LAPACK_INPUTS:-$(dirname "$(readlink -f "$0")")/inputs}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
un=or he=sy
[[ $letter == [cz] ]] && un=un he=he
failed=0

# run PROGRAM INPUT ROUTINE…: the routines that the input must reach, without the type's letter.
run() {
  local program=$1 input=$2 routine
  local out=$folder/$input.out err=$folder/$input.err
  shift 2
  printf '%s < %s.in\n' "$program" "$input"
  if ! sed "s/@/${letter^^}/" "$inputs/$input.in" |
    LD_PRELOAD=$library "$testers/$program" >"$out" 2>"$err"; then
    printf 'it did not end well\n'
    failed=1
  fi
  # There is a line for each group that passed. One that did not has lines for its tests before.
  grep -E 'passed the t' "$out" || failed=1
  if grep -vE 'passed the t' "$out" | grep -qE 'fail|\*\*\*|[Ee]rror|not detected|not recognized'; then
    grep -E '=.*(ratio|result|test)|fail|\*\*\*|[Ee]rror|not detected|not recognized' "$out" | head -n 30
    failed=1
  fi
  grep -vE ' requested [0-9]+ passed on [0-9]+$' "$err" || true
  for routine in "$@"; do
    if ! grep -E "^$letter$routine requested [1-9]" "$err"; then
      printf '%s made no request\n' "$letter$routine"
      failed=1
    fi
  done
}

for input in "$@"; do
  case $input in
    linear)
      run "xlintst$letter" linear getrf getrs getri gesv potrf potrs potri posv trtri geqrf "${un}gqr" \
        "${un}mqr" gels gelsd gelss
      ;;
    refined)
      # In half the precision there is nothing to refine.
      case $letter in
        d) run xlintstds refined sgesv ;;
        z) run xlintstzc refined cgesv ;;
      esac
      ;;
    svd) run "xeigtst$letter" svd gesvd gesdd gesvj ;;
    symmetric) run "xeigtst$letter" symmetric "${he}ev" "${he}evd" "${he}evr" "${he}evx" ;;
    generalised) run "xeigtst$letter" generalised "${he}gv" "${he}gvd" ;;
    eigen) run "xeigtst$letter" eigen geev ;;
  esac
done
exit "$failed"
