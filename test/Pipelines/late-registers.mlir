// Constants of the register model for loops that read what an earlier step
// exchanged (lateTiles, lateInLoop, lateToConstant, lateNumbers,
// lateNumbersOfUnknown, lateWide, lateColumns, heldLate): what tile-schedule chooses by itself goes through ptxas without a
// spill, with lengths that the compiler knows and with others, heads alike and in
// groups. Four steps of both left operands are held where no loop is around the one
// of products, three beside a mask.
// RUN: mkdir -p %t
// DEFINE: %{name} = full
// DEFINE: %{assemble} = fa3-translate %t/%{name}.mlir '--pass-pipeline=builtin.module(fa3-lower-to-nvvm-pipeline{backward-form=fused})' --mlir-to-cubin --ptxas-strict -o %t/%{name}.cubin
// DEFINE: %{schedule} = fa3-opt %t/%{name}.mlir '-fa3-tile=backward-form=fused' -fa3-specialize -tile-schedule

// RUN: sed -e 's/tensor<Q>/tensor<4x2048x16x128xbf16>/g; s/tensor<KV>/tensor<4x2048x16x128xbf16>/g; s/tensor<LSE>/tensor<4x16x2048xf32>/g; s/MODS//' %S/Inputs/backward-of-types.txt > %t/full.mlir
// RUN: %{schedule} | FileCheck %s --check-prefix=LATE
// RUN: %if ptxas %{ %{assemble} %}
// LATE: tile.dot.async {{.*}} lhs km {{.*}}stage = 1

// DEFINE: %{held} = fa3-opt %t/%{name}.mlir '-fa3-tile=backward-form=fused' -fa3-specialize -fa3-pipeline
// RUN: %{held} | FileCheck %s --check-prefix=HELD4
// HELD4-LABEL: gpu.func @{{.*}}_grads
// HELD4: tile.read %{{.*}} -> tensor<64x32xbf16>
// HELD4: tile.read %{{.*}} -> tensor<64x32xbf16>

// REDEFINE: %{name} = causal
// RUN: sed -e 's/tensor<Q>/tensor<4x2048x16x128xbf16>/g; s/tensor<KV>/tensor<4x2048x16x128xbf16>/g; s/tensor<LSE>/tensor<4x16x2048xf32>/g; s/MODS/mods [#attention.causal]/' %S/Inputs/backward-of-types.txt > %t/causal.mlir
// RUN: %{schedule} | FileCheck %s --check-prefix=LATE
// RUN: %if ptxas %{ %{assemble} %}
// RUN: %{held} | FileCheck %s --check-prefix=HELD3
// HELD3-LABEL: gpu.func @{{.*}}_grads
// HELD3: tile.read %{{.*}} -> tensor<64x16xbf16>
// HELD3: tile.read %{{.*}} -> tensor<64x32xbf16>

// Steps start anywhere and end at a constant, in a loop over the heads of a
// group.
// REDEFINE: %{name} = group
// RUN: sed -e 's/tensor<Q>/tensor<4x2048x32x128xbf16>/g; s/tensor<KV>/tensor<4x2048x8x128xbf16>/g; s/tensor<LSE>/tensor<4x32x2048xf32>/g; s/MODS/mods [#attention.causal]/' %S/Inputs/backward-of-types.txt > %t/group.mlir
// RUN: %{schedule} | FileCheck %s --check-prefix=LATE
// RUN: %if ptxas %{ %{assemble} %}

// REDEFINE: %{name} = unknown
// RUN: sed -e 's/tensor<Q>/tensor<?x?x?x128xbf16>/g; s/tensor<KV>/tensor<?x?x?x128xbf16>/g; s/tensor<LSE>/tensor<?x?x?xf32>/g; s/MODS/mods [#attention.causal]/' %S/Inputs/backward-of-types.txt > %t/unknown.mlir
// RUN: %{schedule} | FileCheck %s --check-prefix=LATE
// RUN: %if ptxas %{ %{assemble} %}

// With heads that are known, and others: two steps beside a mask.
// REDEFINE: %{name} = unknown-heads
// RUN: sed -e 's/tensor<Q>/tensor<?x?x16x128xbf16>/g; s/tensor<KV>/tensor<?x?x16x128xbf16>/g; s/tensor<LSE>/tensor<?x16x?xf32>/g; s/MODS/mods [#attention.causal]/' %S/Inputs/backward-of-types.txt > %t/unknown-heads.mlir
// RUN: %{schedule} | FileCheck %s --check-prefix=LATE
// RUN: %if ptxas %{ %{assemble} %}
// RUN: %{held} | FileCheck %s --check-prefix=HELD2
// HELD2-LABEL: gpu.func @{{.*}}_grads
// HELD2: tile.read %{{.*}} -> tensor<64x16xbf16>
// HELD2: tile.read %{{.*}} -> tensor<64x16xbf16>

