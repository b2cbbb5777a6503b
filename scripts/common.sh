# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts: where things are, how to configure and build.

fa3_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
fa3_build=${FA3_BUILD:-$fa3_root/build}
fa3_jobs=${FA3_JOBS:-$(nproc)}
# Several files at a time: a whole build takes half as long (10 instead of 21
# minutes on two cores), what one file's change costs is more.
fa3_unity=${FA3_UNITY:-ON}

# With paths relative to the checkout ccache answers other checkouts, too.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$fa3_root} CCACHE_NOHASHDIR=1
# Else it passes by whatever uses precompiled headers.
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}

# fa3_configure <build tree> <option>...: silent unless it fails.
fa3_configure() {
  local tree=$1 launcher=()
  shift
  if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache
              -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  mkdir -p "$tree"
  cmake -G Ninja -S "$fa3_root" -B "$tree" "${launcher[@]}" \
    -DCMAKE_UNITY_BUILD="$fa3_unity" "$@" \
    >"$tree/configure.log" 2>&1 || {
    cat "$tree/configure.log" >&2
    return 1
  }
}

# fa3_make <build tree> <target>...: shows what commands say, not that they run.
fa3_make() {
  local tree=$1
  shift
  ninja -C "$tree" -j "$fa3_jobs" --quiet "$@"
}

# fa3_build_released <target>...: what wheels and the archive are made of. With FA3_BUILT
# it is there, and somebody else may be using ninja in the build tree.
fa3_build_released() {
  [ -z "${FA3_BUILT:-}" ] || return 0
  fa3_configure "$fa3_build" -DFA3_WERROR=ON -DFA3_HARDENED=ON
  fa3_make "$fa3_build" "$@"
}

# fa3_python_tools <package>...: installs them in an environment of the build
# tree; its programs are in $fa3_python_bin.
fa3_python_bin=$fa3_build/python/tools/bin
fa3_python_tools() {
  [ -x "$fa3_python_bin/pip" ] || python3 -m venv "$fa3_build/python/tools"
  "$fa3_python_bin/pip" install -q "$@"
}

# fa3_wheel_tools: installs what scripts/wheel.sh runs, if it is not there.
fa3_wheel_tools() {
  if [ ! -x "$fa3_python_bin/auditwheel" ] || [ ! -x "$fa3_python_bin/twine" ]; then
    fa3_python_tools "scikit-build-core>=0.11" wheel "auditwheel>=6.3" "twine>=6.1"
  fi
}

# fa3_python_of_tests: exports FA3_PYTHON, where it names none: a Python with torch,
# JAX and transformers, as test/Python/requirements.txt has them, in an environment of
# the build tree. What is there already is kept while the list stays the same. Fails
# if they cannot be installed.
fa3_python_of_tests() {
  if [ -z "${FA3_PYTHON:-}" ]; then
    local folder=$fa3_build/python/tests list=$fa3_root/test/Python/requirements.txt
    if ! cmp -s "$list" "$folder/installed.txt"; then
      rm -rf "$folder"
      python3 -m venv "$folder" || return
      "$folder/bin/pip" install -q --no-deps --no-cache-dir -r "$list" || return
      cp "$list" "$folder/installed.txt"
    fi
    FA3_PYTHON=$(cd "$folder" && pwd)/bin/python
  fi
  "$FA3_PYTHON" -c 'import jax, torch, transformers as t
print(f"torch {torch.__version__}, JAX {jax.__version__}, transformers {t.__version__}")' ||
    return
  export FA3_PYTHON
}

# step <words>...: a heading in the log, and how long what stood below the one before
# took: by the clock, and of all processors together.
fa3_step_start=0 fa3_step_used=0 fa3_step_name= fa3_steps=()
step() {
  local now=$SECONDS used status
  # Times of all children that have ended, in hundredths of a second; 0 where /proc is
  # not there, as in a folder that was entered by chroot.
  if [ -r /proc/$$/stat ]; then
    read -r -a status </proc/$$/stat
  fi
  used=$(((${status[15]:-0} + ${status[16]:-0}) / 100))
  if [ -n "$fa3_step_name" ]; then
    fa3_steps+=("$(printf '%5d s %6d s  %s' $((now - fa3_step_start)) \
      $((used - fa3_step_used)) "$fa3_step_name")")
    printf '    %d s, of processors %d s\n' $((now - fa3_step_start)) \
      $((used - fa3_step_used))
  fi
  fa3_step_start=$now fa3_step_used=$used fa3_step_name=$*
  printf '\n=== %s\n' "$*"
}

# fa3_show_steps: all of them.
fa3_show_steps() { printf '%s\n' "  clock  processors" "${fa3_steps[@]}"; }
