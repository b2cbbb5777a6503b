//===- HopperProgressOps.td - additions in one order -------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Their classes are in ProgressOps.h: few passes ask for them.
//===----------------------------------------------------------------------===//
#ifndef FA3_HOPPER_PROGRESS_OPS
#define FA3_HOPPER_PROGRESS_OPS

include "fa3/Dialect/Hopper/IR/HopperOps.td"

def Hopper_ProgressPassOp : Hopper_OrderedOp<"progress.pass", [AttrSizedOperandSegments]> {
  let summary = "the group comes to a position behind that of another CTA";
  let description = [{
    An array of i32 says how far tiles are with their additions: the element at
    `pointer` plus the sum of index * stride is that of the tile before, and the
    one with the last index but one raised by 1 that of this one. The group

    1. reads the element of the tile before until it is greater than `position`
       (ld.acquire.gpu). If that is the greatest i32 but one, the tile has ended,
       and the one before that is asked from then on: its element has the index
       less by 1,
    2. waits until its groups of stores are complete (cp.async.bulk.wait_group,
       fence.proxy.async.global),
    3. writes `position` to its own element (st.release.gpu): the additions at
       lower positions are in memory, its own and those of all tiles before it.

    With `end`, behind which no addition follows, it does not read, and `position`
    is the greatest i32 but one: it says nothing of the tiles before it.

    The stores up to the next `hopper.tma.commit` come behind all that tiles in
    front add at this position (fence.proxy.async.global). A group that passes
    positions adds nowhere else. The elected thread does all this; the others
    wait, too. A group of one warp keeps what it has read, and asks again when
    that does not reach any more.

    It is another CTA that ends the wait. It must have started before this one,
    or there may be no room for it. hopper-check-protocol looks at one CTA and
    assumes that the wait ends; the interpreter runs CTAs in the order of their
    numbers, and reports one that does not.

    Example: `hopper.progress.pass %p at %P[%h, %n, %g] strides(%s, %t, %u)`

    C1. as many strides as indices, which are two at least.
  }];
  let arguments = (ins I32:$position, Hopper_Pointer:$pointer, Variadic<I32>:$indices,
                       Variadic<I64>:$strides, UnitAttr:$end);
  let assemblyFormat = [{
    $position `at` $pointer `[` $indices `]` `strides` `(` $strides `)` (`end` $end^)? attr-dict
  }];
  let hasVerifier = 1;
}

#endif // FA3_HOPPER_PROGRESS_OPS
