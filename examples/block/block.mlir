// A transformer block: normalization, attention with a residual, normalization,
// an MLP with SiLU and a residual. Everything but attention is linalg,
// so any compiler of linalg could be around it. See build.sh.
//
// 2 sequences of 64 tokens, 2 heads of 64 elements, 256 hidden units.

#id = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>
!x = tensor<128x128xf16>
!wide = tensor<128x128xf32>
!bshd = tensor<2x64x2x64xf16>
!bhsd = tensor<2x2x64x64xf16>

// x / sqrt(mean of squares + 2^-10), row by row.
func.func private @normalize(%x: !x) -> !x {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<128xf32>
  %none = linalg.fill ins(%zero : f32) outs(%e0 : tensor<128xf32>) -> tensor<128xf32>
  %squares = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : !x) outs(%none : tensor<128xf32>) {
  ^bb0(%a: f16, %sum: f32):
    %b = arith.extf %a : f16 to f32
    %c = arith.mulf %b, %b : f32
    %d = arith.addf %sum, %c : f32
    linalg.yield %d : f32
  } -> tensor<128xf32>
  %e1 = tensor.empty() : !x
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %squares : !x, tensor<128xf32>) outs(%e1 : !x) {
  ^bb0(%a: f16, %sum: f32, %unused: f16):
    %share = arith.constant 0.0078125 : f32
    %least = arith.constant 0.0009765625 : f32
    %mean = arith.mulf %sum, %share : f32
    %more = arith.addf %mean, %least : f32
    %root = math.sqrt %more : f32
    %b = arith.extf %a : f16 to f32
    %c = arith.divf %b, %root : f32
    %d = arith.truncf %c : f32 to f16
    linalg.yield %d : f16
  } -> !x
  return %y : !x
}

// x + y, where y has more digits.
func.func private @add(%x: !x, %y: !wide) -> !x {
  %e = tensor.empty() : !x
  %z = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : !x, !wide) outs(%e : !x) {
  ^bb0(%a: f16, %b: f32, %unused: f16):
    %c = arith.extf %a : f16 to f32
    %d = arith.addf %c, %b : f32
    %r = arith.truncf %d : f32 to f16
    linalg.yield %r : f16
  } -> !x
  return %z : !x
}

func.func private @attend(%x: !x, %wqkv: tensor<128x384xf16>, %wo: tensor<128x128xf16>) -> !wide {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<128x384xf32>
  %none = linalg.fill ins(%zero : f32) outs(%e0 : tensor<128x384xf32>) -> tensor<128x384xf32>
  %sums = linalg.matmul ins(%x, %wqkv : !x, tensor<128x384xf16>) outs(%none : tensor<128x384xf32>) -> tensor<128x384xf32>
  %e1 = tensor.empty() : tensor<128x384xf16>
  %packed = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : tensor<128x384xf32>) outs(%e1 : tensor<128x384xf16>) {
  ^bb0(%a: f32, %unused: f16):
    %b = arith.truncf %a : f32 to f16
    linalg.yield %b : f16
  } -> tensor<128x384xf16>

  // q, k and v of all heads, as slices of one array, heads in front of tokens.
  %qkv = tensor.expand_shape %packed [[0, 1], [2, 3, 4]] output_shape [2, 64, 3, 2, 64]
    : tensor<128x384xf16> into tensor<2x64x3x2x64xf16>
  %q0 = tensor.extract_slice %qkv[0, 0, 0, 0, 0] [2, 64, 1, 2, 64] [1, 1, 1, 1, 1] : tensor<2x64x3x2x64xf16> to !bshd
  %k0 = tensor.extract_slice %qkv[0, 0, 1, 0, 0] [2, 64, 1, 2, 64] [1, 1, 1, 1, 1] : tensor<2x64x3x2x64xf16> to !bshd
  %v0 = tensor.extract_slice %qkv[0, 0, 2, 0, 0] [2, 64, 1, 2, 64] [1, 1, 1, 1, 1] : tensor<2x64x3x2x64xf16> to !bshd
  %e2 = tensor.empty() : !bhsd
  %q = linalg.transpose ins(%q0 : !bshd) outs(%e2 : !bhsd) permutation = [0, 2, 1, 3]
  %k = linalg.transpose ins(%k0 : !bshd) outs(%e2 : !bhsd) permutation = [0, 2, 1, 3]
  %v = linalg.transpose ins(%v0 : !bshd) outs(%e2 : !bhsd) permutation = [0, 2, 1, 3]
  %o0 = attention.forward %q, %k, %v mods [#attention.causal] : (!bhsd, !bhsd, !bhsd) -> !bhsd
  %e3 = tensor.empty() : !bshd
  %o1 = linalg.transpose ins(%o0 : !bhsd) outs(%e3 : !bshd) permutation = [0, 2, 1, 3]
  %o = tensor.collapse_shape %o1 [[0, 1], [2, 3]] : !bshd into !x

  %e4 = tensor.empty() : !wide
  %nothing = linalg.fill ins(%zero : f32) outs(%e4 : !wide) -> !wide
  %y = linalg.matmul ins(%o, %wo : !x, tensor<128x128xf16>) outs(%nothing : !wide) -> !wide
  return %y : !wide
}

