// Turns of replicas are named barriers, one per replica: own id to wait, id of
// the next replica to pass, and the last replica passes the first turn.
// RUN: split-file %s %t
// RUN: fa3-opt %t/turns.mlir -tile-to-hopper -canonicalize -cse | FileCheck %s
// RUN: fa3-opt %t/turns.mlir -fa3-ptx | FileCheck %s --check-prefix=ASM
// RUN: not fa3-opt %t/many.mlir -tile-to-hopper 2>&1 | FileCheck %s --check-prefix=MANY

// MANY: error: 'warp.ordered_barrier' op has no lowering to hopper: with the turns of 16 replicas the kernel needs 16 named barriers, a block has 15 beside its own

// CHECK-LABEL: gpu.func @turns
// CHECK: warp.group @math warps 4 replicas 3 (%[[G:.*]])
// CHECK: %[[OWN:.*]] = arith.addi %[[G32:.*]], %c1_i32 : i32
// CHECK: %[[LAST:.*]] = arith.cmpi eq, %[[G32]], %c2_i32
// CHECK: %[[NEXT:.*]] = arith.addi %{{.*}}, %{{.*}} : i32
// CHECK: %[[PASS:.*]] = arith.select %[[LAST]], %c1_i32, %[[NEXT]] : i32
// CHECK: scf.if %[[LAST]] {
// CHECK-NEXT: hopper.named_barrier.arrive %c1_i32 threads 256
// CHECK: scf.for
// CHECK-NEXT: hopper.named_barrier.sync %[[OWN]] threads 256
// CHECK-NEXT: hopper.named_barrier.arrive %[[PASS]] threads 256

// ASM: bar.arrive $0, 256;
// ASM: bar.sync $0, 256;
// ASM: bar.arrive $0, 256;
//--- turns.mlir
gpu.module @m {
  gpu.func @turns(%n: index) kernel {
    %order = warp.ordered_barrier
    // Nobody takes turns of this one.
    %unused = warp.ordered_barrier
    warp.specialize {
      warp.group @math warps 4 replicas 3 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        scf.for %i = %c0 to %n step %c1 {
          %turn = warp.take_turn %order
          warp.pass_turn %turn
        }
      }
    }
    gpu.return
  }
}
//--- many.mlir
gpu.module @m {
  gpu.func @many() kernel {
    %order = warp.ordered_barrier
    warp.specialize {
      warp.group @math warps 4 replicas 16 (%g) {
        %turn = warp.take_turn %order
        warp.pass_turn %turn
      }
    }
    gpu.return
  }
}
