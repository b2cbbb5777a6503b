// A model of 32 layers, written out: all have one kernel.
// REQUIRES: mlir-runner
// RUN: %embedding --kernels 1

!q = tensor<2x2x20x16xf16>
func.func private @half(%x: !q, %o: !q) -> !q {
  %e = tensor.empty() : !q
  %y = linalg.generic {indexing_maps = [affine_map<(b, h, s, d) -> (b, h, s, d)>, affine_map<(b, h, s, d) -> (b, h, s, d)>,
                                        affine_map<(b, h, s, d) -> (b, h, s, d)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x, %o : !q, !q) outs(%e : !q) {
  ^bb0(%a: f16, %b: f16, %unused: f16):
    %half = arith.constant 0.5 : f16
    %sum = arith.addf %a, %b : f16
    %r = arith.mulf %sum, %half : f16
    linalg.yield %r : f16
  } -> !q
  return %y : !q
}
func.func @main() {
  %n = arith.constant 1280 : index
  %c1 = arith.constant 1 : index
  %a = call @noise(%n, %c1) : (index, index) -> tensor<?xf16>
  %b = tensor.cast %a : tensor<?xf16> to tensor<1280xf16>
  %x0 = tensor.expand_shape %b [[0, 1, 2, 3]] output_shape [2, 2, 20, 16] : tensor<1280xf16> into !q
  %o0 = attention.forward %x0, %x0, %x0 : (!q, !q, !q) -> !q
  %x1 = call @half(%x0, %o0) : (!q, !q) -> !q
  %o1 = attention.forward %x1, %x1, %x1 : (!q, !q, !q) -> !q
  %x2 = call @half(%x1, %o1) : (!q, !q) -> !q
  %o2 = attention.forward %x2, %x2, %x2 : (!q, !q, !q) -> !q
  %x3 = call @half(%x2, %o2) : (!q, !q) -> !q
  %o3 = attention.forward %x3, %x3, %x3 : (!q, !q, !q) -> !q
  %x4 = call @half(%x3, %o3) : (!q, !q) -> !q
  %o4 = attention.forward %x4, %x4, %x4 : (!q, !q, !q) -> !q
  %x5 = call @half(%x4, %o4) : (!q, !q) -> !q
  %o5 = attention.forward %x5, %x5, %x5 : (!q, !q, !q) -> !q
  %x6 = call @half(%x5, %o5) : (!q, !q) -> !q
  %o6 = attention.forward %x6, %x6, %x6 : (!q, !q, !q) -> !q
  %x7 = call @half(%x6, %o6) : (!q, !q) -> !q
  %o7 = attention.forward %x7, %x7, %x7 : (!q, !q, !q) -> !q
  %x8 = call @half(%x7, %o7) : (!q, !q) -> !q
  %o8 = attention.forward %x8, %x8, %x8 : (!q, !q, !q) -> !q
  %x9 = call @half(%x8, %o8) : (!q, !q) -> !q
  %o9 = attention.forward %x9, %x9, %x9 : (!q, !q, !q) -> !q
  %x10 = call @half(%x9, %o9) : (!q, !q) -> !q
  %o10 = attention.forward %x10, %x10, %x10 : (!q, !q, !q) -> !q
  %x11 = call @half(%x10, %o10) : (!q, !q) -> !q
  %o11 = attention.forward %x11, %x11, %x11 : (!q, !q, !q) -> !q
  %x12 = call @half(%x11, %o11) : (!q, !q) -> !q
  %o12 = attention.forward %x12, %x12, %x12 : (!q, !q, !q) -> !q
  %x13 = call @half(%x12, %o12) : (!q, !q) -> !q
  %o13 = attention.forward %x13, %x13, %x13 : (!q, !q, !q) -> !q
  %x14 = call @half(%x13, %o13) : (!q, !q) -> !q
  %o14 = attention.forward %x14, %x14, %x14 : (!q, !q, !q) -> !q
  %x15 = call @half(%x14, %o14) : (!q, !q) -> !q
  %o15 = attention.forward %x15, %x15, %x15 : (!q, !q, !q) -> !q
  %x16 = call @half(%x15, %o15) : (!q, !q) -> !q
  %o16 = attention.forward %x16, %x16, %x16 : (!q, !q, !q) -> !q
  %x17 = call @half(%x16, %o16) : (!q, !q) -> !q
  %o17 = attention.forward %x17, %x17, %x17 : (!q, !q, !q) -> !q
  %x18 = call @half(%x17, %o17) : (!q, !q) -> !q
  %o18 = attention.forward %x18, %x18, %x18 : (!q, !q, !q) -> !q
  %x19 = call @half(%x18, %o18) : (!q, !q) -> !q
  %o19 = attention.forward %x19, %x19, %x19 : (!q, !q, !q) -> !q
  %x20 = call @half(%x19, %o19) : (!q, !q) -> !q
  %o20 = attention.forward %x20, %x20, %x20 : (!q, !q, !q) -> !q
  %x21 = call @half(%x20, %o20) : (!q, !q) -> !q
  %o21 = attention.forward %x21, %x21, %x21 : (!q, !q, !q) -> !q
  %x22 = call @half(%x21, %o21) : (!q, !q) -> !q
  %o22 = attention.forward %x22, %x22, %x22 : (!q, !q, !q) -> !q
  %x23 = call @half(%x22, %o22) : (!q, !q) -> !q
  %o23 = attention.forward %x23, %x23, %x23 : (!q, !q, !q) -> !q
  %x24 = call @half(%x23, %o23) : (!q, !q) -> !q
  %o24 = attention.forward %x24, %x24, %x24 : (!q, !q, !q) -> !q
  %x25 = call @half(%x24, %o24) : (!q, !q) -> !q
  %o25 = attention.forward %x25, %x25, %x25 : (!q, !q, !q) -> !q
  %x26 = call @half(%x25, %o25) : (!q, !q) -> !q
  %o26 = attention.forward %x26, %x26, %x26 : (!q, !q, !q) -> !q
  %x27 = call @half(%x26, %o26) : (!q, !q) -> !q
  %o27 = attention.forward %x27, %x27, %x27 : (!q, !q, !q) -> !q
  %x28 = call @half(%x27, %o27) : (!q, !q) -> !q
  %o28 = attention.forward %x28, %x28, %x28 : (!q, !q, !q) -> !q
  %x29 = call @half(%x28, %o28) : (!q, !q) -> !q
  %o29 = attention.forward %x29, %x29, %x29 : (!q, !q, !q) -> !q
  %x30 = call @half(%x29, %o29) : (!q, !q) -> !q
  %o30 = attention.forward %x30, %x30, %x30 : (!q, !q, !q) -> !q
  %x31 = call @half(%x30, %o30) : (!q, !q) -> !q
  %o31 = attention.forward %x31, %x31, %x31 : (!q, !q, !q) -> !q
  %x32 = call @half(%x31, %o31) : (!q, !q) -> !q
  %r = tensor.collapse_shape %x32 [[0, 1, 2, 3]] : !q into tensor<1280xf16>
  %s = tensor.cast %r : tensor<1280xf16> to tensor<?xf16>
  call @print(%s) : (tensor<?xf16>) -> ()
  return
}
