//===- WarpBase.td - the warp dialect ----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_WARP_BASE
#define FA3_WARP_BASE

include "mlir/IR/OpBase.td"

def Warp_Dialect : Dialect {
  let name = "warp";
  let cppNamespace = "::fa3::warp";
  let summary = "who works on what: groups of warps joined by bounded FIFOs";
  let description = [{
    One CTA as a deterministic dataflow network. `warp.specialize` holds groups
    of warps that run side by side; they exchange data only through *rings*:
    bounded FIFOs of entries in shared memory. A *cursor* is a position in a
    ring; acquiring an entry gives a *slot* and the next cursor. Cursors and
    slots are linear values: the position in a ring is never recomputed from a
    loop counter, it is threaded through the control flow like any other value,
    so it survives persistent loops, guards and software pipelining.

    With one writer per ring part and blocking acquires on both sides the
    network is a Kahn network with bounded buffers (G. Kahn, "The Semantics of
    a Simple Language for Parallel Programming", 1974): its results do not
    depend on how the groups interleave.

    The dialect knows no tiles: what a ring carries is any type, and its size
    is asked of the type or its encoding.
  }];
  let useDefaultTypePrinterParser = 1;
}

#endif // FA3_WARP_BASE
