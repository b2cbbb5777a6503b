// Parts of keys, a mask with lengths and an unknown number of queries: the block of
// keys leaves registers for what they are, and ptxas spills nothing.

// DEFINE: %{example} = %fa3_src/examples/decode_split.mlir
// RUN: fa3-opt %{example} --attention-expand-mods --attention-to-tile | FileCheck %s
// RUN: %if ptxas %{ fa3-translate %{example} '--pass-pipeline=builtin.module(fa3-lower-to-nvvm-pipeline)' --mlir-to-cubin --ptxas-strict -o %t.cubin %}
// CHECK-LABEL: gpu.func @decode_split(
// CHECK: tile.load {{.*}}tensor<160x128xbf16>
// CHECK-NOT: 176x128

// A known number of queries takes less.
// RUN: sed 's/x32x?x128/x32x4x128/g; s/tensor<?x32x?xf32>/tensor<?x32x4xf32>/g' %{example} | fa3-opt --attention-expand-mods --attention-to-tile | FileCheck %s --check-prefix=KNOWN
// KNOWN: tile.load {{.*}}tensor<176x128xbf16>
