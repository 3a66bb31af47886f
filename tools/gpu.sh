# The commands of ./dev that concern machines with a GPU; a part of that script.
#
# Such a machine may have no network and not everything that a build needs. `gpu-pack` builds here
# and puts the programs for it into build/gpu, which finds its parts relative to itself, and that
# into build/gpu.tar.xz, which you bring along. There, `gpu-test` and `gpu-bench` use it if it was built
# from the sources beside it, and otherwise build from those. Both run unattended, keep their findings
# so far when they are ended, and print a verdict at the end.
# shellcheck shell=bash disable=SC2154 # root and packages_build are the other's

gpu_stage=$root/build/gpu
gpu_archive=$root/build/gpu.tar.xz
gpu_results=$(realpath -m "${OUT:-$root/build/gpu-results}")
# The parts of gpu-test and the programs that each needs; "conformance" stands for those of all libraries.
declare -A gpu_parts=(
  [conformance]=conformance
  [recorded]=conformance
  [device]='device_test device_freeze_test plugin_test example_plugin rng_stream_test gpu_mapping worked_example_test digits'
  [python]=''
  [generation]=''
  [faults]='gpu_faults plugin_test'
  [history]=gpu_history
  [journal]='gpu_journal digits_journal'
  [worlds_figures]='bench_gpu_collective bench_gpu_data_parallel'
  [worlds_losses]=gpu_worlds
  [worlds_conformance]='collective_conformance worlds_test'
  [worlds]='bench_gpu_collective bench_gpu_data_parallel gpu_worlds collective_conformance worlds_test'
  [sanitizer]=conformance
  [limits]=conformance
)

# A name for the contents of everything that is built. The same wherever the files are the same: it
# does not depend on their order, times and rights, the locale and files that tools leave behind.
gpu_fingerprint() {
  (cd "$root" && find CMakeLists.txt CMakePresets.json cmake include src tests bench examples \
    -name '.*' -prune -o -name __pycache__ -prune -o \
    -type f ! -name '*.pyc' ! -name '*.swp' ! -name compile_commands.json -print0 |
    LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c1-16)
}

# Those that measure a GPU; each brings its plain-CUDA floor along.
gpu_benchmarks() { grep '^gpu_' "$1/benchmarks.txt"; }

# The conformance programs, one of each library.
gpu_conformance() { sed 's/$/_conformance/' "$1/libraries.txt"; }

