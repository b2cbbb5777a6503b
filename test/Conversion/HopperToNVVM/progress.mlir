// RUN: fa3-opt %s --pass-pipeline='builtin.module(gpu.module(convert-hopper-to-nvvm,canonicalize,cse))' | FileCheck %s

gpu.module @m {
  // The tile before is further, the own copies are over, this tile says that it has
  // come so far. Of one that has ended the next one is asked.
  // CHECK-LABEL: llvm.func @pass
  // CHECK-NOT: llvm.alloca
  // CHECK: llvm.inline_asm has_side_effects
  // CHECK-SAME: mov.b32 seen, -1;\0Amov.b64 back, 0;
  // CHECK-SAME: mov.b32 position, $0;\0Amov.b64 own, $1;\0Amov.b64 before, $2;
  // CHECK-SAME: setp.gt.s32 go, seen, position;\0A@go bra GO_${:uid};
  // CHECK-SAME: LOOK_${:uid}:\0Ald.acquire.gpu.global.s32 seen, [at];\0Asetp.eq.s32 ended, seen, 2147483646;\0A@ended add.s64 back, back, stride;\0A@ended sub.s64 at, at, stride;\0A@ended bra LOOK_${:uid};\0Asetp.le.s32 again, seen, position;\0A@again bra LOOK_${:uid};\0A@elected fence.proxy.async.global;
  // CHECK-SAME: @elected cp.async.bulk.wait_group 0;\0A@elected fence.proxy.async.global;\0A@elected st.release.gpu.global.s32 [own], position;\0A}
  gpu.func @pass(%p: !llvm.ptr<1>, %n: i32, %stride: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %one = arith.constant 1 : i64
    hopper.progress.pass %n at %p[%n, %n] strides(%stride, %one)
    gpu.return
  }

  // Behind the last addition nobody waits.
  // CHECK-LABEL: llvm.func @end
  // CHECK: llvm.inline_asm has_side_effects
  // CHECK-SAME: @elected cp.async.bulk.wait_group 0;\0A@elected fence.proxy.async.global;\0A@elected st.release.gpu.global.s32 [own], position;\0A}
  // CHECK-NOT: ld.acquire
  // CHECK: llvm.return
  gpu.func @end(%p: !llvm.ptr<1>, %n: i32, %stride: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %one = arith.constant 1 : i64
    hopper.progress.pass %n at %p[%n, %n] strides(%stride, %one) end
    gpu.return
  }

  // A group of one warp remembers what it has seen. It starts anew behind an end.
  // CHECK-LABEL: llvm.func @remember
  // CHECK: %[[SEEN:.*]] = llvm.alloca {{.*}} x i32
  // CHECK: llvm.alloca {{.*}} x i64
  // CHECK: llvm.store %[[NEVER:.*]], %[[SEEN]]
  // CHECK: %[[WAS:.*]] = llvm.load %[[SEEN]]
  // CHECK: %[[STATE:.*]] = llvm.inline_asm has_side_effects
  // CHECK-SAME: mov.b32 seen, $0;\0Amov.b64 back, $1;\0Amov.b32 position, $4;
  // CHECK-SAME: mov.b32 $0, seen;\0Amov.b64 $1, back;\0A}
  // CHECK-SAME: "=&r,=&l,0,1,r,
  // CHECK-SAME: %[[WAS]],
  // CHECK: %[[IS:.*]] = llvm.extractvalue %[[STATE]][0]
  // CHECK: llvm.store %[[IS]], %[[SEEN]]
  // CHECK: llvm.inline_asm has_side_effects
  // CHECK: llvm.store %[[NEVER]], %[[SEEN]]
  gpu.func @remember(%p: !llvm.ptr<1>, %n: i32, %stride: i64) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %one = arith.constant 1 : i64
    warp.specialize {
      warp.group @store warps 1 at 0 (%g) {
        hopper.progress.pass %n at %p[%n, %n] strides(%stride, %one)
        %end = arith.constant 2147483646 : i32
        hopper.progress.pass %end at %p[%n, %n] strides(%stride, %one) end
      }
    }
    gpu.return
  }
}
