// What a step loads is both summed up over and multiplied by, over 512 columns: one
// group reads both pieces of it, the other one the piece of its own sum, so that a
// ring has two readers. No attention; values after every pass, both checkers on.

// RUN: fa3-run --cpu --check-each-pass %S/../Inputs/shared-operand.mlir --dims m=100,n=150,k=512 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass %S/../Inputs/shared-operand.mlir --dims m=65,n=0,k=512 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass="mode=static max-depth=1" %S/../Inputs/shared-operand.mlir --dims m=200,n=70,k=512 --sms 2 --completion=random --schedule-seed=2 | FileCheck %s --check-prefix=SAME
// SAME: same answer after {{[0-9]+}} passes

// RUN: fa3-opt %S/../Inputs/shared-operand.mlir --fa3-tile --fa3-specialize --fa3-pipeline | FileCheck %s
// CHECK: %[[W:.*]] = warp.ring : <{{[0-9]}}, [tensor<64x32xbf16>]>
// CHECK: %[[R:.*]] = warp.ring : <{{[0-9]}}, [tensor<32x256xbf16>]>
// CHECK: %[[L:.*]] = warp.ring : <{{[0-9]}}, [tensor<32x256xbf16>]>
// CHECK: warp.group @math warps 4
// CHECK: scf.for
// CHECK: warp.acquire %[[L]]
// CHECK: tile.dot.async {{.*}} lhs mk rhs nk {{.*}} -> <tensor<64x32xf32>>
// CHECK: warp.acquire %[[R]]
// CHECK: tile.dot.async {{.*}} lhs mk rhs nk {{.*}} -> <tensor<64x32xf32>>
// Weights are handed over in front of the product that takes them from registers.
// CHECK: tile.write %[[P:[0-9]+]], {{.*}}tensor<64x32xbf16>
// CHECK: warp.publish
// CHECK: tile.dot.async %[[P]], {{.*}} lhs mk rhs kn {{.*}} -> <tensor<64x256xf32>>
// CHECK: scf.yield
// CHECK: warp.group @math1 warps 4
// CHECK: scf.for
// CHECK-NOT: warp.acquire %[[L]]
// CHECK: warp.acquire %[[R]]
// CHECK: warp.acquire %[[W]]
// CHECK: tile.dot.async {{.*}} lhs mk rhs kn {{.*}} -> <tensor<64x256xf32>>

// RUN: %if ptxas %{ fa3-translate %S/../Inputs/shared-operand.mlir '--pass-pipeline=builtin.module(fa3-lower-to-nvvm-pipeline)' --mlir-to-cubin --ptxas-strict -o %t.cubin %}
