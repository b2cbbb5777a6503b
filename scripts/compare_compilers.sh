#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Whether kernels depend on the compiler that fa3 is built with: builds the tools
# with GCC and with Clang, whose calls evaluate arguments in other orders, and
# compares PTX and manifests of examples, matrix and tuning table byte for byte.
#
#   scripts/compare_compilers.sh [clang++]
#
# By hand, before a release: twice a build, and minutes. Clang 16 or newer, of
# Debian's clang-16, clang-19 or clang-22.
set -euo pipefail
. "$(dirname "$0")/common.sh"
cd "$fa3_root"

clang=${1:-clang++-22}
tree=${FA3_BUILD_COMPILERS:-$fa3_root/build-compilers}
fa3_configure "$tree/gcc" -DFA3_INCLUDE_TESTS=OFF \
  -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++
fa3_configure "$tree/clang" -DFA3_INCLUDE_TESTS=OFF \
  -DCMAKE_C_COMPILER="${clang/clang++/clang}" -DCMAKE_CXX_COMPILER="$clang"
for each in gcc clang; do
  fa3_make "$tree/$each" fa3-translate
done
python3 test/Matrix/compare_builds.py "$tree/gcc/bin" "$tree/clang/bin"
