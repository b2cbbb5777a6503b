// Where score code may yield numbers of any size, the maximum is taken off before
// the factor of exponents, and starts from the least float.
// RUN: fa3-opt %s -split-input-file -attention-expand-mods -attention-derive-gradient -attention-to-tile=rescale=eager | FileCheck %s
// RUN: fa3-opt %s -split-input-file -attention-expand-mods -attention-derive-gradient -attention-to-tile=rescale=lazy | FileCheck %s --check-prefix=LAZY

!t = tensor<?x2x?x64xbf16>
!l = tensor<?x2x?xf32>
!b = tensor<?x2x?x?xbf16>

// CHECK-LABEL: gpu.func @bias
// CHECK: %[[LOWEST:.*]] = arith.constant dense<-3.40282347E+38> : tensor<[[ROWS:[0-9]+]]xf32>
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[M:.*]] = %[[LOWEST]], %{{.*}} = %{{.*}})
// CHECK: %[[S:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<[[ROWS]]x{{[0-9]+}}xi1>
// CHECK: %[[BLOCK:.*]] = tile.reduce max %[[S]] dim 1
// CHECK: %[[NEXT:.*]] = arith.maxnumf %[[BLOCK]], %[[M]]
// CHECK: %[[ALONG:.*]] = tile.broadcast %[[NEXT]] dim 1
// CHECK: %[[D:.*]] = arith.subf %[[S]], %[[ALONG]] : tensor
// CHECK: %[[X:.*]] = arith.mulf %[[D]], %{{.*}} fastmath<contract>
// CHECK: math.exp2 %[[X]]
// A logarithm of the sum in units of scores.
// CHECK: %[[LOG:.*]] = math.log2
// CHECK: math.fma %[[LOG]], %{{.*}}, %{{.*}} : tensor<[[ROWS]]xf32>

