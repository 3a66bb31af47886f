# The command gpu-test of ./dev: its parts, each a function; a part of that script, after gpu.sh.
# shellcheck shell=bash disable=SC2154 # root, programs and the functions gpu_… are the others'

# The tests for compute-sanitizer: it makes every access hundreds of times slower.
declare -A gpu_sanitized=(
  [memory]='MemoryFill.*:MemoryCopy.RepeatsWhere*:MemoryCopy.CopiesLongRows'
  [blas]='BlasLevel1.*:BlasReductions.Dot*:BlasReductions.Nrm2IsTheEuclideanNorm'
  [blaslt]='BlasltMatmul.TakesEveryShape:BlasltMatmul.ScalesRowsColumnsAndBlocks'
  [dnn]='*DnnConvolutionTo.TakesEdgesOfSpace*:*DnnConvolutionTo.WorksOnBlocks*'
  [elementwise]='ElementwiseMap.*:ElementwiseRows.*:ElementwiseReduce.Takes*:ElementwiseGatherRows*:ElementwiseScatterRows*:ElementwiseCumulate*'
  [fft]='FftComplexTransforms.WorkInPlace:FftRealTransforms.TakeAnyAlignment'
  [rng]='RngBits.PhiloxWords*:RngContinuous.UniformIsExactlyItsWords:RngPermutation.HasEachIndexOnce'
  [primitives]='PrimitivesSort.WorksInPlace:PrimitivesSelect.SaysHowMany*:PrimitivesReduce.CombinesEachSegment'
  [solver]='SolverLu.GesvSolves:SolverCholesky.PotrfFactors:SolverQr.*'
  [sparse]='SparseValidate.Says*:SparseConvert.ConvertsEvery*:SparseGather.*:SparseProducts.SpgemmTakes*:SparseTriangular.SolvesALong*'
  [tensors]='TensorsContract.RepeatsExtentOne:TensorsContract.OfNothing*:TensorsReduce.OfNothing*:TensorsEinsum.TakesRandomModes:TensorsPermute.Converts'
  [jit]='JitLaunch.RunsInstantiations*:JitLaunch.TakesStructs*:JitLaunch.CopiesTilesByTensorMaps'
)
gpu_sanitized[primitives]+=':PrimitivesScan.WorksInPlace:PrimitivesTopK.NeedsNoIndices:PrimitivesHistogram.FailsFor*'
gpu_sanitized[memory]+=':MemoryConvert.KeepsSixtyFourBits:MemoryConvert.TakesAnyShapeAndStrides'
gpu_sanitized[dnn]+=':DnnPooling.AveragesAdaptively:DnnLrn.*:DnnRnn.GradientsOfWeights*:DnnRnn.IsTheDefinitionForOneOf*:DnnRnnOnnx*'
gpu_sanitized[dnn]+=':DnnAttentionBackward.IsWhatDifferences*:DnnAttentionForward.OfAChunk*:DnnAttentionForward.OfAQuery*'
gpu_sanitized[blas]+=':BlasGemm.AcceptsEmptyAndOddSizes:BlasGemm.WorksOnBlocks*:BlasGeam.*'

# gpu-test [PART[=N]...] --------------------------------------------------------------------------

# Every library on workers that are processes, twice: with a seed that the tests draw and with the seed
# of the day. Three on workers that are threads. The longest are divided, and begin first.
gpu_test_conformance() {
  local library parts i seed
  seed=$(date +%Y%m%d)
  say "the seed of the day is $seed"
  for library in dnn $(grep -vx dnn "$programs/libraries.txt"); do
    parts=1
    [[ $library != dnn ]] || parts=4
    [[ $library != elementwise && $library != solver ]] || parts=2
    for ((i = 0; i < parts; ++i)); do
      gpu_conformance_part "$library" process "$i" "$parts"
      gpu_conformance_part "$library" process "$i" "$parts" "$seed"
      [[ ! $library =~ ^(memory|blas|dnn)$ ]] || gpu_conformance_part "$library" thread "$i" "$parts"
    done
  done
  gpu_wait
}

