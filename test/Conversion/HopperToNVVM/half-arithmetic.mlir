// RUN: fa3-opt %s --pass-pipeline='builtin.module(gpu.module(convert-hopper-to-nvvm,canonicalize,cse))' | FileCheck %s

// Arithmetic of 16-bit floats keeps subnormals, two elements an instruction,
// although the kernel flushes those of f32.

#f = #hopper.fragment<[64, 16], reg = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>
gpu.module @m {
  // CHECK-LABEL: llvm.func @halves
  // CHECK-DAG: %[[MINUS:.*]] = arith.constant dense<-1.000000e+00> : vector<8xf16>
  // CHECK-DAG: %[[ONE:.*]] = arith.constant dense<1.000000e+00> : vector<8xf16>
  // CHECK-DAG: %[[NONE:.*]] = arith.constant dense<-0.000000e+00> : vector<8xf16>
  // CHECK: %[[A:.*]]:8 = vector.to_elements %{{.*}} : vector<8xf16>
  // CHECK: %[[B:.*]]:8 = vector.to_elements %{{.*}} : vector<8xf16>
  // CHECK: %[[N:.*]]:8 = vector.to_elements %[[NONE]]
  // CHECK: %[[A0:.*]] = vector.from_elements %[[A]]#0, %[[A]]#1 : vector<2xf16>
  // CHECK: %[[B0:.*]] = vector.from_elements %[[B]]#0, %[[B]]#1 : vector<2xf16>
  // CHECK: %[[N0:.*]] = vector.from_elements %[[N]]#0, %[[N]]#1 : vector<2xf16>
  // CHECK: %[[P:.*]] = llvm.call_intrinsic "llvm.nvvm.fma.rn.f16x2"(%[[A0]], %[[B0]], %[[N0]])
  // CHECK: vector.to_elements %[[ONE]]
  // CHECK: vector.to_elements %[[MINUS]]
  // CHECK-NOT: arith.{{addf|subf|mulf}}
  gpu.func @halves(%out: !llvm.ptr<1>, %n: i32, %stride: i64, %a: vector<8xf16>, %b: vector<8xf16>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %product = arith.mulf %a, %b : vector<8xf16>
    %sum = arith.addf %product, %b : vector<8xf16>
    %difference = arith.subf %sum, %a : vector<8xf16>
    %fused = math.fma %difference, %a, %b : vector<8xf16>
    hopper.fragment.store %fused, %out[%c0, %c0] strides(%stride, %stride) bounds(%n, %n) of #f : vector<8xf16>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @brains
  // CHECK-COUNT-4: "llvm.nvvm.fma.rn.bf16x2"
  // CHECK: llvm.return
  gpu.func @brains(%out: !llvm.ptr<1>, %n: i32, %stride: i64, %a: vector<8xbf16>, %b: vector<8xbf16>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %product = arith.mulf %a, %b : vector<8xbf16>
    hopper.fragment.store %product, %out[%c0, %c0] strides(%stride, %stride) bounds(%n, %n) of #f : vector<8xbf16>
    gpu.return
  }
}
