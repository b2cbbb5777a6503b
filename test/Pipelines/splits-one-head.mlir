// Keys in parts where no heads share a key head: the grids of both kernels, and
// memory for parts, follow from a number of parts that is the caller's.
// RUN: fa3-translate %s '--pass-pipeline=builtin.module(fa3-lower-to-nvvm-pipeline)' --mlir-to-ptx -o %t.ptx
// RUN: FileCheck %s --check-prefix=MANIFEST --input-file=%t.json
// DEFINE: %{run} = fa3-run --cpu %s --dims b=2,sq=1,sk=150 --lengths=used_k=150,70
// RUN: %{run} --scalar splits=2 --check-each-pass='block-n=48' | FileCheck %s
// RUN: not %{run} --scalar splits=-1 2>&1 | FileCheck %s --check-prefix=NONE
// CHECK: same answer after {{[0-9]+}} passes
// NONE: splits is negative
// MANIFEST: "that": "splits >= 0"
// MANIFEST: "grid": "min(ceildiv(q.shape[2], 64) * o_parts.shape[1] * 2 * q.shape[0], device.sms)"
// MANIFEST: "grid": "ceildiv(q.shape[2], 32) * 8 * q.shape[0]"

func.func @one_head(%q: tensor<?x2x?x64xbf16> {tile.name = "q"}, %k: tensor<?x2x?x64xbf16> {tile.name = "k"}, %v: tensor<?x2x?x64xbf16> {tile.name = "v"},
                    %used: tensor<?xi32> {tile.name = "used_k"}, %splits: index {tile.name = "splits"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}, tensor<?x2x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v aux(%used : tensor<?xi32>) splits %splits mods [#attention.used<k = 0>, #attention.causal]
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> (tensor<?x2x?x64xbf16>, tensor<?x2x?xf32>)
  return %o, %lse : tensor<?x2x?x64xbf16>, tensor<?x2x?xf32>
}