// LAZY-LABEL: gpu.func @bias
// LAZY: %[[S:.*]] = tile.reduce max
// LAZY: %[[D:.*]] = arith.subf %[[S]], %{{.*}} fastmath<contract>
// LAZY: %[[X:.*]] = arith.mulf %[[D]]
// LAZY: arith.cmpf ogt, %[[X]]
func.func @bias(%q: !t, %k: !t, %v: !t, %bias: !b) -> (!t, !l) {
  %o, %lse = attention.forward %q, %k, %v aux(%bias : !b) mods [#attention.bias<aux = 0>] : (!t, !t, !t) -> (!t, !l)
  return %o, %lse : !t, !l
}

// -----

!t = tensor<?x2x?x64xbf16>
!h = tensor<?x2x?x?xf16>

// A number of f16 is no large one in a forward.
// CHECK-LABEL: gpu.func @half_bias
// CHECK-NOT: arith.constant dense<-3.40282347E+38>
// CHECK: arith.constant dense<-1.2676506E+30>
// LAZY-LABEL: gpu.func @half_bias
func.func @half_bias(%q: !t, %k: !t, %v: !t, %bias: !h) -> !t {
  %o = attention.forward %q, %k, %v aux(%bias : !h) mods [#attention.bias<aux = 0>] : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x2x?x64xbf16>

// Nor is what a soft cap, a clamp by a selection and a selection yield.
// CHECK-LABEL: gpu.func @bounded
// CHECK-NOT: arith.constant dense<-3.40282347E+38>
// CHECK: arith.constant dense<-1.2676506E+30>
// LAZY-LABEL: gpu.func @bounded
func.func @bounded(%q: !t, %k: !t, %v: !t, %slope: f32) -> !t {
  %o = attention.forward %q, %k, %v mods [#attention.softcap<30.0>]
    : (!t, !t, !t) -> !t
    score_mod (%s, %b, %h, %i, %j) {
      %most = arith.constant 1.0e+3 : f32
      %c1 = arith.constant 1 : index
      %x = arith.mulf %s, %slope : f32
      %over = arith.cmpf ogt, %x, %most : f32
      %y = arith.select %over, %most, %x : f32
      %least = arith.constant -1.0e+3 : f32
      %under = arith.cmpf olt, %y, %least : f32
      %z = arith.select %under, %least, %y : f32
      %off = arith.constant -1.0e+4 : f32
      %is = arith.cmpi slt, %i, %c1 : index
      %score = arith.select %is, %off, %z : f32
      attention.yield %score : f32
    }
  return %o : !t
}

// -----

!t = tensor<?x2x?x64xbf16>

// One that the code selects is.
// CHECK-LABEL: gpu.func @selected
// CHECK: arith.constant dense<-3.40282347E+38>
// LAZY-LABEL: gpu.func @selected
func.func @selected(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attention.forward %q, %k, %v : (!t, !t, !t) -> !t
    score_mod (%s, %b, %h, %i, %j) {
      %off = arith.constant -1.0e+9 : f32
      %is = arith.cmpi slt, %i, %j : index
      %score = arith.select %is, %off, %s : f32
      attention.yield %score : f32
    }
  return %o : !t
}

// -----

!t = tensor<?x2x?x64xbf16>

// Distances are none, times a number below 16.
// CHECK-LABEL: gpu.func @distances
// CHECK-NOT: arith.constant dense<-3.40282347E+38>
// CHECK: arith.constant dense<-1.2676506E+30>
// LAZY-LABEL: gpu.func @distances
func.func @distances(%q: !t, %k: !t, %v: !t, %byte: tensor<?xi8>) -> !t {
  %o = attention.forward %q, %k, %v aux(%byte : tensor<?xi8>) : (!t, !t, !t) -> !t
    score_mod (%s, %b, %h, %i, %j) {
      %c8 = arith.constant 8 : index
      %e = tensor.extract %byte[%j] : tensor<?xi8>
      %u = arith.index_castui %e : i8 to index
      %square = arith.muli %u, %u : index
      %d = arith.subi %i, %j : index
      %size = math.absi %d : index
      %times = arith.muli %size, %c8 : index
      %n = arith.addi %times, %square : index
      %c = arith.index_cast %n : index to i32
      %f = arith.sitofp %c : i32 to f32
      %score = arith.subf %s, %f : f32
      attention.yield %score : f32
    }
  return %o : !t
}

// -----

!t = tensor<?x2x?x64xbf16>

// Squares of them are.
// CHECK-LABEL: gpu.func @squares
// CHECK: arith.constant dense<-3.40282347E+38>
// LAZY-LABEL: gpu.func @squares
func.func @squares(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attention.forward %q, %k, %v : (!t, !t, !t) -> !t
    score_mod (%s, %b, %h, %i, %j) {
      %d = arith.subi %i, %j : index
      %square = arith.muli %d, %d : index
      %c = arith.index_cast %square : index to i32
      %f = arith.sitofp %c : i32 to f32
      %score = arith.subf %s, %f : f32
      attention.yield %score : f32
    }
  return %o : !t
}

// -----

!t = tensor<?x2x?x64xbf16>

// So are differences of elements.
// CHECK-LABEL: gpu.func @elements
// CHECK: arith.constant dense<-3.40282347E+38>
// LAZY-LABEL: gpu.func @elements
func.func @elements(%q: !t, %k: !t, %v: !t, %place: tensor<?xi32>) -> !t {
  %o = attention.forward %q, %k, %v aux(%place : tensor<?xi32>) : (!t, !t, !t) -> !t
    score_mod (%s, %b, %h, %i, %j) {
      %e = tensor.extract %place[%j] : tensor<?xi32>
      %u = arith.index_cast %e : i32 to index
      %d = arith.subi %u, %i : index
      %c = arith.index_cast %d : index to i32
      %f = arith.sitofp %c : i32 to f32
      %score = arith.subf %s, %f : f32
      attention.yield %score : f32
    }
  return %o : !t
}

// -----

!t = tensor<?x2x?x64xbf16>
!l = tensor<?x2x?xf32>
!b = tensor<?x2x?x?xbf16>

// In gradients the kernel of dq comes first, and leaves what the rounding of lse
// took from exponents.
// CHECK-LABEL: func.func @backward
// CHECK: memref.alloc{{.*}}"shift"
// CHECK: memref.alloc{{.*}}"delta"
// CHECK: %[[REST:.*]] = memref.alloc{{.*}}"rest"
// CHECK: tile.launch @backward_kernels::@backward_delta
// CHECK: tile.launch @backward_kernels::@backward_dq {{.*}}%[[REST]]
// CHECK: tile.launch @backward_kernels::@backward_dkdv {{.*}}%[[REST]]
// CHECK-LABEL: gpu.func @backward_dq
// CHECK: %[[SUM:.*]] = tile.reduce add %{{.*}} dim 1 : tensor<128x8xf32> -> tensor<128xf32>
// CHECK: %[[LOG:.*]] = math.log2 %[[SUM]]
// CHECK: %[[LEFT:.*]] = arith.negf %[[LOG]]
// CHECK: %[[IS:.*]] = arith.cmpf ole
// CHECK: %[[KEPT:.*]] = arith.select %[[IS]], %[[LEFT]]
// CHECK: tile.store %[[KEPT]]
// CHECK: math.exp2 %[[KEPT]]
// CHECK-LABEL: gpu.func @backward_dkdv
// CHECK: %[[D:.*]] = arith.addf %{{[0-9]+}}, %{{[0-9]+}} : tensor<128x{{[0-9]+}}xf32>
// CHECK: math.fma %[[D]]
// LAZY-LABEL: func.func @backward
func.func @backward(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t, %bias: !b) -> (!t, !t, !t) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do aux(%bias : !b) mods [#attention.bias<aux = 0>]
    : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
  return %dq, %dk, %dv : !t, !t, !t
}