# Each request of the conformance tests also in a graph: called, recorded and launched, on the content
# that it had before. The longest are divided, and begin first. The logs say what was recorded.
gpu_test_recorded() {
  local library parts i
  for library in dnn $(grep -vx dnn "$programs/libraries.txt"); do
    parts=2
    [[ ! $library =~ ^(dnn|elementwise|solver|sparse)$ ]] || parts=6
    for ((i = 0; i < parts; ++i)); do
      gpu_conformance_part "$library" recorded "$i" "$parts"
    done
  done
  gpu_wait
}

# gpu_conformance_part LIBRARY RUNNER PART PARTS [SEED]
gpu_conformance_part() {
  local name="$1 by $2${5:+, seed $5}" given=(TROUPE_TEST_SEED="${5:-}")
  [[ -n ${5:-} ]] || given=()
  (($4 == 1)) || name+=", part $(($3 + 1)) of $4"
  gpu_run_beside "$name" 400 env "${given[@]}" GTEST_TOTAL_SHARDS="$4" GTEST_SHARD_INDEX="$3" \
    "$programs/bin/$1_conformance" --runner="$2" --gtest_brief=1
}

# In three programs at once, a third of the tests each: a test mostly waits for a driver that makes
# contexts. Prints their outputs, one after the other.
gpu_in_thirds() {
  local i status=0 pids=()
  for i in 0 1 2; do
    GTEST_TOTAL_SHARDS=3 GTEST_SHARD_INDEX=$i "$@" >"third-$i.log" 2>&1 &
    pids+=($!)
  done
  for i in "${pids[@]}"; do
    wait "$i" || status=1
  done
  cat third-?.log
  return "$status"
}
export -f gpu_in_thirds

gpu_test_device() {
  gpu_run device_test 590 bash -c 'gpu_in_thirds "$@"' thirds "$programs/bin/device_test" --gtest_brief=1
  gpu_run device_freeze_test 60 "$programs/bin/device_freeze_test" --gtest_brief=1
  gpu_run plugin_test 240 "$programs/bin/plugin_test" --gtest_brief=1
  gpu_run example_plugin 60 "$programs/bin/example_plugin" "$programs/lib/plugins/libimage.so"
  gpu_run rng_stream_test 120 "$programs/bin/rng_stream_test" --gtest_brief=1
  [[ ${TROUPE_BACKEND:-} == cpu ]] || gpu_run mapping 60 "$programs/bin/gpu_mapping"
  gpu_run worked_example_test 60 "$programs/bin/worked_example_test" --gtest_brief=1
  gpu_run demo 60 "$programs/bin/digits" "$root/examples/data/digits.csv.gz"
}

# The same tests as here, by the Python of that machine, beside whatever torch and CuPy it has. Its
# extension module is built there: it is one Python's. [TRIALS] of each fault in torch.
gpu_test_python() {
  local trials=${1:-2} package=$root/build/gpu-python python=${PYTHON:-python3}
  if ! "$python" -c 'import nanobind, numpy, pytest' 2>/dev/null; then
    say "python: left out, $python has no nanobind, NumPy or pytest"
    return
  fi
  gpu_python_package "$package" "$python"
  gpu_run python $((400 + trials * 15)) env TROUPE_TRIALS="$trials" PYTHONPATH="$package/python" \
    PYTHONDONTWRITEBYTECODE=1 TROUPE_BUILD="$programs" "$python" -m pytest -q -p no:cacheprovider "$root/python/tests"
}

# gpu_python_package FOLDER PYTHON: the extension module for this Python, beside links to the Python files.
gpu_python_package() {
  local package=$1 python=$2
  step='building the Python package'
  cmake -S "$root/python" -B "$package" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DTROUPE_LIBRARY="$programs/lib/libtroupe.so.0" \
    -DPython_EXECUTABLE="$(type -p "$python")" >>"$gpu_log" 2>&1
  cmake --build "$package" >>"$gpu_log" 2>&1
  link_python_files "$package"
}

