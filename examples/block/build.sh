#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles block.mlir ahead of time, to an object file, and links it with main.c.
#
#   build.sh <way> <fa3 build tree> <directory of LLVM> <output>
#
# ways:
#   gpu         attention on the device; the arrays are in host memory, since all
#               else runs on the CPU: a call copies them
#   interpret   kernels in the interpreter (at run time FA3_COMPILER_LIBRARY names
#               libfa3.so)
#   definition  attention by its definition, as loops
set -euo pipefail
way=$1 fa3=$2 llvm=$3 output=$4
here=$(cd "$(dirname "$0")" && pwd)

case $way in
gpu) kernels=fa3-lower-to-nvvm-pipeline host='fa3-lower-host{memory=host},buffer-deallocation-pipeline' ;;
interpret) kernels=fa3-tile host='fa3-lower-host{image=ir},buffer-deallocation-pipeline' ;;
definition) kernels=attention-outline,attention-expand-mods,attention-to-reference host=fa3-lower-host ;;
*)
  echo "build.sh: expects gpu, interpret or definition, got $way" >&2
  exit 2
  ;;
esac

# All passes but three are upstream's.
passes=$kernels
passes+=',one-shot-bufferize{bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map}'
passes+=",canonicalize,cse,$host"
passes+=,convert-linalg-to-loops,convert-scf-to-cf,expand-strided-metadata
passes+=,lower-affine,convert-math-to-libm,convert-to-llvm
passes+=,reconcile-unrealized-casts
"$llvm/bin/mlir-opt" --load-dialect-plugin="$fa3/lib/FA3Plugin.so" \
  --load-pass-plugin="$fa3/lib/FA3Plugin.so" \
  --pass-pipeline="builtin.module($passes)" "$here/block.mlir" |
  "$llvm/bin/mlir-translate" --mlir-to-llvmir |
  "$llvm/bin/llc" -O2 -filetype=obj -relocation-model=pic -o "$output.o"

${CC:-cc} -O2 -Wall -Wextra -I "$here/../../include" "$here/main.c" "$output.o" \
  "$fa3/lib/libFA3Runtime.a" -ldl -lm -o "$output"
