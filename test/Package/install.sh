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

# What the dialect of embed writes is what a user would write; the program around
# attention stays.
for name in program written-out; do
  "$scratch/embed/embed" "$here/Inputs/$name.mlir" >"$scratch/$name.mlir"
done
cmp "$scratch/program.mlir" "$scratch/written-out.mlir"
[ "$(grep -c 'attention.call' "$scratch/program.mlir")" = 2 ]
grep -q '"other.norm"' "$scratch/program.mlir"
# fa3 alone has no derivative of atan.
if "$scratch/prefix/bin/fa3-opt" --allow-unregistered-dialect \
  --fa3-lower-to-nvvm-pipeline "$here/Inputs/no-gradient.mlir" \
  >"$scratch/no-gradient.log" 2>&1; then
  echo "install.sh: expects no derivative of math.atan without embed" >&2
  exit 1
fi
grep -q "math.atan" "$scratch/no-gradient.log"

# The checks of rings ask the operation of embed.
for place in HELD HANDED; do
  sed "s|// $place|\"embed.look\"(%w) : (!tile.view<tensor<64x64xf16>>) -> ()|" \
    "$here/Inputs/slot.mlir" >"$scratch/$place.mlir"
done
"$scratch/embed/embed" --check "$scratch/HELD.mlir" >/dev/null
if "$scratch/embed/embed" --check "$scratch/HANDED.mlir" >/dev/null \
  2>"$scratch/handed.log"; then
  echo "install.sh: expects an error at embed.look" >&2
  exit 1
fi
grep -q "'embed.look' op uses a view of a slot that is no longer held" \
  "$scratch/handed.log"
echo "embed: $(wc -l <"$scratch/embedded.mlir") lines, as fa3-opt writes them"
