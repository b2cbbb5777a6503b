// GroupQueryAttention of com.microsoft as decoders have it, and what ONNX has
// for the same: packed operands, caches, rotation. The answers are those of a
// formula in Inputs/grouped.py.
// REQUIRES: mlir-runner
// RUN: %embedding --before convert-to-attention --kernels 12
// RUN: cat %S/Inputs/prelude.mlir %s | fa3-opt -allow-unregistered-dialect -convert-to-attention -attention-outline | FileCheck %s

// One step: the cache is updated where it is, keys are rotated on the way.
// CHECK-LABEL: func.func private @step(
// CHECK-NOT: tensor.insert_slice
// CHECK: attention.call @step_append({{.*}}) updates outs(%arg1 :
// CHECK: attention.call @step_append_1({{.*}}) updates outs(%arg2 :
// CHECK: attention.call @step_attention(
// CHECK-NOT: onnx.Custom
// CHECK: return
func.func private @step(%x: tensor<2x1x128xf16>, %pk: tensor<2x2x20x16xf16>, %pv: tensor<2x2x20x16xf16>, %last: tensor<2xi32>, %cos: tensor<40x8xf16>, %sin: tensor<40x8xf16>) -> (tensor<2x1x64xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>) {
  %n = "onnx.NoValue"() : () -> none
  %total = arith.constant dense<10> : tensor<i32>
  %y, %k, %v = "onnx.Custom"(%x, %n, %n, %pk, %pv, %last, %total, %cos, %sin) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64, do_rotary = 1 : si64, local_window_size = 6 : si64, softcap = 3.0 : f32, scale = 0.1 : f32} : (tensor<2x1x128xf16>, none, none, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2xi32>, tensor<i32>, tensor<40x8xf16>, tensor<40x8xf16>) -> (tensor<2x1x64xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>)
  return %y, %k, %v : tensor<2x1x64xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>
}

// Three rows at a time, extents that no type says: another cache with the past
// in it; pairs side by side, sinks, a bias.
// CHECK-LABEL: func.func private @chunk(
// CHECK: arith.maxsi
// CHECK: tensor.insert_slice
// CHECK: attention.call @chunk_append(
// CHECK-NOT: onnx.Custom
// CHECK: return
func.func private @chunk(%q: tensor<?x?x64xf16>, %k: tensor<?x?x32xf16>, %v: tensor<?x?x32xf16>, %pk: tensor<?x2x?x16xf16>, %pv: tensor<?x2x?x16xf16>, %last: tensor<?xi32>, %total: tensor<i32>, %cos: tensor<?x8xf16>, %sin: tensor<?x8xf16>, %bias: tensor<?x4x?x?xf16>, %sinks: tensor<4xf16>) -> (tensor<?x?x64xf16>, tensor<?x2x?x16xf16>, tensor<?x2x?x16xf16>) {
  %n = "onnx.NoValue"() : () -> none
  %y, %nk, %nv = "onnx.Custom"(%q, %k, %v, %pk, %pv, %last, %total, %cos, %sin, %n, %bias, %sinks) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64, do_rotary = 1 : si64, rotary_interleaved = 1 : si64} : (tensor<?x?x64xf16>, tensor<?x?x32xf16>, tensor<?x?x32xf16>, tensor<?x2x?x16xf16>, tensor<?x2x?x16xf16>, tensor<?xi32>, tensor<i32>, tensor<?x8xf16>, tensor<?x8xf16>, none, tensor<?x4x?x?xf16>, tensor<4xf16>) -> (tensor<?x?x64xf16>, tensor<?x2x?x16xf16>, tensor<?x2x?x16xf16>)
  return %y, %nk, %nv : tensor<?x?x64xf16>, tensor<?x2x?x16xf16>, tensor<?x2x?x16xf16>
}

