#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From attention to a Hopper kernel, one stage after the other: the example
# layer goes through the pipelines to PTX and manifest, is checked on the CPU at
# a small shape, and runs on the GPU if there is one. Builds the tools first
# where needed; in an unpacked package it uses those of the package. What is
# written lies in build/demo, in a package in demo.
set -euo pipefail
. "$(dirname "$0")/common.sh"
name=causal_gqa
example=$fa3_root/examples/$name.mlir

if [ -x "$fa3_root/bin/fa3-opt" ]; then
  bin=$fa3_root/bin
  out=$fa3_root/demo
else
  step "build"
  "$fa3_root/scripts/setup.sh"
  fa3_configure "$fa3_build"
  fa3_make "$fa3_build" fa3-opt fa3-translate fa3-run
  bin=$fa3_build/bin
  out=$fa3_build/demo
fi
mkdir -p "$out"
cd "$out"

# operations <file>: how many operations there are.
operations() {
  "$bin/fa3-opt" --print-op-stats "$1" -o /dev/null 2>&1 |
    awk -F, '$2 + 0 > 0 { sum += $2 } END { print sum + 0 }'
}
# row <stage> <file> <what it is>
row() {
  printf '%-16s %-24s %6d lines %6s ops  %s\n' \
    "$1" "$2" "$(wc -l <"$2")" "$(operations "$2")" "$3"
}

step "$name, stage by stage (in $out)"
cp "$example" "0-$name.mlir"
row "" "0-$name.mlir" "attention on tensors"
previous=0-$name.mlir
number=0
while read -r pipeline what; do
  number=$((number + 1))
  file=$number-${pipeline#fa3-}.mlir
  "$bin/fa3-opt" "$previous" "--$pipeline" -o "$file"
  row "--$pipeline" "$file" "$what"
  previous=$file
done <<STAGES
fa3-tile sequential tiles of one CTA
fa3-specialize producer and consumer groups joined by rings
fa3-pipeline products in flight, loops pipelined
fa3-layout every tile and ring with a layout
fa3-ptx NVVM and LLVM operations
STAGES
"$bin/fa3-translate" --mlir-to-ptx "$previous" -o "$name.ptx"
printf '%-16s %-24s %6d lines\n' fa3-translate "$name.ptx" \
  "$(wc -l <"$name.ptx")" "" "$name.json" "$(wc -l <"$name.json")"
for instruction in cp.async.bulk.tensor wgmma.mma_async mbarrier.try_wait \
  setmaxnreg; do
  printf '  %-22s %4d times in the PTX\n' $instruction \
    "$(grep -c "$instruction" "$name.ptx")"
done

step "from $name.mlir to PTX at once"
# The stages above know no tuning table, whose options the whole pipeline takes.
time "$bin/fa3-translate" --mlir-to-ptx --no-manifest "$example" \
  --pass-pipeline='builtin.module(fa3-lower-to-nvvm-pipeline{tuning-table=none})' \
  -o at-once.ptx
cmp at-once.ptx "$name.ptx"
echo "the same PTX"

step "checked on the CPU against the definition, at a small shape"
"$bin/fa3-opt" "$example" --attention-expand-mods --attention-to-reference \
  -o reference.mlir
"$bin/fa3-run" --cpu 4-layout.mlir --against reference.mlir \
  --dims b=1,sq=70,sk=90 --atol 2e-2 --rtol 2e-2

step "on the GPU"
if [ -e /dev/nvidia0 ]; then
  "$bin/fa3-run" "$example" --dims b=1,sq=4096,sk=4096 --check-heads 2 \
    --time single
else
  echo "this machine has none"
fi