# Generation: tokens a second beside PyTorch, and 64 streams with a fault each second for [SECONDS].
gpu_test_generation() {
  local seconds=${1:-60} package=$root/build/gpu-python python=${PYTHON:-python3}
  if ! "$python" -c 'import nanobind, numpy' 2>/dev/null; then
    say "generation: left out, $python has no nanobind or NumPy"
    return
  fi
  gpu_python_package "$package" "$python"
  gpu_run --live generation $((300 + seconds)) env PYTHONPATH="$package/python" PYTHONDONTWRITEBYTECODE=1 \
    "$python" "$root/python/bench/generation.py" "$seconds"
}

# [TRIALS] of each of 33 kinds: 100 s for two, on an H200.
gpu_test_faults() {
  local trials=${1:-3}
  gpu_run --live faults $((120 + trials * 60)) "$programs/bin/gpu_faults" --trials "$trials" \
    --keep-going --json "$gpu_results/faults.jsonl"
  gpu_run "faults of a plugin" $((60 + trials * 20)) "$programs/bin/plugin_test" --gtest_brief=1 \
    --gtest_filter="*CrashFailsItsRequestAndNoOther/${TROUPE_BACKEND^}" --gtest_repeat="$trials"
}

gpu_test_history() {
  local seconds=${1:-60}
  gpu_run --live history $((seconds + 130)) "$programs/bin/gpu_history" --seconds "$seconds" \
    --json "$gpu_results/history.jsonl"
}

# Requests that are replayed bit for bit and beside the CPU, and each kind of fault from its own journal.
gpu_test_journal() {
  local requests=${1:-10000} against=(--against cpu)
  [[ ${TROUPE_BACKEND:-} != cpu ]] || against=()
  gpu_run --live journal 500 "$programs/bin/gpu_journal" --requests "$requests" "${against[@]}"
  gpu_run digits_journal 240 "$root/examples/digits/journal/find_mistake.sh" "$programs" \
    "$root/examples/data/digits.csv.gz" "$gpu_results/digits.journal"
}

# Several devices as one, on however many GPUs there are, in the order of what is known least: figures,
# losses, conformance. Each part keeps to a time, and $gpu_results/worlds.json has what there is so far.
gpu_test_worlds() {
  gpu_test_worlds_figures
  gpu_test_worlds_losses "${1:-50}"
  gpu_test_worlds_conformance
}

# Each operation and type; orders, refusals, losses and limits of worlds.
gpu_test_worlds_conformance() {
  local i
  export TROUPE_TEST_GPU_WORLDS=1
  for i in 0 1 2 3; do
    gpu_conformance_part collective process "$i" 4
    gpu_run_beside "collective through the host, part $((i + 1)) of 4" 400 env TROUPE_TEST_APART=1 \
      GTEST_TOTAL_SHARDS=4 GTEST_SHARD_INDEX="$i" "$programs/bin/collective_conformance" --runner=process --gtest_brief=1
  done
  gpu_run_beside "worlds_test" 300 "$programs/bin/worlds_test" --gtest_brief=1
  gpu_wait
  gpu_write_worlds
}

# [TRIALS] faults of all kinds together, four times as many kills of one rank and of two at once, all
# ranks, workers that stop and kernels that never end, in the middle of sums; then kills in sums by NCCL.
gpu_test_worlds_losses() {
  local trials=${1:-50} kinds=5 each
  [[ $TROUPE_BACKEND != cpu ]] || kinds=2
  each=$(((trials + kinds - 1) / kinds))
  gpu_run --live worlds 330 "$programs/bin/gpu_worlds" --kills $((4 * trials)) --pairs $((4 * trials)) --all 5 \
    --stops 3 --hangs 10 --faults "$each" --seconds 300 --json "$gpu_results/worlds-losses.jsonl"
  gpu_write_worlds
  # NCCL refuses two ranks on one GPU.
  [[ $TROUPE_BACKEND == cpu ]] || (($(nvidia-smi --list-gpus | wc -l) < 2)) ||
    gpu_run --live "worlds by NCCL" 120 "$programs/bin/gpu_worlds" --transport nccl --kills "$trials" --faults 1 \
      --seconds 90 --json "$gpu_results/worlds-nccl.jsonl"
  gpu_write_worlds
}

