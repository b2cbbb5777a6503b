// program.mlir with the code that dialect.cpp writes: the same kernels.
!t = tensor<1x2x?x64xf16>
!l = tensor<1x2x?xf32>
func.func @step(%x: !t, %g: !t) -> (!t, !t) {
  %q = "other.norm"(%x) : (!t) -> !t
  %o, %lse = attention.forward %q, %x, %x : (!t, !t, !t) -> (!t, !l)
    score_mod (%s, %b, %h, %i, %j) {
      %a = math.atan %s : f32
      attention.yield %a : f32
    }
  %y = "other.loss"(%o, %g) ({
    %dq, %dk, %dv = attention.backward %q, %x, %x, %o, %lse, %g
      : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
      score_mod (%s, %b, %h, %i, %j) {
        %a = math.atan %s : f32
        attention.yield %a : f32
      }
      score_grad (%s, %d, %b, %h, %i, %j) {
        %one = arith.constant 1.0 : f32
        %square = arith.mulf %s, %s : f32
        %sum = arith.addf %one, %square : f32
        %slope = arith.divf %one, %sum : f32
        %r = arith.mulf %d, %slope fastmath<reassoc,contract> : f32
        attention.yield %r : f32
      }
    "other.yield"(%dq, %dk, %dv) : (!t, !t, !t) -> ()
  }) : (!t, !t) -> !t
  return %o, %y : !t, !t
}
