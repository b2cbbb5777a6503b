// A sum of 64 x 512 in a chain of products that is no attention: two groups
// compute, weights and a vector of rows go from one to the other. Values are
// compared after every pass, both checkers on.

// RUN: fa3-run --cpu --check-each-pass %S/../Inputs/wide-sums.mlir --dims m=100,n=150,k=128,c=512 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass %S/../Inputs/wide-sums.mlir --dims m=65,n=0,k=128,c=512 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass="mode=static max-depth=1" %S/../Inputs/wide-sums.mlir --dims m=200,n=70,k=128,c=512 --sms 2 --completion=random --schedule-seed=2 | FileCheck %s --check-prefix=SAME
// SAME: same answer after {{[0-9]+}} passes

// RUN: fa3-opt %S/../Inputs/wide-sums.mlir --fa3-tile --fa3-specialize --fa3-pipeline | FileCheck %s
// The vectors of the loop and behind it, the weights, two windows of the right
// operand, both operands of the first product.
// CHECK: warp.ring : <{{[0-9]}}, [tensor<64xf32>]>
// CHECK-NOT: warp.ring : <{{[0-9]}}, [tensor<64xf32>]>
// CHECK: warp.ring : <{{[0-9]}}, [tensor<64x64xbf16>]>
// CHECK-COUNT-2: warp.ring : <{{[0-9]}}, [tensor<64x256xbf16>]>
// One stage: the other group is busy meanwhile.
// CHECK: warp.group @math warps 4
// CHECK: scf.for
// CHECK: tile.dot.async {{.*}} -> <tensor<64x64xf32>>
// CHECK: tile.await
// CHECK: %[[P:.*]] = arith.truncf
// CHECK: tile.write %[[P]]
// CHECK: tile.dot.async %[[P]], {{.*}} -> <tensor<64x256xf32>>
// CHECK: tile.await
// CHECK: scf.yield
// The second group computes no scores, and its condition from what it reads.
// CHECK: warp.group @math1 warps 4
// CHECK-NOT: tensor<64x64xf32>
// CHECK: %[[F:.*]] = tile.read %{{.*}} -> tensor<64xf32>
// CHECK: %[[C:.*]] = arith.cmpf une, %[[F]]
// CHECK: tile.where %[[C]]
// CHECK: tile.dot.async %[[V:.*]], {{.*}} : !tile.view<tensor<64x64xbf16>>, {{.*}} -> <tensor<64x256xf32>>
// CHECK: tile.read %{{.*}} -> tensor<64xf32>

// RUN: %if ptxas %{ fa3-translate %S/../Inputs/wide-sums.mlir '--pass-pipeline=builtin.module(fa3-lower-to-nvvm-pipeline)' --mlir-to-cubin --ptxas-strict -o %t.cubin %}
