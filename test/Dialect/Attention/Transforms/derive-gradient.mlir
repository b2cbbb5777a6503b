// RUN: fa3-opt %s -attention-expand-mods -attention-derive-gradient | FileCheck %s

!t = tensor<1x2x?x64xf16>
!l = tensor<1x2x?xf32>

// A mask alone needs none.
// CHECK-LABEL: func.func @causal(
// CHECK-NOT: score_grad
// CHECK: return
func.func @causal(%q: !t, %lse: !l) -> (!t, !t, !t) {
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q mods [#attention.causal] : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return %g#0, %g#1, %g#2 : !t, !t, !t
}

// What is added to a score leaves the gradient alone: no operation at all.
// CHECK-LABEL: func.func @alibi_bias(
// CHECK: score_grad (%{{.*}}, %[[G:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK-NEXT: attention.yield %[[G]] : f32
func.func @alibi_bias(%q: !t, %lse: !l, %slopes: tensor<2xf32>, %bias: tensor<1x2x?x?xf16>) -> (!t, !t, !t) {
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q aux(%slopes, %bias : tensor<2xf32>, tensor<1x2x?x?xf16>)
    mods [#attention.alibi<aux = 0>, #attention.bias<aux = 1>] : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return %g#0, %g#1, %g#2 : !t, !t, !t
}

// Both constants of a soft cap cancel.
// CHECK-LABEL: func.func @softcap(
// CHECK: score_grad (%[[X:.*]], %[[G:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK: %[[R:.*]] = arith.mulf %[[X]], %{{.*}} : f32
// CHECK: %[[T:.*]] = math.tanh %[[R]] : f32
// CHECK: %[[S:.*]] = arith.mulf %[[T]], %[[T]] {{.*}} : f32
// CHECK: %[[D:.*]] = arith.subf %{{.*}}, %[[S]] {{.*}} : f32
// CHECK: %[[Y:.*]] = arith.mulf %[[G]], %[[D]] {{.*}} : f32
// CHECK-NEXT: attention.yield %[[Y]] : f32
func.func @softcap(%q: !t, %lse: !l) -> (!t, !t, !t) {
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q mods [#attention.softcap<30.0>] : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return %g#0, %g#1, %g#2 : !t, !t, !t
}

// A score that is used twice has the sum of both; one that is not used has 0.
// CHECK-LABEL: func.func @square(
// CHECK: score_grad (%[[X:.*]], %[[G:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK-NEXT: %[[D:.*]] = arith.addf %[[X]], %[[X]] : f32
// CHECK-NEXT: %[[Y:.*]] = arith.mulf %[[G]], %[[D]] {{.*}} : f32
// CHECK-NEXT: attention.yield %[[Y]] : f32
func.func @square(%q: !t, %lse: !l) -> (!t, !t, !t) {
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
    score_mod (%s, %b, %h, %i, %j) {
      %y = arith.mulf %s, %s : f32
      attention.yield %y : f32
    }
  return %g#0, %g#1, %g#2 : !t, !t, !t
}

// The derivative of a chain is one number before the gradient of the score comes
// to it: only the last product waits for that.
// CHECK-LABEL: func.func @chain(
// CHECK: score_grad (%[[X:.*]], %[[G:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK-NOT: %[[G]]
// CHECK: %[[Y:.*]] = arith.mulf %[[G]], %{{.*}} : f32
// CHECK-NEXT: attention.yield %[[Y]] : f32
func.func @chain(%q: !t, %lse: !l) -> (!t, !t, !t) {
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
    score_mod (%s, %b, %h, %i, %j) {
      %t = math.tanh %s : f32
      %a = arith.addf %s, %t : f32
      %u = math.tanh %a : f32
      %c = arith.subf %a, %u : f32
      attention.yield %c : f32
    }
  return %g#0, %g#1, %g#2 : !t, !t, !t
}
// The derivative of a choice is a choice: 1 or e^s of elu.
// CHECK-LABEL: func.func @choice(
// CHECK: score_grad (%[[X:.*]], %[[G:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK: %[[E:.*]] = math.exp %[[X]] : f32
// CHECK: %[[C:.*]] = arith.cmpf ogt, %[[X]]
// CHECK: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: %[[D:.*]] = arith.select %[[C]], %[[ONE]], %[[E]] : f32
// CHECK-NEXT: %[[Y:.*]] = arith.mulf %[[G]], %[[D]] {{.*}} : f32
// CHECK-NEXT: attention.yield %[[Y]] : f32
func.func @choice(%q: !t, %lse: !l) -> (!t, !t, !t) {
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
    score_mod (%s, %b, %h, %i, %j) {
      %zero = arith.constant 0.0 : f32
      %one = arith.constant 1.0 : f32
      %e = math.exp %s : f32
      %low = arith.subf %e, %one : f32
      %c = arith.cmpf ogt, %s, %zero : f32
      %y = arith.select %c, %s, %low : f32
      attention.yield %y : f32
    }
  return %g#0, %g#1, %g#2 : !t, !t, !t
}
// CHECK-LABEL: func.func @constant(
// CHECK: score_grad
// CHECK-NEXT: %[[Z:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: attention.yield %[[Z]] : f32
func.func @constant(%q: !t, %lse: !l, %c: f32) -> (!t, !t, !t) {
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
    score_mod (%s, %b, %h, %i, %j) {
      attention.yield %c : f32
    }
  return %g#0, %g#1, %g#2 : !t, !t, !t
}

// One written by hand stays.
// CHECK-LABEL: func.func @by_hand(
// CHECK: score_grad (%{{.*}}, %[[G:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK-NEXT: %[[N:.*]] = arith.negf %[[G]] : f32
// CHECK-NEXT: attention.yield %[[N]] : f32
func.func @by_hand(%q: !t, %lse: !l) -> (!t, !t, !t) {
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
    score_mod (%s, %b, %h, %i, %j) {
      %n = arith.index_cast %j : index to i32
      %f = arith.sitofp %n : i32 to f32
      %z = arith.subf %f, %s : f32
      attention.yield %z : f32
    }
    score_grad (%s, %g0, %b, %h, %i, %j) {
      %n = arith.negf %g0 : f32
      attention.yield %n : f32
    }
  return %g#0, %g#1, %g#2 : !t, !t, !t
}

// What a pair adds to the elements that it reads: of a slope its distance, of a
// bias the gradient as it is, in f32 although the bias is narrow.
// CHECK-LABEL: func.func @aux(
// CHECK: score_grad (%{{.*}}, %[[G:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK: %[[FAR:.*]] = math.absf
// CHECK: %[[N:.*]] = arith.negf %[[FAR]]
// CHECK: %[[S:.*]] = arith.mulf %[[G]], %[[N]]
// CHECK-NEXT: attention.yield %[[G]], %[[G]], %[[S]] : f32, f32, f32
func.func @aux(%q: !t, %lse: !l, %slopes: tensor<2xf32>, %bias: tensor<1x2x?x?xf16>) -> (!t, !t, !t, tensor<1x2x?x?xf16>, tensor<2xf32>) {
  %g:5 = attention.backward %q, %q, %q, %q, %lse, %q aux(%slopes, %bias : tensor<2xf32>, tensor<1x2x?x?xf16>) grad_aux [1, 0]
    mods [#attention.alibi<aux = 0>, #attention.bias<aux = 1>] : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t, tensor<1x2x?x?xf16>, tensor<2xf32>)
  return %g#0, %g#1, %g#2, %g#3, %g#4 : !t, !t, !t, tensor<1x2x?x?xf16>, tensor<2xf32>
}

// An element that is read twice has the sum of both; one that nothing depends
// on has 0.
// CHECK-LABEL: func.func @reads(
// CHECK: score_grad (%[[X:.*]], %[[G:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK: %[[XG:.*]] = arith.mulf %[[G]], %[[X]]
// CHECK: %[[A:.*]] = arith.addf %[[XG]], %[[G]]
// CHECK: attention.yield %{{.*}}, %[[A]], %[[Z:.*]] : f32, f32, f32
func.func @reads(%q: !t, %lse: !l, %a: tensor<2xf32>, %c: tensor<2xf32>) -> (!t, !t, !t, tensor<2xf32>, tensor<2xf32>) {
  %g:5 = attention.backward %q, %q, %q, %q, %lse, %q aux(%a, %c : tensor<2xf32>, tensor<2xf32>) grad_aux [0, 1] : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t, tensor<2xf32>, tensor<2xf32>)
    score_mod (%s, %b, %h, %i, %j) {
      %x = tensor.extract %a[%h] : tensor<2xf32>
      %y = tensor.extract %a[%h] : tensor<2xf32>
      %z = tensor.extract %c[%h] : tensor<2xf32>
      %u = arith.mulf %s, %x : f32
      %v = arith.addf %u, %y : f32
      attention.yield %v : f32
    }
  return %g#0, %g#1, %g#2, %g#3, %g#4 : !t, !t, !t, tensor<2xf32>, tensor<2xf32>
}

// Where a derivative has a choice it is torch's: 0 of an absolute value at 0, a
// half for each of two equal numbers of a maximum, the first of maxnum.
// CHECK-LABEL: func.func @ties(
// CHECK: score_grad (%[[X:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK: %[[A:.*]] = math.absf %[[X]]
// CHECK: %[[M:.*]] = arith.maximumf %[[X]], %[[A]]
// CHECK: %[[FIRST:.*]] = arith.cmpf oge, %[[M]], %[[X]]
// CHECK: %[[OFM:.*]] = arith.select %[[FIRST]], %{{.*}}, %{{.*}}
// CHECK: %[[EQUAL:.*]] = arith.cmpf oeq, %[[X]], %[[A]]
// CHECK: %[[HALF:.*]] = arith.select %[[FIRST]], %{{.*}}, %{{.*}}
// CHECK: %[[SHARED:.*]] = arith.select %[[EQUAL]], %[[HALF]], %[[OFM]]
// CHECK: %[[LESS:.*]] = arith.cmpf ogt, %[[A]], %[[X]]
// CHECK: arith.select %[[LESS]], %{{.*}}, %[[SHARED]]
// CHECK: %[[MORE:.*]] = arith.cmpf ogt, %[[X]], %[[A]]
// CHECK: %[[OFA:.*]] = arith.select %[[MORE]], %{{.*}}, %[[SHARED]]
// CHECK: %[[BELOW:.*]] = arith.cmpf olt, %[[X]], %[[ZERO:.*]]
// CHECK: %[[IS0:.*]] = arith.cmpf oeq, %[[X]], %[[ZERO]]
// CHECK: %[[SIGNED:.*]] = arith.select %[[BELOW]]
// CHECK: arith.select %[[IS0]], %{{.*}}, %[[SIGNED]]
func.func @ties(%q: !t, %lse: !l) -> (!t, !t, !t) {
  %g:3 = attention.backward %q, %q, %q, %q, %lse, %q : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
    score_mod (%s, %b, %h, %i, %j) {
      %a = math.absf %s : f32
      %m = arith.maximumf %s, %a : f32
      %n = arith.maxnumf %m, %s : f32
      attention.yield %n : f32
    }
  return %g#0, %g#1, %g#2 : !t, !t, !t
}