# The table of 1 KiB to 256 MiB for each algorithm and NCCL, and the data-parallel step.
gpu_test_worlds_figures() {
  local name python=${PYTHON:-python3} peer
  for name in gpu_collective gpu_data_parallel; do
    gpu_run --live "$name" 240 env TROUPE_BENCH_JSON="$gpu_results/$name.json" "$programs/bin/bench_$name"
    gpu_write_worlds
    peer=$root/bench/gpu/torch/${name#gpu_}_torch.py
    if "$python" -c 'import torch' 2>/dev/null; then
      gpu_run --live "$name in PyTorch" 120 env TROUPE_BENCH_OURS="$gpu_results/$name.json" "$python" "$peer"
    fi
  done
}

# $gpu_results/worlds.json: figures and losses so far.
gpu_write_worlds() {
  local name
  {
    printf '{"card": %s, "sources": "%s", "commit": %s' "$(gpu_quoted "$gpu_card")" "$gpu_sources" "$(gpu_quoted "$gpu_built_from")"
    for name in gpu_collective gpu_data_parallel; do
      [[ ! -s $gpu_results/$name.json ]] || printf ',\n"%s": %s' "$name" "$(<"$gpu_results/$name.json")"
    done
    for name in worlds-losses worlds-nccl; do
      [[ ! -s $gpu_results/$name.jsonl ]] || printf ',\n"%s": [\n%s\n]' "$name" "$(paste -sd, "$gpu_results/$name.jsonl")"
    done
    printf '}\n'
  } >"$gpu_results/worlds.json"
}

# [SECONDS] at most for each run, two of each library. Runs in threads, so that the sanitizer sees
# the program itself.
gpu_test_sanitizer() {
  local limit=${1:-120} tool check library options
  if [[ $TROUPE_BACKEND == cpu ]]; then
    say 'sanitizer: left out, it looks at kernels only'
    return
  fi
  tool=$(type -p compute-sanitizer || compgen -G '/usr/local/cuda*/bin/compute-sanitizer' || true)
  tool=${tool%%$'\n'*}
  [[ -n $tool ]] || give_up 'no compute-sanitizer on the PATH nor in /usr/local/cuda*/bin'
  for library in $(<"$programs/libraries.txt"); do
    [[ -n ${gpu_sanitized[$library]:-} ]] || give_up "tools/gpu.sh names no tests of $library to sanitize"
    for check in memcheck initcheck; do
      options=(--tool "$check" --error-exitcode 9 --print-limit 20)
      # A call that is refused is seen by its caller, and some are made to find out: a kernel has as
      # many parameters as can be asked for.
      [[ $check == initcheck ]] || options+=(--report-api-errors no)
      gpu_run "$check of $library" "$limit" "$tool" "${options[@]}" \
        "$programs/bin/${library}_conformance" --runner=thread --gtest_brief=1 \
        --gtest_filter="${gpu_sanitized[$library]}"
    done
  done
}

# gpu_try_limit NAME HOW PROGRAM FILTER [VARIABLE=VALUE...]: runs its tests, which must pass, and if HOW
# is "tried" once more with the limit lifted, with three seeds at most, because not every case beyond a
# limit goes wrong. Each run is a process of its own, which may fault, and keeps no plans.
gpu_try_limit() {
  local name=$1 how=$2 status=0 reached='' show='/requests on the device/d; s/^/| /' as_it_is run seed
  run=(env "${@:5}" XDG_CACHE_HOME= HOME= timeout --kill-after=10 120 "$3" --runner=process --gtest_brief=1 --gtest_filter="$4")
  as_it_is=as-it-is-$(cksum <<<"${run[*]}" | tr ' ' -).log # limits have tests in common
  [[ -e $as_it_is ]] || { "${run[@]}" >"$as_it_is" 2>&1 && printf 'passed\n' >>"$as_it_is"; } || true
  if [[ $(tail -n 1 "$as_it_is") != passed ]] || grep -q '^\[=* *\] 0 tests' "$as_it_is"; then
    sed "$show" "$as_it_is"
    printf 'limit: cannot be tried, its tests fail as it is, or there are none\n'
    return 1
  fi
  if [[ $how != tried ]]; then
    printf 'limit: kept, its tests pass\n'
    return
  fi
  for seed in "$TROUPE_TEST_SEED" $((TROUPE_TEST_SEED + 1)) $((TROUPE_TEST_SEED + 2)); do
    TROUPE_TEST_SEED=$seed TROUPE_TEST_LIFT=$name "${run[@]}" >lifted.log 2>&1 || status=$?
    sed "$show" lifted.log
    ! grep -q "^lifted: $name\$" lifted.log || reached=1
    ((status == 0)) || break
  done
  if [[ -z $reached ]]; then
    printf 'limit: not tried, its tests do not reach it\n'
  elif ((status == 0)); then
    printf 'limit: lifted on this version, as far as three seeds show\n'
  else
    printf 'limit: still so, status %d with seed %s\n' "$status" "$seed"
  fi
}
export -f gpu_try_limit

# Tries each limit of vendors' libraries again. A limit that is lifted is a finding and no failure;
# tests that fail as they are make the verdict fail.
gpu_test_limits() {
  local name vendor how words
  export TROUPE_TEST_SEED=${TROUPE_TEST_SEED:-$(date +%Y%m%d)}
  say "seed $TROUPE_TEST_SEED"
  while read -r name vendor how words; do
    [[ $TROUPE_BACKEND == cpu ]] && [[ $vendor != oneDNN ]] && continue
    [[ $TROUPE_BACKEND == cuda ]] && [[ $vendor == oneDNN ]] && continue
    read -ra words <<<"$words" # variables, and the filter behind them
    gpu_run "limit $name" 500 bash -c 'gpu_try_limit "$@"' limit "$name" "$how" \
      "$programs/bin/${name%%.*}_conformance" "${words[-1]}" "${words[@]:0:${#words[@]}-1}"
  done < <("$programs/bin/troupe" info --limits |
    awk '/^  [a-z]+\./ { name = $1 " " $2 } /^    (tried|kept) / { print name, $0 }')
}

command_gpu-test() {
  local parts=("$@") part programs=
  local known='conformance, recorded, device, python[=TRIALS], generation[=SECONDS], faults[=TRIALS], history[=SECONDS], journal[=REQUESTS], worlds[=TRIALS], worlds_figures, worlds_losses[=TRIALS], worlds_conformance, sanitizer[=SECONDS], limits'
  ((${#parts[@]} > 0)) || parts=(conformance device python faults history sanitizer)
  for part in "${parts[@]}"; do
    [[ $part =~ ^(conformance|recorded|device|limits|worlds_figures|worlds_conformance|(python|generation|faults|history|journal|worlds|worlds_losses|sanitizer)(=[1-9][0-9]*)?)$ ]] ||
      give_up "no part $part; there are $known"
  done
  gpu_require_card
  gpu_prepare
  gpu_begin gpu-test
  for part in "${parts[@]}"; do
    step="testing ${part%%=*}"
    say "$step"
    case $part in
      *=*) "gpu_test_${part%%=*}" "${part#*=}" ;;
      *) "gpu_test_$part" ;;
    esac
  done
  gpu_end
}
