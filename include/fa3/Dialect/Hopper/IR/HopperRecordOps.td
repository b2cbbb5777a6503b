//===- HopperRecordOps.td - records of when things happen --*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Instrumentation, put into kernels by hopper-insert-records only.
//===----------------------------------------------------------------------===//

#ifndef FA3_HOPPER_RECORD_OPS
#define FA3_HOPPER_RECORD_OPS

include "fa3/Dialect/Hopper/IR/HopperOps.td"

def Hopper_RecordOp : Hopper_OrderedOp<"record"> {
  let summary = "the elected thread writes down the time of an event";
  let description = [{
    Entry `position` of an array of i64 becomes the event (high 32 bits) and the
    clock of the multiprocessor in cycles (low 32 bits, `%clock`). Gives the next
    position; -1, at which nothing is written, after the last entry of a row of
    `capacity` entries, and after -1.

    Example: `%next = hopper.record 3 at %p in %buffer capacity 1024`

    C1. event is between 0 and 65535.
    C2. capacity is a power of two between 2 and 2^24.
  }];
  let arguments = (ins I64Attr:$event, I32:$position, Hopper_Pointer:$buffer,
                       I64Attr:$capacity);
  let results = (outs I32:$next);
  let assemblyFormat = "$event `at` $position `in` $buffer `capacity` $capacity attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    static constexpr int64_t kMaxCapacity = int64_t(1) << 24, kMaxEvent = 65535;
  }];
}

#endif // FA3_HOPPER_RECORD_OPS
