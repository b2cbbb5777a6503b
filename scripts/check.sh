#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds everything with warnings as errors and runs every test that needs no
# GPU. Stops at the first step that fails, with its exit code. Each step's
# runner reports for itself, as lit and ctest do, and each step says how long it
# took. Wheels, and the archive for machines without LLVM, are made and used, in a
# Debian 11 as well.
#
# FA3_BUILD: the build tree (build); FA3_JOBS: compilations at a time (all
# processors); FA3_UNITY=OFF: file by file; FA3_PYTHON: a Python with torch, JAX
# and transformers for the tests of the package, else they are installed in the
# build tree, from PyPI or what pip is configured for. Where that fails, as without
# a network, their tests are skipped, which is said.
set -euo pipefail
. "$(dirname "$0")/common.sh"
cd "$fa3_root"

scripts/setup.sh check wheel

step "format"
# Many files of one process: starting it takes longer than formatting one.
git ls-files -z '*.c' '*.cpp' '*.h' |
  xargs -0 -n 64 -P "$fa3_jobs" clang-format-22 --dry-run --Werror
echo "clang-format: no difference"

step "license"
sources=('*.c' '*.cpp' '*.cu' '*.h' '*.td' '*.py' '*.sh' '*.cmake' '*.in' '*/CMakeLists.txt')
if git grep -L 'SPDX-License-Identifier: Apache-2.0' -- "${sources[@]}"; then
  echo "these files lack the line 'SPDX-License-Identifier: Apache-2.0'" >&2
  exit 1
fi
echo "every source names its license"

step "python"
if fa3_python_tools "ruff>=0.16"; then
  "$fa3_python_bin/ruff" check --no-cache
else
  echo "ruff cannot be installed: Python files were not checked"
fi

# Their download takes as long as a part of the build, and no processor.
mkdir -p "$fa3_build/python"
(fa3_python_of_tests) >"$fa3_build/python/tests.log" 2>&1 &

step "build"
fa3_configure "$fa3_build" -DFA3_WERROR=ON
fa3_make "$fa3_build" all

step "docs"
fa3_make "$fa3_build" mlir-doc
python3 docs/check_docs.py --build "$fa3_build"
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

step "Python with torch, JAX and transformers"
python_tests=(--all)
wait # for the download
if ! fa3_python_of_tests; then
  [ -z "${FA3_PYTHON:-}" ] || exit 1
  echo "check.sh: torch, JAX and transformers CANNOT BE INSTALLED: their tests are skipped" >&2
  python_tests=()
fi

step "wheel"
scripts/wheel.sh --test

step "Python tests"
build=$(cd "$fa3_build" && pwd)
FA3_CACHE_DIR=$build/python/cache FA3_PTXAS=0 FA3_LIBRARY=$build/lib/libfa3.so \
  FA3_RUNTIME_LIBRARY=$build/lib/libfa3_runtime.so JAX_PLATFORMS=cpu \
  FA3_LIBCUDA=$build/unittests/libfa3_fake_cuda.so PYTHONDONTWRITEBYTECODE=1 \
  "${FA3_PYTHON:-python3}" test/Python/run.py --jobs "$fa3_jobs" "${python_tests[@]}"

step "mutants"
fa3_make "$fa3_build" check-fa3-mutations

step "random problems"
fa3_make "$fa3_build" check-fa3-fuzz

step "malformed input"
fa3_make "$fa3_build" check-fa3-malformed
step "hostile input"
fa3_make "$fa3_build" check-fa3-hostile

step "fuzz targets"
fa3_make "$fa3_build" check-fa3-fuzz-targets

step "sanitizers"
fa3_make "$fa3_build" check-fa3-asan check-fa3-tsan

step "package"
scripts/package.sh --test

step "all of it passed"
fa3_show_steps
