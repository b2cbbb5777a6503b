// RUN: fa3-opt %s --attention-expand-mods --attention-to-tile | FileCheck %s

// Previous results are taken in at the end of a tile, by the threads that have the
// output: their lse is one more number of the sum, their o is added once.
// CHECK-LABEL: gpu.func @step(
// CHECK: %[[LOOP:[0-9]+]]:3 = scf.for
// CHECK: %[[SUM:.*]] = tile.reduce add %[[LOOP]]#2 dim 1
// CHECK: %[[LSE:.*]] = tile.load %{{.*}} {tile.role = "math"} : memref<1x2x?xf32, {{.*}}> -> tensor<[[M:[0-9]+]]xf32>
// CHECK: %[[LOG2:.*]] = arith.mulf %[[LSE]]
// CHECK: arith.maxnumf %[[LOG2]], %[[LOOP]]#1
// CHECK: math.fma %[[SUM]],
// CHECK: arith.divf
// CHECK: %[[O:.*]] = tile.load %{{.*}} {tile.role = "math"} : memref<1x2x?x64xf32, {{.*}}> -> tensor<[[M]]x64xf32>
// CHECK: %[[THERE:.*]] = arith.select %{{.*}}, %{{.*}}, %[[O]]
// CHECK: %[[BOTH:.*]] = math.fma %[[THERE]],
// CHECK: tile.store %[[BOTH]], {{.*}} : tensor<[[M]]x64xf32>
func.func @step(%q: tensor<1x2x?x64xbf16>, %o: tensor<1x2x?x64xf32>, %lse: tensor<1x2x?xf32>) -> (tensor<1x2x?x64xf32>, tensor<1x2x?xf32>) {
  %0:2 = attention.forward %q, %q, %q previous(%o, %lse : tensor<1x2x?x64xf32>, tensor<1x2x?xf32>)
    : (tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>) -> (tensor<1x2x?x64xf32>, tensor<1x2x?xf32>)
  return %0#0, %0#1 : tensor<1x2x?x64xf32>, tensor<1x2x?xf32>
}

// Beside a wide output there are no registers for another one: a kernel of its own
// takes it in, 32 columns at a time.
// CHECK-LABEL: func.func @wide(
// CHECK-DAG: memref.alloc({{.*}}) {tile.name = "o_unedited"} : memref<1x2x?x256xf32>
// CHECK-DAG: memref.alloc({{.*}}) {tile.name = "lse_unedited"} : memref<1x2x?xf32>
// CHECK: gpu.func @wide(
// CHECK-NOT: math.fma {{.*}} : tensor<{{[0-9]+}}x256xf32>
// CHECK: gpu.func @wide_epilogue(
// CHECK: tile.load {{.*}} -> tensor<64x32xf32>
// CHECK: math.fma {{.*}} : tensor<64x32xf32>
func.func @wide(%q: tensor<1x2x?x256xbf16>, %o: tensor<1x2x?x256xf32>, %lse: tensor<1x2x?xf32>) -> tensor<1x2x?x256xbf16> {
  %0 = attention.forward %q, %q, %q previous(%o, %lse : tensor<1x2x?x256xf32>, tensor<1x2x?xf32>)
    : (tensor<1x2x?x256xbf16>, tensor<1x2x?x256xbf16>, tensor<1x2x?x256xbf16>) -> tensor<1x2x?x256xbf16>
  return %0 : tensor<1x2x?x256xbf16>
}
