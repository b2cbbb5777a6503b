// RUN: fa3-opt %s --pass-pipeline='builtin.module(gpu.module(convert-hopper-to-nvvm,canonicalize,cse))' | FileCheck %s

// The elected thread writes the clock and the event; the position moves on in all
// threads and is -1 behind the end of a row.

// CHECK-LABEL: llvm.func @kernel
// CHECK-SAME: !llvm.ptr<1> {hopper.access = "write"}
gpu.module @m {
  gpu.func @kernel(%records: !llvm.ptr<1>, %start: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    warp.specialize {
      warp.group @math warps 4 at 0 (%g) {
        %c0 = arith.constant 0 : i32
        // CHECK: %[[IN:.*]] = arith.cmpi sge, %[[P:.*]], %c0
        // CHECK: %[[WRITES:.*]] = arith.andi %[[IN]], %{{.*}} : i1
        // CHECK: llvm.inline_asm has_side_effects {{.*}}mov.u32 %time, %clock; mov.b32 %event, 7; mad.wide.s32 %entry, $1, 8, $0; @$2 st.global.v2.b32 [%entry], {%time, %event}
        // CHECK: %[[NEXT:.*]] = arith.addi %[[P]], %c1
        // CHECK: %[[ROW:.*]] = arith.andi %[[NEXT]], %c63
        // CHECK: %[[FULL:.*]] = arith.cmpi eq, %[[ROW]], %c0
        // CHECK: arith.select %[[FULL]], %c-1{{.*}}, %[[NEXT]]
        %next = hopper.record 7 at %start in %records capacity 64
        %end = hopper.record 8 at %next in %records capacity 64
        hopper.named_barrier.sync %c0 threads 128
      }
    }
    gpu.return
  }
}
