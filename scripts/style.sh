#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What check.sh asks first, since it takes seconds and needs no build: how the files that
# git knows are formatted, that every source names its license, and ruff. For every commit.
# With --fix it formats.
set -euo pipefail
. "$(dirname "$0")/common.sh"
cd "$fa3_root"

format=(--dry-run --Werror)
lint=()
if [ "${1:-}" = --fix ]; then
  format=(-i)
  lint=(--fix)
fi

step "format"
# Many files of one process: starting it takes longer than formatting one.
git ls-files -z '*.c' '*.cpp' '*.h' |
  xargs -0 -n 64 -P "$fa3_jobs" clang-format-22 "${format[@]}"
echo "C and C++ are as clang-format writes them"

step "license"
sources=('*.c' '*.cpp' '*.cu' '*.h' '*.td' '*.py' '*.sh' '*.cmake' '*.in' '*/CMakeLists.txt')
if git grep -L 'SPDX-License-Identifier: Apache-2.0' -- "${sources[@]}"; then
  echo "these files lack the line 'SPDX-License-Identifier: Apache-2.0'" >&2
  exit 1
fi
echo "every source names its license"

step "python"
if fa3_python_tools "ruff>=0.16"; then
  "$fa3_python_bin/ruff" check --no-cache "${lint[@]}"
else
  echo "ruff cannot be installed: Python files were not checked"
fi
