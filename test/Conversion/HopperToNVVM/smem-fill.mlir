// RUN: fa3-opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(gpu.module(convert-hopper-to-nvvm,canonicalize,cse))' | FileCheck %s

// 3072 bytes by 128 threads of 16 bytes: all of them, then half of them.
gpu.module @m {
  // CHECK-LABEL: llvm.func @fill(
  // CHECK-DAG: %[[WORD:.*]] = arith.constant 805318656 : i32
  // CHECK-DAG: %[[HALF:.*]] = arith.constant 64 : i32
  // CHECK: "st.shared.v4.b32 [$0], {$1, $1, $1, $1};", "r,r,~{memory}" %{{.*}}, %[[WORD]] :
  // CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %{{.*}}, %[[HALF]]
  // CHECK: "@$2 st.shared.v4.b32 [$0], {$1, $1, $1, $1};"{{.*}}%[[WORD]], %[[INSIDE]]
  // CHECK: "fence.proxy.async.shared::cta;"
  // CHECK: nvvm.barrier0
  gpu.func @fill() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %b = hopper.smem.alloc offset 0 : !hopper.buffer<3, tensor<8x64xf16>, 128>
    hopper.smem.fill %b, 0.125 : f16 : !hopper.buffer<3, tensor<8x64xf16>, 128>
    gpu.barrier
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @group() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %b = hopper.smem.alloc offset 0 : !hopper.buffer<1, tensor<8x64xf16>, 128>
    warp.specialize {
      warp.group @math warps 4 at 0 (%r) {
        // expected-error @+2 {{expects to stand outside of groups, all threads of the block perform it}}
        // expected-error @+1 {{failed to legalize operation 'hopper.smem.fill'}}
        hopper.smem.fill %b, 0.125 : f16 : !hopper.buffer<1, tensor<8x64xf16>, 128>
      }
    }
    gpu.return
  }
}
