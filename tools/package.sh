# The command of ./dev that makes what is given to users: a wheel and Debian packages; a part of that
# script.
#
# Both come from one build: the components of the installation are put into a wheel by its own tools,
# and into Debian packages by CPack (cmake/package.cmake). They are then tried in a new Debian system
# that has nothing else, where this user may make one.
# shellcheck shell=bash disable=SC2154 # root and packages_build are the other's

packages_package=(dpkg-dev fakeroot)
packages_bare=(mmdebstrap)

# environment NAME: a virtual environment in build/ with the packages of tools/requirements/NAME.txt.
environment() {
  local folder=$root/build/$1-env list=$root/tools/requirements/$1.txt
  need "${packages_python[@]}"
  cmp -s "$list" "$folder/requirements.txt" && return 0
  step="installing the packages of ${list#"$root/"}"
  say "$step"
  python3 -m venv --clear "$folder"
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check -r "$list"
  cp "$list" "$folder/requirements.txt"
}

# make_wheel PRESET: the wheel's Python files and metadata, to which the installation is added.
make_wheel() {
  local scratch=$root/build/package/wheel tools=$root/build/package-env/bin excluded=() library
  rm -rf "$scratch"
  "$(python_of)" -m pip wheel "$root" --quiet --no-deps --no-build-isolation --wheel-dir "$scratch" \
    --config-settings wheel.cmake=false --config-settings wheel.platlib=true
  "$tools/python" -m wheel unpack --dest "$scratch" "$scratch"/*.whl >/dev/null
  rm "$scratch"/*.whl
  for library in runtime cuda python; do
    cmake --install "$(folder_of "$1")" --strip --component "$library" \
      --prefix "$(echo "$scratch"/troupe_gpu-*)/troupe" >/dev/null
  done
  rm "$scratch"/troupe_gpu-*/troupe/lib/libtroupe.so # a wheel has no links: it would be a copy
  "$tools/python" -m wheel pack --dest "$scratch" "$scratch"/troupe_gpu-* >/dev/null
  # NVIDIA's libraries are found in the toolkit, the system, or wheels of theirs.
  for library in cublas cublasLt cudnn cufft curand cusolver cusparse nvJitLink nvrtc cuda; do
    excluded+=(--exclude "lib$library.so.*")
  done
  PATH=$tools:$PATH auditwheel repair "${excluded[@]}" --wheel-dir "$root/build/package" \
    "$scratch"/*.whl >"$root/build/package/auditwheel.log" 2>&1
  rm -rf "$scratch"
}

# In a new Debian 12 the packages bring everything that a C++ program and `troupe` need, and the wheel
# everything that README's pages need but NumPy.
try_packages() {
  local folder=$root/build/package/bare
  rm -rf "$folder"
  mkdir -p "$folder"
  cp "$root"/build/package/*.{deb,whl} "$folder"
  cp "$(folder_of "$1")/bin/hello" "$root/tools/follow_pages.py" "$root/README.md" \
    "$root/docs/python/first-model.md" "$root/tools/try_packages.sh" "$folder"
  mmdebstrap --quiet --variant=apt --include=python3-venv,python3-numpy,ca-certificates \
    --customize-hook="mkdir \"\$1/try\"" --customize-hook="copy-in $folder/. /try" \
    --customize-hook='chroot "$1" sh /try/try_packages.sh' bookworm /dev/null \
    >"$root/build/package/bare.log" 2>&1 || {
    tail -n 30 "$root/build/package/bare.log"
    return 1
  }
  grep '^tried: ' "$root/build/package/bare.log"
  rm -rf "$folder"
}

# package [PRESET]: default release.
command_package() {
  local preset=${1:-release}
  need "${packages_build[@]}" "${packages_package[@]}"
  prepare_python
  environment package
  build_python "$preset"
  build "$preset" hello
  rm -rf "$root/build/package"
  mkdir -p "$root/build/package"
  step='making Debian packages'
  say "$step"
  (cd "$root/build/package" && cpack --config "$(folder_of "$preset")/CPackConfig.cmake" -B . >cpack.log)
  rm -rf "$root/build/package/_CPack_Packages"
  step='making the wheel; see build/package/auditwheel.log'
  say 'making the wheel'
  make_wheel "$preset"
  if ((EUID == 0)); then
    need "${packages_bare[@]}"
    step='trying the packages in a new Debian system; see build/package/bare.log'
    say 'trying the packages in a new Debian system'
    try_packages "$preset"
  else
    say 'not root: the packages are not tried in a new Debian system'
  fi
  verdict "ok: $(cd "$root" && echo build/package/*.{deb,whl})"
}