// More columns of numbers than narrowRead: where nothing is masked only.
// REDEFINE: %{name} = wide
// RUN: sed -e 's/tensor<Q>/tensor<4x2048x32x64xbf16>/g; s/tensor<KV>/tensor<4x2048x32x64xbf16>/g; s/tensor<LSE>/tensor<4x32x2048xf32>/g; s/MODS//' %S/Inputs/backward-of-types.txt > %t/wide.mlir
// RUN: %{schedule} | FileCheck %s --check-prefix=LATE
// RUN: %if ptxas %{ %{assemble} %}

// REDEFINE: %{name} = wide-causal
// RUN: sed -e 's/tensor<Q>/tensor<4x2048x32x64xbf16>/g; s/tensor<KV>/tensor<4x2048x32x64xbf16>/g; s/tensor<LSE>/tensor<4x32x2048xf32>/g; s/MODS/mods [#attention.causal]/' %S/Inputs/backward-of-types.txt > %t/wide-causal.mlir
// RUN: %{schedule} | FileCheck %s --check-prefix=TOGETHER
// RUN: %if ptxas %{ %{assemble} %}
// TOGETHER-NOT: stage = 1
// Such a loop starts anywhere and ends at a constant: its rings stay apart. Those of
// other loops are joined.
// DEFINE: %{rings} = fa3-opt %t/%{name}.mlir '-fa3-tile=backward-form=fused' -fa3-specialize
// RUN: %{rings} | FileCheck %s --check-prefix=APART
// APART-NOT: warp.ring : <{{[0-9]+}}, [tensor<128x64xbf16>, tensor<128xf32
// RUN: sed -e 's/tensor<Q>/tensor<?x?x32x64xbf16>/g; s/tensor<KV>/tensor<?x?x32x64xbf16>/g; s/tensor<LSE>/tensor<?x32x?xf32>/g; s/MODS/mods [#attention.causal]/' %S/Inputs/backward-of-types.txt > %t/wide-joined.mlir
// REDEFINE: %{name} = wide-joined
// RUN: %{rings} | FileCheck %s --check-prefix=JOINED
// RUN: %if ptxas %{ %{assemble} %}
// JOINED: warp.ring : <{{[0-9]+}}, [tensor<128x64xbf16>, tensor<128xf32

// A mask of rows is the same in all steps, and stands beside such numbers, but
// not in kernels of narrower operands, nor where steps end at a constant.
// REDEFINE: %{name} = wide-unknown
// RUN: sed -e 's/tensor<Q>/tensor<?x?x32x64xbf16>/g; s/tensor<KV>/tensor<?x?x32x64xbf16>/g; s/tensor<LSE>/tensor<?x32x?xf32>/g; s/MODS//' %S/Inputs/backward-of-types.txt > %t/wide-unknown.mlir
// RUN: %{schedule} | FileCheck %s --check-prefix=LATE
// RUN: %if ptxas %{ %{assemble} %}

// REDEFINE: %{name} = narrow-unknown
// RUN: sed -e 's/tensor<Q>/tensor<?x?x32x32xbf16>/g; s/tensor<KV>/tensor<?x?x32x32xbf16>/g; s/tensor<LSE>/tensor<?x32x?xf32>/g; s/MODS//' %S/Inputs/backward-of-types.txt > %t/narrow-unknown.mlir
// RUN: %{schedule} | FileCheck %s --check-prefix=TOGETHER
// RUN: %if ptxas %{ %{assemble} %}

// REDEFINE: %{name} = ended
// RUN: sed -e 's/tensor<Q>/tensor<?x2000x32x64xbf16>/g; s/tensor<KV>/tensor<?x2000x32x64xbf16>/g; s/tensor<LSE>/tensor<?x32x2000xf32>/g; s/MODS//' %S/Inputs/backward-of-types.txt > %t/ended.mlir
// RUN: %{schedule} | FileCheck %s --check-prefix=TOGETHER
// RUN: %if ptxas %{ %{assemble} %}