// A prompt without a past, of which some is padding, by positions that the
// program gives. What is kept is the keys as they are rotated.
// CHECK-LABEL: func.func private @prompt(
// CHECK-NOT: attention.append
// CHECK: linalg.transpose
// CHECK-NOT: onnx.Custom
// CHECK: return
func.func private @prompt(%x: tensor<2x5x128xf16>, %last: tensor<2x1xi32>, %cos: tensor<40x8xf16>, %sin: tensor<40x8xf16>, %positions: tensor<2x5xi64>) -> (tensor<2x5x64xf16>, tensor<2x2x5x16xf16>, tensor<2x2x5x16xf16>) {
  %n = "onnx.NoValue"() : () -> none
  %total = arith.constant dense<5> : tensor<i32>
  %y, %k, %v = "onnx.Custom"(%x, %n, %n, %n, %n, %last, %total, %cos, %sin, %positions) {domain_name = "com.microsoft", function_name = "GroupQueryAttention", num_heads = 4 : si64, kv_num_heads = 2 : si64, do_rotary = 1 : si64, smooth_softmax = 1 : si64} : (tensor<2x5x128xf16>, none, none, none, none, tensor<2x1xi32>, tensor<i32>, tensor<40x8xf16>, tensor<40x8xf16>, tensor<2x5xi64>) -> (tensor<2x5x64xf16>, tensor<2x2x5x16xf16>, tensor<2x2x5x16xf16>)
  return %y, %k, %v : tensor<2x5x64xf16>, tensor<2x2x5x16xf16>, tensor<2x2x5x16xf16>
}

// Attention of ONNX: all keys are results, and the last query sees all of them.
// CHECK-LABEL: func.func private @past(
// CHECK-COUNT-4: tensor.insert_slice
// CHECK-NOT: onnx.Attention
// CHECK: return
func.func private @past(%q: tensor<2x3x64xf16>, %k: tensor<2x3x32xf16>, %pk: tensor<2x2x7x16xf16>, %pv: tensor<2x2x7x16xf16>, %mask: tensor<3x10xi1>) -> (tensor<2x3x64xf16>, tensor<2x2x10x16xf16>) {
  %y, %nk, %nv = "onnx.Attention"(%q, %k, %k, %mask, %pk, %pv) {q_num_heads = 4 : si64, kv_num_heads = 2 : si64, is_causal = 1 : si64} : (tensor<2x3x64xf16>, tensor<2x3x32xf16>, tensor<2x3x32xf16>, tensor<3x10xi1>, tensor<2x2x7x16xf16>, tensor<2x2x7x16xf16>) -> (tensor<2x3x64xf16>, tensor<2x2x10x16xf16>, tensor<2x2x10x16xf16>)
  return %y, %nv : tensor<2x3x64xf16>, tensor<2x2x10x16xf16>
}

// The same in the operations of opset 24: rows go into caches by themselves.
// CHECK-LABEL: func.func private @parts(
// CHECK-NOT: tensor.insert_slice
// CHECK: attention.call @parts_append(
// CHECK-NOT: onnx.
// CHECK: return
func.func private @parts(%q: tensor<2x4x3x16xf16>, %k: tensor<2x2x3x16xf16>, %pk: tensor<2x2x20x16xf16>, %pv: tensor<2x2x20x16xf16>, %at: tensor<2xi64>, %used: tensor<2xi64>, %cos: tensor<2x3x8xf16>, %sin: tensor<2x3x8xf16>) -> (tensor<2x4x3x16xf16>, tensor<2x2x20x16xf16>) {
  %n = "onnx.NoValue"() : () -> none
  %r = "onnx.RotaryEmbedding"(%q, %cos, %sin, %n) : (tensor<2x4x3x16xf16>, tensor<2x3x8xf16>, tensor<2x3x8xf16>, none) -> tensor<2x4x3x16xf16>
  %t = "onnx.RotaryEmbedding"(%k, %cos, %sin, %n) : (tensor<2x2x3x16xf16>, tensor<2x3x8xf16>, tensor<2x3x8xf16>, none) -> tensor<2x2x3x16xf16>
  %nk = "onnx.TensorScatter"(%pk, %t, %at) {axis = -2 : si64, mode = "linear"} : (tensor<2x2x20x16xf16>, tensor<2x2x3x16xf16>, tensor<2xi64>) -> tensor<2x2x20x16xf16>
  %nv = "onnx.TensorScatter"(%pv, %k, %at) {axis = -2 : si64, mode = "linear"} : (tensor<2x2x20x16xf16>, tensor<2x2x3x16xf16>, tensor<2xi64>) -> tensor<2x2x20x16xf16>
  %y, %0, %1 = "onnx.Attention"(%r, %nk, %nv, %n, %n, %n, %used) {is_causal = 1 : si64} : (tensor<2x4x3x16xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, none, none, none, tensor<2xi64>) -> (tensor<2x4x3x16xf16>, none, none)
  return %y, %nk : tensor<2x4x3x16xf16>, tensor<2x2x20x16xf16>
}

