// A ring of tokens is mbarriers: whoever has the entry from the start waits with
// the parity of the phase before the first, and the other one with that of the
// first.
// RUN: fa3-opt %S/../../Mutations/Inputs/turns.mlir -fa3-layout -tile-to-hopper -canonicalize | FileCheck %s

// The values are those of the module before, whoever runs first.
// RUN: fa3-opt %S/../../Mutations/Inputs/turns.mlir -fa3-layout -fa3-hopper -o %t.mlir
// RUN: fa3-run --cpu %t.mlir --dims rows=128,n=80,columns=16 --schedule-seed=3 --against %S/../../Mutations/Inputs/turns.mlir | FileCheck %s --check-prefix=SAME
// SAME: sum: max abs 0, max rel 0, rms 0

// CHECK-DAG: %[[FULL_A:.*]] = hopper.barrier.alloc : <1, 1>
// CHECK: warp.group @a
// CHECK: scf.for {{.*}} iter_args(%[[TAKE:[a-z0-9]+]] = %c1_i32, %[[PASS:[a-z0-9]+]] = %c1_i32,
// CHECK: hopper.barrier.wait %[[OF_A:.*]][%c0_i32] parity %[[TAKE]]
// CHECK: hopper.named_barrier.sync
// CHECK: hopper.barrier.arrive
// CHECK: hopper.barrier.wait %[[FREE_B:.*]][%c0_i32] parity %[[PASS]]
// CHECK: hopper.named_barrier.sync
// CHECK: hopper.barrier.arrive %[[OF_B:.*]][%c0_i32]
// CHECK: warp.group @b
// CHECK: scf.for {{.*}} iter_args(%[[TAKE_B:[a-z0-9]+]] = %c0_i32, %[[PASS_B:[a-z0-9]+]] = %c0_i32,
// CHECK: hopper.barrier.wait %[[OF_B]][%c0_i32] parity %[[TAKE_B]]
// CHECK: hopper.barrier.arrive %[[FREE_B]][%c0_i32]
// CHECK: hopper.barrier.arrive %[[OF_A]][%c0_i32]