# gpu_names FOLDER [PART|BENCHMARK...]: the programs of those; without any, of all. `faults` measures
# whatever backend there is, so a rehearsal has something to measure; `runtime` and `device` concern the
# CPU alone.
gpu_names() {
  local from=$1 one name wanted=("${@:2}")
  ((${#wanted[@]} > 0)) || mapfile -t wanted < <(printf '%s\n' "${!gpu_parts[@]}" && gpu_benchmarks "$from")
  {
    printf '%s\n' troupe hello bench_faults
    for one in "${wanted[@]}"; do
      if [[ -z ${gpu_parts[$one]+known} ]]; then
        printf 'bench_%s\n' "$one"
        continue
      fi
      for name in ${gpu_parts[$one]}; do
        if [[ $name == conformance ]]; then gpu_conformance "$from"; else printf '%s\n' "$name"; fi
      done
    done
  } | LC_ALL=C sort -u
}

# gpu_build [PART|BENCHMARK...]
# shellcheck disable=SC2120 # gpu-pack gives some
gpu_build() {
  local targets
  mapfile -t targets < <(gpu_names "$(folder_of gpu)" "$@" | sed 's/^/bin\//')
  build gpu troupe-telemetry "${targets[@]}"
}

# On the machine with a GPU ----------------------------------------------------------------------

gpu_missing_for_build() {
  local tool header
  for tool in cmake ninja g++ nvcc; do
    type "$tool" >/dev/null 2>&1 || printf '%s\n' "$tool"
  done
  type g++ >/dev/null 2>&1 || return 0
  for header in boost/random/sobol.hpp fmt/core.h gtest/gtest.h openssl/sha.h zlib.h; do
    g++ -E -x c++ -include "$header" /dev/null >/dev/null 2>&1 || printf '%s\n' "$header"
  done
  compgen -G '/usr/lib/*/libopenblas64.a' >/dev/null ||
    compgen -G '/usr/lib/*/openblas64-pthread/libopenblas64.a' >/dev/null ||
    printf 'libopenblas64.a (OpenBLAS with 64-bit integers)\n'
  [[ -e /usr/include/eigen3/Eigen/SparseCore ]] || printf 'Eigen 3.4 (libeigen3-dev)\n'
  compgen -G '/usr/lib/*/libfftw3f.a' >/dev/null || printf 'libfftw3.a and libfftw3f.a (FFTW 3)\n'
  compgen -G '/usr/lib/*/libdnnl.so' >/dev/null || printf 'libdnnl.so (oneDNN)\n'
}

# Unpacks build/gpu from the archive brought along, unless it is unpacked already.
gpu_unpack() {
  [[ -s $gpu_archive ]] || return 0
  tar -xJO --occurrence=1 -f "$gpu_archive" MANIFEST | cmp -s - "$gpu_stage/MANIFEST" && return 0
  rm -rf "$gpu_stage"
  mkdir -p "$gpu_stage"
  tar -C "$gpu_stage" -xJf "$gpu_archive"
}

gpu_manifest() { sed -n "s/^$1 //p" "$gpu_stage/MANIFEST" 2>/dev/null || true; }

# True on a machine with a GPU and with an archive built from these sources.
gpu_is_packed() {
  type nvidia-smi >/dev/null 2>&1 && gpu_unpack && [[ -s $gpu_stage/MANIFEST ]] &&
    [[ $(gpu_manifest sources) == "$(gpu_fingerprint)" ]]
}

# Sets `programs` to the folder whose bin/ holds the programs: the packed ones, if they are of
# these sources, else newly built ones. `gpu_sources` and `gpu_built_from` name their sources.
gpu_prepare() {
  step='looking for the programs'
  local staged missing list
  gpu_sources=$(gpu_fingerprint)
  gpu_unpack
  staged=$(gpu_manifest sources)
  if [[ $staged == "$gpu_sources" ]]; then
    say "using build/gpu, packed from these sources ($gpu_sources)"
    programs=$gpu_stage
    gpu_built_from=$(gpu_manifest commit)
  else
    if [[ -n $staged ]]; then
      say "build/gpu was packed from other sources ($staged, these are $gpu_sources): building"
    else
      say 'nothing is packed in build/gpu: building'
    fi
    mapfile -t missing < <(gpu_missing_for_build)
    if ((${#missing[@]} > 0)); then
      list=$(printf ', %s' "${missing[@]}")
      give_up "cannot build here without ${list:2}; run ./dev gpu-pack where they are, and bring build/gpu.tar.xz along"
    fi
    configure gpu
    gpu_build
    programs=$(folder_of gpu)
    gpu_built_from=$(gpu_commit)
  fi
  [[ $TROUPE_BACKEND == cpu ]] || gpu_find_cublas
}

# The programs look in /usr/local/cuda; a toolkit elsewhere is looked for here.
gpu_find_cublas() {
  local folder
  ldd "$programs"/lib/troupe/libtroupe-cuda-*.so 2>/dev/null | grep -q 'not found' || return 0
  for folder in /usr/local/cuda*/{lib64,targets/*/lib} /opt/*/lib64 \
    /usr/lib/*-linux-gnu /{usr/lib,usr/local/lib,opt}/*/lib/python3*/site-packages/nvidia/cu13/lib; do
    [[ -e $folder/libcublas.so.13 ]] || continue
    export LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    say "cuBLAS is in $folder"
    return
  done
  say 'no libcublas.so.13 is found: what needs cuBLAS will fail'
}

# Refuses to go on without a GPU, unless a rehearsal on the CPU is asked for. Sets `gpu_card`.
gpu_require_card() {
  local asked=name,driver_version,memory.used,memory.total,ecc.errors.uncorrected.volatile.total
  export TROUPE_BACKEND=${TROUPE_BACKEND:-cuda}
  case $TROUPE_BACKEND in
    cpu)
      gpu_card='none: a rehearsal on the CPU'
      say "TROUPE_BACKEND=cpu: a rehearsal, on the CPU"
      return
      ;;
    cuda) ;;
    *) give_up "TROUPE_BACKEND is $TROUPE_BACKEND; it may be cuda or cpu" ;;
  esac
  type nvidia-smi >/dev/null 2>&1 ||
    give_up 'no nvidia-smi, so no GPU; TROUPE_BACKEND=cpu rehearses'
  gpu_card=$(nvidia-smi --query-gpu=$asked --format=csv,noheader | paste -sd';') ||
    give_up 'nvidia-smi finds no GPU'
  say "$gpu_card"
}

# TEXT as a string of JSON.
gpu_quoted() {
  local text=${1//\\/\\\\}
  text=${text//\"/\\\"}
  printf '"%s"' "$(tr '\t' ' ' <<<"$text" | tr -d '\000-\037')"
}

# gpu_begin NAME: opens $gpu_results/NAME.log and the list of programs run.
gpu_begin() {
  mkdir -p "$gpu_results"
  gpu_what=$1
  gpu_log=$gpu_results/$1.log
  gpu_runs=() gpu_failed=()
  gpu_scratch=$(mktemp -d) # for files that a program leaves in its folder, such as a core file
  {
    printf '%s\nsources %s, commit %s\n\n' "$gpu_card" "$gpu_sources" "$gpu_built_from"
    timeout 60 "$programs/bin/troupe" info 2>&1 || true
    printf '\n'
  } >"$gpu_log"
  gpu_write_runs
}

# $gpu_results/NAME.json: the machine, and each run so far.
gpu_write_runs() {
  {
    printf '{"card": %s, "backend": "%s",\n "sources": "%s", "commit": %s,\n "runs": [' \
      "$(gpu_quoted "$gpu_card")" "$TROUPE_BACKEND" "$gpu_sources" \
      "$(gpu_quoted "$gpu_built_from")"
    local run separator=
    for run in "${gpu_runs[@]}"; do
      printf '%s\n  %s' "$separator" "$run"
      separator=,
    done
    printf '\n]}\n'
  } >"$gpu_results/$gpu_what.json"
}

# The last lines of the output on stdin that say how many there were, of whatever program.
gpu_note() {
  local gtest='^\[ +(PASSED|SKIPPED|FAILED) +\] [0-9]+ test|requests on the device'
  local ours='^(faults|history|journal|worlds|demo): (ok|FAILED|lost)|^limit: |targets met|ERROR SUMMARY|[0-9]+ passed'
  grep -aE "$gtest|$ours" | tail -n 3 | tr -d '=[]' | tr -s ' ' |
    sed 's/^ //; s/, listed below:$//; s/, [0-9]* failed$//; s/\.$//; s/$/; /' | tr -d '\n' |
    sed 's/; $//' | cut -c1-300
}

# The tests that failed in the output on stdin, as their program names them at its end.
gpu_failed_tests() {
  grep -aoE '^\[  FAILED  \] [A-Za-z0-9_/]+\.[A-Za-z0-9_/]+' | sort -u | head -n 40 | cut -c14- |
    paste -sd, | sed 's/,/, /g'
}

# gpu_run [--live] NAME SECONDS COMMAND...: runs it, says how it went, keeps its output in the log;
# with --live shows it as it comes.
gpu_run() {
  local live=
  [[ $1 != --live ]] || { live=1 && shift; }
  local name=$1 limit=$2 begin=$SECONDS status=0 offset pid seconds output
  shift 2
  printf '==== %s: %s\n' "$name" "$*" >>"$gpu_log"
  offset=$(($(stat -c %s "$gpu_log") + 1))
  [[ -n $live ]] || printf '%-34s ' "$name"
  # In files and never through a pipe: a worker that is left over would keep one open.
  (ulimit -c 0 && cd "$gpu_scratch" && exec timeout --kill-after=10 "$limit" "$@") >>"$gpu_log" 2>&1 &
  pid=$!
  # shellcheck disable=SC2064 # this very process
  trap "kill $pid 2>/dev/null; exit 130" INT TERM
  if [[ -n $live ]]; then
    tail --pid="$pid" --sleep-interval=0.2 -f -c "+$offset" "$gpu_log" | sed -u 's/^/    /'
  fi
  wait "$pid" || status=$?
  trap - INT TERM
  seconds=$((SECONDS - begin))
  output=$gpu_scratch/output
  tail -c "+$offset" "$gpu_log" >"$output"
  [[ -z $live ]] || printf '%-34s ' "$name"
  gpu_report "$name" "$limit" "$status" "$seconds" "$output" "$live"
}

# gpu_report NAME LIMIT STATUS SECONDS OUTPUT [LIVE]: how it went, after its name on the terminal.
gpu_report() {
  local name=$1 status=$3 output=$5 note failed=
  note=$(gpu_note <"$output" || true)
  # A filter that matches nothing would pass.
  ((status != 0)) || ! grep -aqE '^\[=+\] 0 tests' "$output" || status=1
  ((status != 124 && status != 137)) || note="not done after $2 s"
  printf '==== status %s\n\n' "$status" >>"$gpu_log"
  if ((status == 0)); then
    printf 'ok      %4d s  %s\n' "$4" "$note"
  else
    printf 'FAILED  %4d s  status %d  %s\n' "$4" "$status" "$note"
    gpu_failed+=("$name")
    failed=$(gpu_failed_tests <"$output" || true)
    if [[ -z ${6:-} ]]; then
      [[ -z $failed ]] || printf '    failed: %s\n' "$failed"
      { grep -aA4 'Failure$' "$output" || true; } | head -n 10 | sed 's/^/    | /'
      tail -n 8 "$output" | sed 's/^/    | /'
    fi
  fi
  gpu_runs+=("{\"name\": $(gpu_quoted "$name"), \"status\": $status, \"seconds\": $4, \"note\": $(gpu_quoted "$note")${failed:+, \"failed\": $(gpu_quoted "$failed")}}")
  gpu_write_runs
}

# gpu_run_beside NAME SECONDS COMMAND...: starts it beside others, two fewer at once than there are
# processors; gpu_wait says how each went.
gpu_beside=()
gpu_run_beside() {
  local at=$gpu_scratch/beside/${#gpu_beside[@]} most=$(($(nproc) > 3 ? $(nproc) - 2 : 1))
  trap gpu_stop_beside INT TERM
  while (($(jobs -rp | wc -l) >= most)); do wait -n || true; done
  mkdir -p "$at"
  gpu_beside+=("$1" "$2")
  printf '%s\n' "${*:3}" >"$at/command"
  (
    trap 'kill "$pid" 2>/dev/null' TERM
    begin=$SECONDS
    status=0
    (ulimit -c 0 && cd "$at" && exec timeout --kill-after=10 "${@:2}") >"$at/output" 2>&1 &
    pid=$!
    wait "$pid" || status=$?
    wait "$pid" 2>/dev/null || true # the first one ends at a signal
    printf '%s %s\n' "$status" $((SECONDS - begin)) >"$at/end"
  ) &
}

# Ends what runs beside others, and keeps what has ended.
gpu_stop_beside() {
  local pids
  trap - INT TERM
  mapfile -t pids < <(jobs -rp)
  kill "${pids[@]}" 2>/dev/null || true
  gpu_wait
  exit 130
}

gpu_wait() {
  local i at status seconds
  wait
  for ((i = 0; i < ${#gpu_beside[@]}; i += 2)); do
    at=$gpu_scratch/beside/$i
    read -r status seconds <"$at/end"
    { printf '==== %s: ' "${gpu_beside[i]}" && cat "$at/command" "$at/output"; } >>"$gpu_log"
    printf '%-34s ' "${gpu_beside[i]}"
    gpu_report "${gpu_beside[i]}" "${gpu_beside[i + 1]}" "$status" "$seconds" "$at/output"
  done
  gpu_beside=()
  trap - INT TERM
}

# The verdict on all that was run.
gpu_end() {
  local log=${gpu_log#"$root"/} list
  rm -rf "$gpu_scratch"
  if ((${#gpu_failed[@]} > 0)); then
    list=$(printf ', %s' "${gpu_failed[@]}")
    give_up "${#gpu_failed[@]} of ${#gpu_runs[@]} runs: ${list:2}; see $log"
  fi
  step=
  verdict "ok, ${#gpu_runs[@]} runs; $log"
}

# gpu-bench [NAME[=ARGUMENT]...] ------------------------------------------------------------------

# $gpu_results/figures.json: the figures that benchmarks have written so far, by name.
gpu_write_figures() {
  local name
  {
    printf '{"card": %s, "sources": "%s", "commit": %s' "$(gpu_quoted "$gpu_card")" \
      "$gpu_sources" "$(gpu_quoted "$gpu_built_from")"
    for name in "${measured[@]}"; do
      printf ',\n"%s": ' "$name"
      cat "$gpu_scratch/$name.json"
    done
    printf '}\n'
  } >"$gpu_results/figures.json"
}

command_gpu-bench() {
  local asked=("$@") one name argument peer programs='' measured=() python=${PYTHON:-python3}
  gpu_require_card
  gpu_prepare
  if ((${#asked[@]} == 0)); then
    # Without a GPU the others cannot run; `faults` shows that the way is clear.
    if [[ $TROUPE_BACKEND == cpu ]]; then
      asked=(faults)
    else
      mapfile -t asked < <(gpu_benchmarks "$programs")
    fi
  fi
  for one in "${asked[@]}"; do
    [[ -x $programs/bin/bench_${one%%=*} ]] ||
      give_up "no benchmark ${one%%=*}; there are $(gpu_benchmarks "$programs" | paste -sd' ') faults"
  done
  gpu_begin gpu-bench
  for one in "${asked[@]}"; do
    name=${one%%=*}
    argument=()
    [[ $one != *=* ]] || argument=("${one#*=}")
    step="measuring $name"
    say "$step"
    rm -f "$gpu_scratch/$name.json"
    gpu_run --live "$name" 400 env TROUPE_BENCH_JSON="$gpu_scratch/$name.json" \
      "$programs/bin/bench_$name" "${argument[@]}"
    [[ ! -s $gpu_scratch/$name.json || " ${measured[*]} " == *" $name "* ]] || measured+=("$name")
    gpu_write_figures
    peer=$root/bench/gpu/torch/${name#gpu_}_torch.py
    if [[ -f $peer ]] && "$python" -c 'import torch' 2>/dev/null; then
      gpu_run --live "$name in PyTorch" 200 env TROUPE_BENCH_OURS="$gpu_scratch/$name.json" "$python" "$peer"
    fi
  done
  gpu_end
}
