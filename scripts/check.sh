#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds everything with warnings as errors and runs every test that needs no
# GPU. Stops at the first step that fails, with its exit code. Each step's
# runner reports for itself, as lit and ctest do, and each step says how long it
# took. Wheels, and the archive for machines without LLVM, are made and used, in a
# Debian 11 as well, beside the other tests: most of that is one process at a time.
#
# An eighth of the mutants is tried, and a quarter of the random problems, another part
# at each commit. FA3_WHOLE=1: all of them, as check-fa3-mutations and check-fa3-fuzz.
#
# FA3_BUILD: the build tree (build); FA3_JOBS: compilations at a time (all
# processors); FA3_UNITY=OFF: file by file; FA3_PYTHON: a Python with torch, JAX
# and transformers for the tests of the package, else they are installed in the
# build tree, from PyPI or what pip is configured for. Where that fails, as without
# a network, their tests are skipped, which is said.
set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/debian11.sh"
cd "$fa3_root"

scripts/setup.sh check wheel package
# What runs beside the tests, a group of processes, ends with this script.
released=
trap '[ -z "$released" ] || kill -- "-$released" 2>/dev/null || true' EXIT

# Parts of what is sampled, and which one this commit has.
commits=$(git rev-list --count HEAD 2>/dev/null || echo 0)
mutants=8 problems=4
[ -z "${FA3_WHOLE:-}" ] || mutants=1 problems=1

step "style"
scripts/style.sh

# Downloads take as long as a part of the build, and no processor.
mkdir -p "$fa3_build/python"
{
  fa3_python_of_tests || true
  fa3_python_tools -r docs/site/requirements.txt || true
  fa3_wheel_tools || true
  fa3_debian11_make || true
} >"$fa3_build/python/downloads.log" 2>&1 &
downloads=$!

step "build"
fa3_configure "$fa3_build" -DFA3_WERROR=ON -DFA3_HARDENED=ON
fa3_make "$fa3_build" all fa3-tools mlir-doc

step "Python with torch, JAX and transformers"
python_tests=(--all)
wait "$downloads" || true
if ! fa3_python_of_tests; then
  [ -z "${FA3_PYTHON:-}" ] || exit 1
  echo "check.sh: torch, JAX and transformers CANNOT BE INSTALLED: their tests are skipped" >&2
  python_tests=()
fi

FA3_BUILT=1 setsid bash -c "scripts/wheel.sh --test && exec scripts/package.sh --test" \
  >"$fa3_build/released.log" 2>&1 &
released=$!

step "docs"
python3 docs/check_docs.py --build "$fa3_build" --jobs "$fa3_jobs"
python3 docs/performance_tables.py
python3 docs/experiments_table.py
if fa3_python_tools -r docs/site/requirements.txt; then
  "$fa3_python_bin/python" docs/site/build.py "$fa3_build/site"
else
  echo "check.sh: mkdocs CANNOT BE INSTALLED: the site was not built" >&2
fi

step "lit"
fa3_make "$fa3_build" check-fa3 check-fa3-long

step "unit tests"
GTEST_BRIEF=1 ctest --test-dir "$fa3_build" -j "$fa3_jobs" --output-on-failure \
  --no-tests=error

step "wheel and package, which were made beside these"
wait "$released" || {
  code=$?
  cat "$fa3_build/released.log" >&2
  exit "$code"
}
released=
cat "$fa3_build/released.log"

step "Python tests"
build=$(cd "$fa3_build" && pwd)
FA3_CACHE_DIR=$build/python/cache FA3_PTXAS=0 FA3_LIBRARY=$build/lib/libfa3.so \
  FA3_RUNTIME_LIBRARY=$build/lib/libfa3_runtime.so JAX_PLATFORMS=cpu \
  FA3_LIBCUDA=$build/unittests/libfa3_fake_cuda.so PYTHONDONTWRITEBYTECODE=1 \
  "${FA3_PYTHON:-python3}" test/Python/run.py --jobs "$fa3_jobs" "${python_tests[@]}"

step "mutants, a part of $mutants"
"$fa3_build/bin/fa3-mutate" -j "$fa3_jobs" --checkers --parts "$mutants" \
  --part $((commits % mutants)) test/Mutations/cases.json

step "random problems, a part of $problems"
count=$((200 / problems))
some=(--count "$count" --first $((commits % problems * count)) --jobs "$fa3_jobs")
python3 test/Fuzz/fuzz.py --tool "$fa3_build/bin/fa3-run" --ptx 25 "${some[@]}"
python3 test/Fuzz/code.py --run "$fa3_build/bin/fa3-run" --opt "$fa3_build/bin/fa3-opt" \
  "${some[@]}"

step "malformed input"
fa3_make "$fa3_build" check-fa3-malformed
step "hostile input"
fa3_make "$fa3_build" check-fa3-hostile

step "fuzz targets and sanitizers"
fa3_make "$fa3_build" check-fa3-fuzz-targets check-fa3-asan check-fa3-tsan

step "all of it passed"
fa3_show_steps
