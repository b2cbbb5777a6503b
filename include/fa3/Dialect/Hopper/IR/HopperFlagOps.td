//===- HopperFlagOps.td - tiles that another kernel waits for -*- tablegen -*-=//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_HOPPER_FLAG_OPS
#define FA3_HOPPER_FLAG_OPS

include "fa3/Dialect/Hopper/IR/HopperOps.td"

def Hopper_FlagClearOp : Hopper_OrderedOp<"flag.clear", [AttrSizedOperandSegments]> {
  let summary = "the last warp of the block writes 0 to a flag";
  let description = [{
    A flag is an i32 in global memory, at `pointer` plus the sum of index *
    stride. The last warp goes on when the write is in memory (st.relaxed.gpu,
    fence.acq_rel.gpu): as a rule it waits for data at the start of a kernel.
    With `start` it then lets the next kernel start, for the block
    (griddepcontrol.launch_dependents).

    Example: `hopper.flag.clear %flags[%part, %m] strides(%s, %t) start`

    C1. as many strides as indices.
    C2. outside of groups.
  }];
  let arguments = (ins Hopper_Pointer:$pointer, Variadic<I32>:$indices,
                       Variadic<I64>:$strides, UnitAttr:$start);
  let assemblyFormat = [{
    $pointer `[` $indices `]` `strides` `(` $strides `)` (`start` $start^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Hopper_FlagSetOp : Hopper_OrderedOp<"flag.set", [AttrSizedOperandSegments]> {
  let summary = "the elected thread of the block writes 1 to a flag";
  let description = [{
    Behind a barrier of the block: whoever reads the 1 sees all that its threads
    have stored (fence.acq_rel.gpu, st.release.gpu). Bulk stores have to be
    complete, which `hopper.tma.wait_read written` is for.

    Example: `hopper.flag.set %flags[%part, %m] strides(%s, %t)`

    C1. as many strides as indices.
    C2. outside of groups.
  }];
  let arguments = (ins Hopper_Pointer:$pointer, Variadic<I32>:$indices,
                       Variadic<I64>:$strides);
  let assemblyFormat = "$pointer `[` $indices `]` `strides` `(` $strides `)` attr-dict";
  let hasVerifier = 1;
}

def Hopper_FlagAwaitOp : Hopper_OrderedOp<"flag.await", [AttrSizedOperandSegments]> {
  let summary = "threads of the block wait until flags are 1, one each";
  let description = [{
    There are `count` flags, the first one at `pointer` plus the sum of index *
    stride, the others `step` elements behind each other. Thread i reads flags
    i, i + threads, and so on, until they are 1 (ld.acquire.gpu). A barrier of
    the block makes the others wait. With `copies` bulk copies may read what is
    behind the flags, too (fence.proxy.async.global).

    Example: `hopper.flag.await %flags[%m] strides(%t) count %parts step %s`

    C1. as many strides as indices.
    C2. outside of groups.
  }];
  let arguments = (ins Hopper_Pointer:$pointer, Variadic<I32>:$indices,
                       Variadic<I64>:$strides, I32:$count, I64:$step,
                       UnitAttr:$copies);
  let assemblyFormat = [{
    $pointer `[` $indices `]` `strides` `(` $strides `)` `count` $count `step` $step
    (`copies` $copies^)? attr-dict
  }];
  let hasVerifier = 1;
}

#endif // FA3_HOPPER_FLAG_OPS
