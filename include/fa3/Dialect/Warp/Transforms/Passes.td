//===- Passes.td - passes on the warp dialect --------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_WARP_PASSES
#define FA3_WARP_PASSES

include "mlir/Pass/PassBase.td"

def Check : Pass<"warp-check", "::mlir::gpu::GPUModuleOp"> {
  let summary = "groups joined by rings -> the same, proven not to deadlock";
  let description = [{
    Proves of every `warp.specialize`, for all trip counts and all values of the
    kernel's arguments:

    1. *Congruence*: bounds and conditions around accesses to rings are pure
       functions of kernel arguments, block and replica. What depends on tiles
       (votes, data) may enclose no access.
    2. *Balance*: every ring is acquired to read as often as to write, per
       iteration of the loops that groups run in step (loops that enclose
       control), and in total otherwise. Trip counts are piecewise linear in
       what groups share; cases are refuted with MLIR's Presburger library.
    3. *Liveness*: no state of the groups relative to each other has all of them
       waiting. The relative states are finite and explored to closure with
       every choice of control; choices that contradict 2 are dropped.
    4. *Slots*: cursors belong to their ring, slots are accessed only while they
       are held, and handed over only when every product that reads them has
       been awaited or is named by `after`, also across loops and branches.

    Replicas that take turns (`warp.ordered_barrier`) meet: all of them are explored, and it
    is proven that each takes as many turns, because what decides about turns does
    not depend on the replica, or because a replica takes a turn as often as it
    acquires an entry of some ring. So do replicas of which one writes for all (a
    `leader` cursor): all are explored, and control around accesses to the ring
    may not depend on the replica.

    Input: any module; kernels without `warp.specialize` pass. Output: unchanged.
    Fails with an error at the access, loop or ring, and notes that say who
    waits for what since where. Declines, as an error, control other than
    `scf.for` and `scf.if` around accesses to rings.

    Example of an error:
    ```
    error: 'warp.acquire' op waits forever: no group can go on
    note: @load waits here for @math replica 0 to release entry 2
    note: @math replica 0 holds it since here
    note: @math replica 0 waits here for entry 3 to be published
    ```
  }];
  let statistics = [
    Statistic<"numStates", "num-states", "relative states explored">,
  ];
}

#endif // FA3_WARP_PASSES