func.func @main() {
  %n256 = arith.constant 256 : index
  %n1 = arith.constant 1 : index
  %n1280 = arith.constant 1280 : index
  %n2 = arith.constant 2 : index
  %n3 = arith.constant 3 : index
  %n320 = arith.constant 320 : index
  %n4 = arith.constant 4 : index
  %n5 = arith.constant 5 : index
  %n384 = arith.constant 384 : index
  %n6 = arith.constant 6 : index
  %n192 = arith.constant 192 : index
  %n7 = arith.constant 7 : index
  %n8 = arith.constant 8 : index
  %n448 = arith.constant 448 : index
  %n9 = arith.constant 9 : index
  %n10 = arith.constant 10 : index
  %n240 = arith.constant 240 : index
  %n11 = arith.constant 11 : index
  %n12 = arith.constant 12 : index
  %n13 = arith.constant 13 : index
  %n14 = arith.constant 14 : index
  %n15 = arith.constant 15 : index
  %n48 = arith.constant 48 : index
  %n16 = arith.constant 16 : index
  %n17 = arith.constant 17 : index
  %x_a = call @noise(%n256, %n1) : (index, index) -> tensor<?xf16>
  %x_b = tensor.cast %x_a : tensor<?xf16> to tensor<256xf16>
  %x = tensor.expand_shape %x_b [[0, 1, 2]] output_shape [2, 1, 128] : tensor<256xf16> into tensor<2x1x128xf16>
  %pk_a = call @noise(%n1280, %n2) : (index, index) -> tensor<?xf16>
  %pk_b = tensor.cast %pk_a : tensor<?xf16> to tensor<1280xf16>
  %pk = tensor.expand_shape %pk_b [[0, 1, 2, 3]] output_shape [2, 2, 20, 16] : tensor<1280xf16> into tensor<2x2x20x16xf16>
  %pv_a = call @noise(%n1280, %n3) : (index, index) -> tensor<?xf16>
  %pv_b = tensor.cast %pv_a : tensor<?xf16> to tensor<1280xf16>
  %pv = tensor.expand_shape %pv_b [[0, 1, 2, 3]] output_shape [2, 2, 20, 16] : tensor<1280xf16> into tensor<2x2x20x16xf16>
  %cos_a = call @noise(%n320, %n4) : (index, index) -> tensor<?xf16>
  %cos_b = tensor.cast %cos_a : tensor<?xf16> to tensor<320xf16>
  %cos = tensor.expand_shape %cos_b [[0, 1]] output_shape [40, 8] : tensor<320xf16> into tensor<40x8xf16>
  %sin_a = call @noise(%n320, %n5) : (index, index) -> tensor<?xf16>
  %sin_b = tensor.cast %sin_a : tensor<?xf16> to tensor<320xf16>
  %sin = tensor.expand_shape %sin_b [[0, 1]] output_shape [40, 8] : tensor<320xf16> into tensor<40x8xf16>
  %cq_a = call @noise(%n384, %n6) : (index, index) -> tensor<?xf16>
  %cq_b = tensor.cast %cq_a : tensor<?xf16> to tensor<384xf16>
  %cq = tensor.expand_shape %cq_b [[0, 1, 2]] output_shape [2, 3, 64] : tensor<384xf16> into tensor<2x3x64xf16>
  %ck_a = call @noise(%n192, %n7) : (index, index) -> tensor<?xf16>
  %ck_b = tensor.cast %ck_a : tensor<?xf16> to tensor<192xf16>
  %ck = tensor.expand_shape %ck_b [[0, 1, 2]] output_shape [2, 3, 32] : tensor<192xf16> into tensor<2x3x32xf16>
  %cv_a = call @noise(%n192, %n8) : (index, index) -> tensor<?xf16>
  %cv_b = tensor.cast %cv_a : tensor<?xf16> to tensor<192xf16>
  %cv = tensor.expand_shape %cv_b [[0, 1, 2]] output_shape [2, 3, 32] : tensor<192xf16> into tensor<2x3x32xf16>
  %ppk_a = call @noise(%n448, %n9) : (index, index) -> tensor<?xf16>
  %ppk_b = tensor.cast %ppk_a : tensor<?xf16> to tensor<448xf16>
  %ppk = tensor.expand_shape %ppk_b [[0, 1, 2, 3]] output_shape [2, 2, 7, 16] : tensor<448xf16> into tensor<2x2x7x16xf16>
  %ppv_a = call @noise(%n448, %n10) : (index, index) -> tensor<?xf16>
  %ppv_b = tensor.cast %ppv_a : tensor<?xf16> to tensor<448xf16>
  %ppv = tensor.expand_shape %ppv_b [[0, 1, 2, 3]] output_shape [2, 2, 7, 16] : tensor<448xf16> into tensor<2x2x7x16xf16>
  %bias_a = call @noise(%n240, %n11) : (index, index) -> tensor<?xf16>
  %bias_b = tensor.cast %bias_a : tensor<?xf16> to tensor<240xf16>
  %bias = tensor.expand_shape %bias_b [[0, 1, 2, 3]] output_shape [2, 4, 3, 10] : tensor<240xf16> into tensor<2x4x3x10xf16>
  %sinks_a = call @noise(%n4, %n12) : (index, index) -> tensor<?xf16>
  %sinks = tensor.cast %sinks_a : tensor<?xf16> to tensor<4xf16>
  %prompt_a = call @noise(%n1280, %n13) : (index, index) -> tensor<?xf16>
  %prompt_b = tensor.cast %prompt_a : tensor<?xf16> to tensor<1280xf16>
  %prompt = tensor.expand_shape %prompt_b [[0, 1, 2]] output_shape [2, 5, 128] : tensor<1280xf16> into tensor<2x5x128xf16>
  %rq_a = call @noise(%n384, %n14) : (index, index) -> tensor<?xf16>
  %rq_b = tensor.cast %rq_a : tensor<?xf16> to tensor<384xf16>
  %rq = tensor.expand_shape %rq_b [[0, 1, 2, 3]] output_shape [2, 4, 3, 16] : tensor<384xf16> into tensor<2x4x3x16xf16>
  %rk_a = call @noise(%n192, %n15) : (index, index) -> tensor<?xf16>
  %rk_b = tensor.cast %rk_a : tensor<?xf16> to tensor<192xf16>
  %rk = tensor.expand_shape %rk_b [[0, 1, 2, 3]] output_shape [2, 2, 3, 16] : tensor<192xf16> into tensor<2x2x3x16xf16>
  %rcos_a = call @noise(%n48, %n16) : (index, index) -> tensor<?xf16>
  %rcos_b = tensor.cast %rcos_a : tensor<?xf16> to tensor<48xf16>
  %rcos = tensor.expand_shape %rcos_b [[0, 1, 2]] output_shape [2, 3, 8] : tensor<48xf16> into tensor<2x3x8xf16>
  %rsin_a = call @noise(%n48, %n17) : (index, index) -> tensor<?xf16>
  %rsin_b = tensor.cast %rsin_a : tensor<?xf16> to tensor<48xf16>
  %rsin = tensor.expand_shape %rsin_b [[0, 1, 2]] output_shape [2, 3, 8] : tensor<48xf16> into tensor<2x3x8xf16>
  %last = arith.constant dense<[4, 9]> : tensor<2xi32>
  %chunk_last = arith.constant dense<[5, 9]> : tensor<2xi32>
  %total = arith.constant dense<10> : tensor<i32>
  %prompt_last = arith.constant dense<[[4], [2]]> : tensor<2x1xi32>
  %positions = arith.constant dense<[[0, 1, 2, 3, 4], [7, 9, 8, 39, 0]]> : tensor<2x5xi64>
  %mask = arith.constant dense<[[true, true, true, false, true, true, true, true, true, true], [true, false, true, true, true, true, true, true, true, true], [false, true, true, true, true, true, true, true, false, true]]> : tensor<3x10xi1>
  %at = arith.constant dense<[4, 9]> : tensor<2xi64>
  %used = arith.constant dense<[7, 12]> : tensor<2xi64>
  %y0, %k0, %v0 = call @step(%x, %pk, %pv, %last, %cos, %sin) : (tensor<2x1x128xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2xi32>, tensor<40x8xf16>, tensor<40x8xf16>) -> (tensor<2x1x64xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>)
  %cq_any = tensor.cast %cq : tensor<2x3x64xf16> to tensor<?x?x64xf16>
  %ck_any = tensor.cast %ck : tensor<2x3x32xf16> to tensor<?x?x32xf16>
  %cv_any = tensor.cast %cv : tensor<2x3x32xf16> to tensor<?x?x32xf16>
  %ppk_any = tensor.cast %ppk : tensor<2x2x7x16xf16> to tensor<?x2x?x16xf16>
  %ppv_any = tensor.cast %ppv : tensor<2x2x7x16xf16> to tensor<?x2x?x16xf16>
  %chunk_last_any = tensor.cast %chunk_last : tensor<2xi32> to tensor<?xi32>
  %cos_any = tensor.cast %cos : tensor<40x8xf16> to tensor<?x8xf16>
  %sin_any = tensor.cast %sin : tensor<40x8xf16> to tensor<?x8xf16>
  %bias_any = tensor.cast %bias : tensor<2x4x3x10xf16> to tensor<?x4x?x?xf16>
  %y1, %k1, %v1 = call @chunk(%cq_any, %ck_any, %cv_any, %ppk_any, %ppv_any, %chunk_last_any, %total, %cos_any, %sin_any, %bias_any, %sinks) : (tensor<?x?x64xf16>, tensor<?x?x32xf16>, tensor<?x?x32xf16>, tensor<?x2x?x16xf16>, tensor<?x2x?x16xf16>, tensor<?xi32>, tensor<i32>, tensor<?x8xf16>, tensor<?x8xf16>, tensor<?x4x?x?xf16>, tensor<4xf16>) -> (tensor<?x?x64xf16>, tensor<?x2x?x16xf16>, tensor<?x2x?x16xf16>)
  %y2, %k2, %v2 = call @prompt(%prompt, %prompt_last, %cos, %sin, %positions) : (tensor<2x5x128xf16>, tensor<2x1xi32>, tensor<40x8xf16>, tensor<40x8xf16>, tensor<2x5xi64>) -> (tensor<2x5x64xf16>, tensor<2x2x5x16xf16>, tensor<2x2x5x16xf16>)
  %y3, %v3 = call @past(%cq, %ck, %ppk, %ppv, %mask) : (tensor<2x3x64xf16>, tensor<2x3x32xf16>, tensor<2x2x7x16xf16>, tensor<2x2x7x16xf16>, tensor<3x10xi1>) -> (tensor<2x3x64xf16>, tensor<2x2x10x16xf16>)
  %y4, %k4 = call @parts(%rq, %rk, %pk, %pv, %at, %used, %rcos, %rsin) : (tensor<2x4x3x16xf16>, tensor<2x2x3x16xf16>, tensor<2x2x20x16xf16>, tensor<2x2x20x16xf16>, tensor<2xi64>, tensor<2xi64>, tensor<2x3x8xf16>, tensor<2x3x8xf16>) -> (tensor<2x4x3x16xf16>, tensor<2x2x20x16xf16>)
  %y0_r = tensor.collapse_shape %y0 [[0, 1, 2]] : tensor<2x1x64xf16> into tensor<128xf16>
  %y0_s = tensor.cast %y0_r : tensor<128xf16> to tensor<?xf16>
  call @print(%y0_s) : (tensor<?xf16>) -> ()
  %k0_r = tensor.collapse_shape %k0 [[0, 1, 2, 3]] : tensor<2x2x20x16xf16> into tensor<1280xf16>
  %k0_s = tensor.cast %k0_r : tensor<1280xf16> to tensor<?xf16>
  call @print(%k0_s) : (tensor<?xf16>) -> ()
  %v0_r = tensor.collapse_shape %v0 [[0, 1, 2, 3]] : tensor<2x2x20x16xf16> into tensor<1280xf16>
  %v0_s = tensor.cast %v0_r : tensor<1280xf16> to tensor<?xf16>
  call @print(%v0_s) : (tensor<?xf16>) -> ()
  %y1_r = tensor.collapse_shape %y1 [[0, 1, 2]] : tensor<?x?x64xf16> into tensor<?xf16>
  call @print(%y1_r) : (tensor<?xf16>) -> ()
  %k1_r = tensor.collapse_shape %k1 [[0, 1, 2, 3]] : tensor<?x2x?x16xf16> into tensor<?xf16>
  call @print(%k1_r) : (tensor<?xf16>) -> ()
  %v1_r = tensor.collapse_shape %v1 [[0, 1, 2, 3]] : tensor<?x2x?x16xf16> into tensor<?xf16>
  call @print(%v1_r) : (tensor<?xf16>) -> ()
  %y2_r = tensor.collapse_shape %y2 [[0, 1, 2]] : tensor<2x5x64xf16> into tensor<640xf16>
  %y2_s = tensor.cast %y2_r : tensor<640xf16> to tensor<?xf16>
  call @print(%y2_s) : (tensor<?xf16>) -> ()
  %k2_r = tensor.collapse_shape %k2 [[0, 1, 2, 3]] : tensor<2x2x5x16xf16> into tensor<320xf16>
  %k2_s = tensor.cast %k2_r : tensor<320xf16> to tensor<?xf16>
  call @print(%k2_s) : (tensor<?xf16>) -> ()
  %v2_r = tensor.collapse_shape %v2 [[0, 1, 2, 3]] : tensor<2x2x5x16xf16> into tensor<320xf16>
  %v2_s = tensor.cast %v2_r : tensor<320xf16> to tensor<?xf16>
  call @print(%v2_s) : (tensor<?xf16>) -> ()
  %y3_r = tensor.collapse_shape %y3 [[0, 1, 2]] : tensor<2x3x64xf16> into tensor<384xf16>
  %y3_s = tensor.cast %y3_r : tensor<384xf16> to tensor<?xf16>
  call @print(%y3_s) : (tensor<?xf16>) -> ()
  %v3_r = tensor.collapse_shape %v3 [[0, 1, 2, 3]] : tensor<2x2x10x16xf16> into tensor<640xf16>
  %v3_s = tensor.cast %v3_r : tensor<640xf16> to tensor<?xf16>
  call @print(%v3_s) : (tensor<?xf16>) -> ()
  %y4_r = tensor.collapse_shape %y4 [[0, 1, 2, 3]] : tensor<2x4x3x16xf16> into tensor<384xf16>
  %y4_s = tensor.cast %y4_r : tensor<384xf16> to tensor<?xf16>
  call @print(%y4_s) : (tensor<?xf16>) -> ()
  %k4_r = tensor.collapse_shape %k4 [[0, 1, 2, 3]] : tensor<2x2x20x16xf16> into tensor<1280xf16>
  %k4_s = tensor.cast %k4_r : tensor<1280xf16> to tensor<?xf16>
  call @print(%k4_s) : (tensor<?xf16>) -> ()
  return
}
