# The command gpu-pack of ./dev; a part of that script, after gpu.sh.
# shellcheck shell=bash disable=SC2034,SC2154 # names of the others, which read `step`

# Files that travel with a working tree have a limit, and the sources travel too. Most of it is OpenBLAS,
# for the CPU backend, which conformance asks what there is to test.
gpu_archive_limit_mib=50

# The libraries of the system that FILE... need and that another machine may lack: not the C and
# C++ runtimes, which are upwards compatible, and nothing of CUDA, which is there.
gpu_needed_libraries() {
  ldd "$@" 2>/dev/null |
    sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | LC_ALL=C sort -u |
    awk -v own="$root/" 'index($0, own) != 1 &&
      !/\/lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|cu[^\/]*|nvidia[^\/]*|nvJitLink)\.so/'
}

# The commit that was packed, as far as git knows it.
gpu_commit() {
  git -C "$root" describe --always --dirty --exclude '*' 2>/dev/null || printf 'unknown\n'
}

command_gpu-pack() {
  need "${packages_build[@]}"
  local from sources name names
  for name in "$@"; do
    [[ $name =~ ^gpu_ || -n ${gpu_parts[$name]+known} ]] ||
      give_up "$name is neither a benchmark of a GPU nor a part of gpu-test (${!gpu_parts[*]})"
  done
  [[ -n ${CUDACXX:-} ]] || type nvcc >/dev/null 2>&1 ||
    give_up 'no CUDA compiler: nvcc is not on the PATH, and CUDACXX says nothing'
  from=$(folder_of gpu)
  sources=$(gpu_fingerprint)
  configure gpu
  gpu_build "$@"
  step='staging build/gpu'
  say 'staging build/gpu'
  rm -rf "$gpu_stage"
  mkdir -p "$gpu_stage"/{bin,lib/plugins,lib/troupe,libexec/troupe}
  mapfile -t names < <(gpu_names "$from" "$@")
  for name in "${names[@]}"; do
    cp "$from/bin/$name" "$gpu_stage/bin/"
  done
  cp "$from"/lib/libtroupe{,-telemetry}.so.0 "$gpu_stage/lib/" # the names that programs ask for
  cp "$from"/lib/troupe/*.so "$gpu_stage/lib/troupe/"
  cp "$from"/lib/plugins/*.so "$gpu_stage/lib/plugins/" # as users have them
  cp "$from"/libexec/troupe/troupe-{worker,compiler} "$gpu_stage/libexec/troupe/"
  gpu_needed_libraries "$gpu_stage"/{bin,libexec/troupe,lib/plugins,lib/troupe}/* "$gpu_stage"/lib/*.so* |
    xargs -r cp -L -t "$gpu_stage/lib/"
  find "$gpu_stage" -type f -exec strip --strip-unneeded {} +
  printf '%s\n' "${names[@]}" | sed -n 's/^bench_//p' >"$gpu_stage/benchmarks.txt"
  cp "$from/libraries.txt" "$gpu_stage/"
  [[ $(gpu_fingerprint) == "$sources" ]] ||
    give_up 'the sources have changed meanwhile; run ./dev gpu-pack again'
  printf 'sources %s\ncommit %s\n' "$sources" "$(gpu_commit)" >"$gpu_stage/MANIFEST"
  local mib
  step='packing build/gpu.tar.xz'
  XZ_OPT=-T0 tar -C "$gpu_stage" -cJf "$gpu_archive" MANIFEST bin lib libexec benchmarks.txt libraries.txt
  mib=$((($(stat -c %s "$gpu_archive") + 1048575) / 1048576))
  ((mib <= gpu_archive_limit_mib)) ||
    give_up "build/gpu.tar.xz takes $mib MiB, more than $gpu_archive_limit_mib"
  verdict "ok, build/gpu.tar.xz, $mib MiB, of sources $sources"
}
