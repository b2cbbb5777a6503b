#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build tree, builds the project in embed/ against the installed
# package and runs it: its output has to be that of fa3-opt.
#
#   install.sh <build tree> <scratch directory> <example.mlir>
set -euo pipefail
build=$1 scratch=$2 example=$3
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$scratch"
mkdir -p "$scratch"
cmake --install "$build" --prefix "$scratch/prefix" >"$scratch/install.log"

# Nothing installed may refer to the build tree or the sources.
if grep -rIlF -e "$build" -e "$(dirname "$(dirname "$here")")" \
  "$scratch/prefix"; then
  echo "install.sh: these installed files name the build or source tree" >&2
  exit 1
fi

cmake -G Ninja -S "$here/embed" -B "$scratch/embed" \
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$scratch/prefix" \
  >"$scratch/configure.log"
cmake --build "$scratch/embed"
"$scratch/embed/embed" "$example" >"$scratch/embedded.mlir"
"$scratch/prefix/bin/fa3-opt" "$example" --cse \
  --fa3-lower-to-nvvm-pipeline=block-m=128 >"$scratch/expected.mlir"
cmp "$scratch/embedded.mlir" "$scratch/expected.mlir"
grep -q 'nvvm.wgmma\|wgmma.mma_async' "$scratch/embedded.mlir"
echo "embed: $(wc -l <"$scratch/embedded.mlir") lines, as fa3-opt writes them"