func.func private @think(%x: !x, %w1: tensor<128x256xf16>, %w2: tensor<256x128xf16>) -> !wide {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<128x256xf32>
  %none = linalg.fill ins(%zero : f32) outs(%e0 : tensor<128x256xf32>) -> tensor<128x256xf32>
  %sums = linalg.matmul ins(%x, %w1 : !x, tensor<128x256xf16>) outs(%none : tensor<128x256xf32>) -> tensor<128x256xf32>
  %e1 = tensor.empty() : tensor<128x256xf16>
  %hidden = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : tensor<128x256xf32>) outs(%e1 : tensor<128x256xf16>) {
  ^bb0(%a: f32, %unused: f16):
    %one = arith.constant 1.0 : f32
    %minus = arith.negf %a : f32
    %exp = math.exp %minus : f32
    %more = arith.addf %one, %exp : f32
    %silu = arith.divf %a, %more : f32
    %b = arith.truncf %silu : f32 to f16
    linalg.yield %b : f16
  } -> tensor<128x256xf16>
  %e2 = tensor.empty() : !wide
  %nothing = linalg.fill ins(%zero : f32) outs(%e2 : !wide) -> !wide
  %y = linalg.matmul ins(%hidden, %w2 : tensor<128x256xf16>, tensor<256x128xf16>) outs(%nothing : !wide) -> !wide
  return %y : !wide
}

// What C calls: y is written.
func.func @block(%mx: memref<128x128xf16>, %mqkv: memref<128x384xf16>, %mo: memref<128x128xf16>,
                 %m1: memref<128x256xf16>, %m2: memref<256x128xf16>, %my: memref<128x128xf16>)
    attributes {llvm.emit_c_interface} {
  %x = bufferization.to_tensor %mx restrict : memref<128x128xf16> to !x
  %wqkv = bufferization.to_tensor %mqkv restrict : memref<128x384xf16> to tensor<128x384xf16>
  %wo = bufferization.to_tensor %mo restrict : memref<128x128xf16> to tensor<128x128xf16>
  %w1 = bufferization.to_tensor %m1 restrict : memref<128x256xf16> to tensor<128x256xf16>
  %w2 = bufferization.to_tensor %m2 restrict : memref<256x128xf16> to tensor<256x128xf16>
  %n1 = call @normalize(%x) : (!x) -> !x
  %a = call @attend(%n1, %wqkv, %wo) : (!x, tensor<128x384xf16>, tensor<128x128xf16>) -> !wide
  %h = call @add(%x, %a) : (!x, !wide) -> !x
  %n2 = call @normalize(%h) : (!x) -> !x
  %t = call @think(%n2, %w1, %w2) : (!x, tensor<128x256xf16>, tensor<256x128xf16>) -> !wide
  %y = call @add(%h, %t) : (!x, !wide) -> !x
  bufferization.materialize_in_destination %y in restrict writable %my : (!x, memref<128x128xf16>) -> ()
  return
}
