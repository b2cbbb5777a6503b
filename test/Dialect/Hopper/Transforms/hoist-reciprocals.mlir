// RUN: fa3-opt %s -hopper-hoist-reciprocals | FileCheck %s
// RUN: fa3-opt %s -hopper-hoist-reciprocals -o %t.mlir
// RUN: fa3-opt %t.mlir -hopper-hoist-reciprocals | diff %t.mlir -
// RUN: %stages-window --pass hopper-hoist-reciprocals --options 'mode=static block-m=64 block-n=32'
// RUN: %stages-gemm --pass hopper-hoist-reciprocals

// Every launch computes ceil(2^62 / divisor), of at least 1, once for all
// divisions by the same expression.
// CHECK-LABEL: func.func @host
// CHECK-SAME: %[[N:.*]]: i32, %[[M:.*]]: i32
// CHECK: %[[ROWS:.*]] = arith.muli %[[N]], %[[M]]
// CHECK: %[[WIDE:.*]] = arith.extsi %[[ROWS]] : i32 to i64
// CHECK: %[[ONE:.*]] = arith.constant 1 : i64
// CHECK: %[[SOME:.*]] = arith.maxsi %[[WIDE]], %[[ONE]]
// CHECK: %[[POWER:.*]] = arith.constant 4611686018427387904 : i64
// CHECK: %[[R:.*]] = arith.ceildivsi %[[POWER]], %[[SOME]]
// CHECK: hopper.launch @m::@rows {{.*}} args(%[[N]], %[[M]], %[[R]] : i32, i32, i64)
// CHECK: arith.ceildivsi
// CHECK: hopper.launch @m::@rows {{.*}} args(%[[M]], %[[M]], %{{.*}} : i32, i32, i64)
// CHECK: hopper.launch @m::@kept {{.*}} args(%[[N]] : i32)
func.func @host(%n: i32, %m: i32, %blocks: index) {
  hopper.launch @m::@rows blocks %blocks threads 256 smem 0 args(%n, %m : i32, i32)
  hopper.launch @m::@rows blocks %blocks threads 256 smem 0 args(%m, %m : i32, i32)
  hopper.launch @m::@kept blocks %blocks threads 128 smem 0 args(%n : i32)
  return
}

gpu.module @m {
  // The quotient by halves of the reciprocal; the remainder from the quotient.
  // CHECK-LABEL: gpu.func @rows
  // CHECK-SAME: %[[R:[a-z0-9]+]]: i64) kernel
  // CHECK: warp.group @one
  // CHECK: %[[NUMBER:.*]] = arith.extui %[[I:.*]] : i32 to i64
  // CHECK: %[[LOW:.*]] = arith.andi %[[R]]
  // CHECK: %[[HIGH:.*]] = arith.shrui %[[R]]
  // CHECK: %[[PRODUCT:.*]] = arith.muli %[[NUMBER]], %[[LOW]]
  // CHECK: %[[CARRY:.*]] = arith.shrui %[[PRODUCT]]
  // CHECK: %[[TOP:.*]] = arith.muli %[[NUMBER]], %[[HIGH]]
  // CHECK: %[[SUM:.*]] = arith.addi %[[TOP]], %[[CARRY]]
  // CHECK: %[[SHIFTED:.*]] = arith.shrui %[[SUM]]
  // CHECK: arith.trunci %[[SHIFTED]] : i64 to i32
  // CHECK: warp.group @two
  // CHECK-NOT: arith.remui
  // CHECK: %[[Q:.*]] = arith.trunci
  // CHECK: %[[BACK:.*]] = arith.muli %[[Q]], %{{.*}} : i32
  // CHECK: arith.subi %{{.*}}, %[[BACK]] : i32
  // CHECK: gpu.return
  gpu.func @rows(%n: i32, %m: i32) kernel {
    %b = gpu.block_id x
    %i = arith.index_cast %b : index to i32
    warp.specialize {
      warp.group @one warps 4 (%g) {
        %rows = arith.muli %n, %m : i32
        %q = arith.divui %i, %rows : i32
        hopper.named_barrier.sync %q threads 128
      }
      warp.group @two warps 4 (%g) {
        %rows = arith.muli %n, %m : i32
        %r = arith.remui %i, %rows : i32
        hopper.named_barrier.sync %r threads 128
      }
    }
    gpu.return
  }

  // Not of 32 bits, by a constant, signed, and by what the host does not know.
  // CHECK-LABEL: gpu.func @kept
  // CHECK: arith.divui {{.*}} : i64
  // CHECK: arith.divui
  // CHECK: arith.divsi
  // CHECK: arith.divui
  // CHECK-NOT: arith.muli
  // CHECK: gpu.return
  gpu.func @kept(%n: i32) kernel {
    %b = gpu.block_id x
    %i = arith.index_cast %b : index to i32
    %c7 = arith.constant 7 : i32
    %wide = arith.extui %n : i32 to i64
    %q0 = arith.divui %wide, %wide : i64
    %q1 = arith.divui %n, %c7 : i32
    %q2 = arith.divsi %n, %n : i32
    %q3 = arith.divui %n, %i : i32
    %t = arith.trunci %q0 : i64 to i32
    hopper.named_barrier.sync %t threads 128
    hopper.named_barrier.sync %q1 threads 128
    hopper.named_barrier.sync %q2 threads 128
    hopper.named_barrier.sync %q3 threads 128
    gpu.return
  }
}
