#!/usr/bin/env bash
# lapack_test.sh LIBRARY TESTERS LETTER [INPUT…]: runs netlib's testing programs for the type with this
# letter (s d c z) with LIBRARY before their LAPACK, on all inputs or on these. TESTERS is where the
# programs lie. Every routine must have become requests, and every test must pass. A threshold that
# LAPACK misses on this machine, too, is not Troupe's fault: if one is missed, the program runs once
# more without LIBRARY, and in each group of tests LAPACK must have missed as many, and by as much.
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

# missed OUTPUT: a line for each group with tests that missed its threshold: group, number, largest ratio.
missed() {
  awk '/(test\( *[0-9]+\) *=|result +[0-9]+ is) / {
         ratio = $NF ~ /^[0-9.E+-]+$/ ? $NF + 0 : 1e300  # NaN, or wider than its field
         if (ratio > largest) largest = ratio
       }
       /failed to pass the threshold/ { split($0, part, /: */); split(part[2], count, " ")
                                        sub(/^ +/, "", part[1]); print part[1] "\t" count[1] "\t" largest }
       /passed? the threshold/ { largest = 0 }' "$1"
}

# test_program PROGRAM INPUT OUTPUT [VARIABLE=VALUE]
test_program() {
  sed "s/@/${letter^^}/" "$inputs/$2.in" | env "${@:4}" "$testers/$1" >"$3"
}

# no_more_than_lapack PROGRAM INPUT: whether LAPACK alone misses as much as is missed in $folder/INPUT.out.
no_more_than_lapack() {
  local group count ratio alone=$folder/$2.alone good=0
  test_program "$1" "$2" "$alone" 2>/dev/null || true
  while IFS=$'\t' read -r group count ratio; do
    if missed "$alone" | awk -F'\t' -v group="$group" -v count="$count" -v ratio="$ratio" '
         $1 == group && $2 >= count && $3 >= ratio { found = 1; print "LAPACK alone misses " $2 ", by up to " $3 }
         END { exit !found }'; then
      printf '%s: %s missed, by up to %s: no failure\n' "$group" "$count" "$ratio"
    else
      printf '%s: %s missed, by up to %s; LAPACK alone does not\n' "$group" "$count" "$ratio"
      good=1
    fi
  done < <(missed "$folder/$2.out")
  return "$good"
}

# run PROGRAM INPUT ROUTINE…: the routines that the input must reach, without the type's letter.
run() {
  local program=$1 input=$2 routine
  local out=$folder/$input.out err=$folder/$input.err
  shift 2
  printf '%s < %s.in\n' "$program" "$input"
  if ! test_program "$program" "$input" "$out" LD_PRELOAD="$library" 2>"$err"; then
    printf 'it did not end well\n'
    failed=1
  fi
  # There is a line for each group that passed. One that did not has lines for its tests before.
  grep -E 'passed the t' "$out" || failed=1
  if grep -q 'failed to pass the threshold' "$out" && ! no_more_than_lapack "$program" "$input"; then
    grep -E '(test\(|result ).*[0-9]|failed to pass' "$out" | head -n 30
    failed=1
  fi
  # An "error bound" is what a test that missed its threshold compares with.
  if grep -vE 'passed the t|failed to pass the threshold|error bound|\(backward error\)|tests error exits' "$out" |
    grep -E 'fail|\*\*\*|[Ee]rror|not detected|not recognized' | head -n 30 | grep .; then
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
