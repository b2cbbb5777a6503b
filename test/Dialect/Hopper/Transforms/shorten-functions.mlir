// RUN: fa3-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(hopper-shorten-functions)))" -o %t.short.mlir
// RUN: FileCheck %s < %t.short.mlir

// Nearly the same numbers, here in 28ths. Arguments grow from step to step: at
// first some rows have none that is too large for the polynomial, later all rows
// have some; one warp leaves the short way before another, and maxima grow by
// more than the threshold meanwhile.
// RUN: fa3-run --cpu %s --function=host --print out > %t.long.txt
// RUN: FileCheck %s --check-prefix=VALUES < %t.long.txt
// RUN: fa3-run --cpu %t.short.mlir --function=host --print out | diff %t.long.txt -
// VALUES: [0]:
// The answer is another one if the polynomial is, or if warps stay on the short
// way with arguments that are too large for it; with another cap if they do with
// maxima beyond the threshold.
// RUN: sed 's/dense<-0.323198974>/dense<-0.1>/' %t.short.mlir > %t.cubic.mlir
// RUN: fa3-run --cpu %t.cubic.mlir --function=host --print out | not diff -q %t.long.txt -
// RUN: sed 's/dense<2.500000e-01>/dense<4.0>/; s/dense<1056964608>/dense<2000000000>/' %t.short.mlir > %t.far.mlir
// RUN: fa3-run --cpu %t.far.mlir --function=host --print out | not diff -q %t.long.txt -
// RUN: sed 's/dense<8.0>/dense<12.0>/' %s > %t.12.mlir
// RUN: fa3-run --cpu %t.12.mlir --function=host --print out > %t.12.txt
// RUN: fa3-opt %t.12.mlir --pass-pipeline="builtin.module(gpu.module(gpu.func(hopper-shorten-functions)))" -o %t.12.short.mlir
// RUN: fa3-run --cpu %t.12.short.mlir --function=host --print out | diff %t.12.txt -
// RUN: sed 's/dense<1.968750e+00>/dense<9.0>/; s/dense<1056964608>/dense<2000000000>/' %t.12.short.mlir > %t.high.mlir
// RUN: fa3-run --cpu %t.high.mlir --function=host --print out | not diff -q %t.12.txt -
// With 0.5^3 * 24.75 = 1 / 0.3232 the cubic coefficient is -1, and one
// multiplication less does.
// RUN: sed 's/dense<8.0>/dense<24.7525537>/' %s > %t.unit.mlir
// RUN: fa3-run --cpu %t.unit.mlir --function=host --print out > %t.unit.txt
// RUN: fa3-opt %t.unit.mlir --pass-pipeline="builtin.module(gpu.module(gpu.func(hopper-shorten-functions)))" -o %t.unit.short.mlir
// RUN: fa3-run --cpu %t.unit.short.mlir --function=host --print out | diff %t.unit.txt -
// RUN: FileCheck %s --check-prefix=UNIT < %t.unit.short.mlir
// UNIT: math.tanh
// UNIT: } else {
// UNIT-NOT: arith.mulf
// UNIT: %[[MINUS:.*]] = arith.negf %[[X:.*]] : vector<16xf32>
// UNIT: %[[RATIO:.*]] = math.fma %[[MINUS]], %[[X]], %{{.*}} : vector<16xf32>
// UNIT: math.fma %[[X]], %[[RATIO]], %{{.*}} : vector<16xf32>

#f = #hopper.fragment<[64, 32], reg = [[0, 1], [8, 0], [0, 8], [0, 16]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>

gpu.module @m {
  // One limit for all rows of a thread, which the loop carries with its sign:
  // (2 - 1/32 + old) / 8, at most 0.25, over the factor 0.5 in front of tanh.
  // CHECK-LABEL: gpu.func @capped
  // CHECK: %[[FIRST:.*]] = arith.minsi %{{.*}} : vector<1xi32>
  // CHECK: %[[SIGN:.*]] = arith.cmpi slt, %[[FIRST]]
  // CHECK: scf.for {{.*}} iter_args(%[[M:.*]] = %{{.*}}, %{{.*}} = %{{.*}}, %[[LIMIT:.*]] = %[[FIRST]], %[[NEGATIVE:.*]] = %[[SIGN]])
  // CHECK: %[[X:.*]] = arith.mulf {{.*}} : vector<16xf32>
  // Nobody asks while the limit is negative.
  // CHECK: %[[WAITS:.*]] = hopper.vote.any %[[NEGATIVE]]
  // CHECK: %[[GREATEST:.*]] = hopper.warp_if_else %[[WAITS]] : vector<1xi32> {
  // CHECK: arith.constant dense<2147483647>
  // CHECK: } else {
  // CHECK: %[[SIZE:.*]] = math.absf %[[X]]
  // CHECK: %[[PART:.*]] = hopper.fragment.reduce max %[[SIZE]]
  // CHECK: arith.bitcast %[[PART]] : vector<2xf32> to vector<2xi32>
  // CHECK: arith.maxsi
  // CHECK: }
  // CHECK: %[[LARGE:.*]] = arith.cmpi sge, %[[GREATEST]], %[[LIMIT]] : vector<1xi32>
  // CHECK: %[[ANY:.*]] = hopper.vote.any %[[LARGE]]
  // CHECK: %[[WAY:.*]]:5 = hopper.warp_if_else %[[ANY]] : vector<2xi1>, vector<2xf32>, vector<16xf32>, vector<1xi32>, vector<1xi1> {
  // CHECK: %[[KX:.*]] = arith.mulf %[[X]]
  // CHECK: math.tanh %[[KX]]
  // CHECK: hopper.lane.reduce max
  // CHECK: %[[GROWN:.*]] = arith.cmpf ogt
  // CHECK: %[[NEW:.*]] = arith.select %[[GROWN]]
  // CHECK: %[[P:.*]] = math.exp2
  // CHECK: arith.constant dense<1.968750e+00>
  // CHECK: arith.constant dense<2.500000e-01>
  // CHECK: arith.minimumf
  // CHECK: %[[COMPUTED:.*]] = arith.minsi
  // Sixteen steps from one with an argument that is too large.
  // CHECK: %[[ARGUMENT:.*]] = arith.constant dense<1056964608>
  // CHECK: arith.cmpi sge, %[[GREATEST]], %[[ARGUMENT]]
  // CHECK: arith.cmpi ne, %[[GREATEST]]
  // CHECK: %[[WAIT:.*]] = arith.constant dense<-16>
  // CHECK: %[[CHOSEN:.*]] = arith.select %{{.*}}, %[[WAIT]], %[[COMPUTED]]
  // CHECK: %[[COUNT:.*]] = arith.addi %[[LIMIT]]
  // CHECK: %[[NEXT:.*]] = arith.select %{{.*}}, %[[COUNT]], %[[CHOSEN]]
  // CHECK: %[[NEXTSIGN:.*]] = arith.cmpi slt, %[[NEXT]]
  // CHECK: hopper.yield %[[GROWN]], %[[NEW]], %[[P]], %[[NEXT]], %[[NEXTSIGN]]
  // CHECK: } else {
  // CHECK-NOT: math.tanh
  // CHECK-NOT: hopper.lane.reduce
  // CHECK: %[[FALSE:.*]] = arith.constant dense<false>
  // CHECK: %[[SQUARE:.*]] = arith.mulf %[[X]], %[[X]]
  // CHECK: %[[RATIO:.*]] = math.fma %[[SQUARE]]
  // CHECK: %[[E:.*]] = math.fma %[[X]], %[[RATIO]]
  // CHECK: %[[SHORT:.*]] = math.exp2 %[[E]]
  // CHECK: hopper.yield %[[FALSE]], %[[M]], %[[SHORT]], %[[LIMIT]], %[[NEGATIVE]]
  // CHECK: %[[RESCALES:.*]] = hopper.vote.any %[[WAY]]#0
  // CHECK: hopper.warp_if %[[RESCALES]] else
  // CHECK: scf.yield %[[WAY]]#1, %{{.*}}, %[[WAY]]#3, %[[WAY]]#4
  gpu.func @capped(%out: !llvm.ptr<1>) kernel {
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %steps = arith.constant 12 : i32
    %rows = arith.constant 64 : i32
    %columns = arith.constant 32 : i32
    %s0 = arith.constant 32 : i64
    %s1 = arith.constant 1 : i64
    %m0 = arith.constant dense<-40.0> : vector<2xf32>
    %acc0 = arith.constant dense<0.0> : vector<16xf32>
    %half = arith.constant dense<0.5> : vector<16xf32>
    %cap = arith.constant dense<8.0> : vector<16xf32>
    %rowCap = arith.constant dense<8.0> : vector<2xf32>
    %two = arith.constant dense<2.0> : vector<2xf32>
    %c7 = arith.constant dense<7> : vector<16xi32>
    %c23 = arith.constant dense<23> : vector<16xi32>
    %c11 = arith.constant dense<11> : vector<16xi32>
    %unit = arith.constant dense<0.00048828125> : vector<16xf32>
    %finer = arith.constant dense<28.0> : vector<16xf32>
    %row = hopper.coord dim 0 offset %z of #f : vector<16xi32>
    %column = hopper.coord dim 1 offset %z of #f : vector<16xi32>
    %r = arith.muli %row, %c7 : vector<16xi32>
    %rc = arith.addi %r, %column : vector<16xi32>
    %m, %acc = scf.for %i = %z to %steps step %one iter_args(%old = %m0, %sum = %acc0) -> (vector<2xf32>, vector<16xf32>) : i32 {
      // x: (-11 .. 11) * (row + 7) * step / 2048.
      %is = vector.broadcast %i : i32 to vector<16xi32>
      %n0 = arith.addi %rc, %is : vector<16xi32>
      %n1 = arith.remui %n0, %c23 : vector<16xi32>
      %n2 = arith.subi %n1, %c11 : vector<16xi32>
      %n3 = arith.addi %row, %c7 : vector<16xi32>
      %n4 = arith.muli %n2, %n3 : vector<16xi32>
      %n5 = arith.muli %n4, %is : vector<16xi32>
      %n6 = arith.sitofp %n5 : vector<16xi32> to vector<16xf32>
      %x = arith.mulf %n6, %unit : vector<16xf32>
      %kx = arith.mulf %x, %half : vector<16xf32>
      %y = math.tanh %kx : vector<16xf32>
      %part = hopper.fragment.reduce max %y dim 1 of #f : vector<16xf32> -> vector<2xf32>
      %max = hopper.lane.reduce max %part over [0, 1] : vector<2xf32>
      %scaled = arith.mulf %max, %rowCap : vector<2xf32>
      %above = arith.subf %scaled, %old : vector<2xf32>
      %grown = arith.cmpf ogt, %above, %two : vector<2xf32>
      %new = arith.select %grown, %scaled, %old : vector<2xi1>, vector<2xf32>
      %minus = arith.negf %new : vector<2xf32>
      %shift = vector.shuffle %minus, %minus [0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1] : vector<2xf32>, vector<2xf32>
      %e = math.fma %y, %cap, %shift fastmath<reassoc,contract> : vector<16xf32>
      %p = math.exp2 %e fastmath<afn> : vector<16xf32>
      %any = hopper.vote.any %grown : vector<2xi1>
      %scaledSum = hopper.warp_if %any else %sum : vector<16xf32> {
        %d = arith.subf %old, %new : vector<2xf32>
        %f = math.exp2 %d fastmath<afn> : vector<2xf32>
        %fs = vector.shuffle %f, %f [0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1] : vector<2xf32>, vector<2xf32>
        %product = arith.mulf %sum, %fs : vector<16xf32>
        %gs = vector.shuffle %grown, %grown [0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1] : vector<2xi1>, vector<2xi1>
        %chosen = arith.select %gs, %product, %sum : vector<16xi1>, vector<16xf32>
        hopper.yield %chosen : vector<16xf32>
      }
      %next = arith.addf %scaledSum, %p : vector<16xf32>
      scf.yield %new, %next : vector<2xf32>, vector<16xf32>
    }
    // Sums and references in 28ths.
    %ms = vector.shuffle %m, %m [0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1] : vector<2xf32>, vector<2xf32>
    %result = arith.addf %acc, %ms : vector<16xf32>
    %scaledUp = arith.mulf %result, %finer : vector<16xf32>
    %integers = arith.fptosi %scaledUp : vector<16xf32> to vector<16xi32>
    %rounded = arith.sitofp %integers : vector<16xi32> to vector<16xf32>
    hopper.fragment.store %rounded, %out[%z, %z] strides(%s0, %s1) bounds(%rows, %columns) of #f : vector<16xf32>
    gpu.return
  }

  // Users of tanh other than sums with a multiple of it get tanh.
  // CHECK-LABEL: gpu.func @used
  // CHECK: hopper.warp_if_else
  // CHECK: hopper.warp_if_else
  // CHECK: } else {
  // CHECK: %[[RATIO:.*]] = math.fma
  // CHECK: %[[TANH:.*]] = arith.mulf %{{.*}}, %[[RATIO]]
  // CHECK: arith.addf %[[TANH]], %[[TANH]]
  gpu.func @used(%kx: vector<16xf32>, %steps: i32) -> vector<2xf32> {
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %m0 = arith.constant dense<0.0> : vector<2xf32>
    %acc0 = arith.constant dense<0.0> : vector<16xf32>
    %two = arith.constant dense<2.0> : vector<2xf32>
    %m, %acc, %s = scf.for %i = %z to %steps step %one iter_args(%old = %m0, %sum = %acc0, %scaled = %m0) -> (vector<2xf32>, vector<16xf32>, vector<2xf32>) : i32 {
      %y = math.tanh %kx : vector<16xf32>
      %part = hopper.fragment.reduce max %y dim 1 of #f : vector<16xf32> -> vector<2xf32>
      %max = hopper.lane.reduce max %part over [0, 1] : vector<2xf32>
      %above = arith.subf %max, %old : vector<2xf32>
      %grown = arith.cmpf ogt, %above, %two : vector<2xf32>
      %new = arith.select %grown, %max, %old : vector<2xi1>, vector<2xf32>
      %twice = arith.addf %y, %y : vector<16xf32>
      %any = hopper.vote.any %grown : vector<2xi1>
      %product = hopper.warp_if %any else %scaled : vector<2xf32> {
        %square = arith.mulf %scaled, %two : vector<2xf32>
        hopper.yield %square : vector<2xf32>
      }
      %next = arith.addf %sum, %twice : vector<16xf32>
      scf.yield %new, %next, %product : vector<2xf32>, vector<16xf32>, vector<2xf32>
    }
    gpu.return %s : vector<2xf32>
  }

  // Left alone: few iterations; a maximum of sums with tanh; of products of
  // integers; with references that are always replaced.
  // CHECK-LABEL: gpu.func @few
  // CHECK-NOT: hopper.warp_if_else
  // CHECK: gpu.return
  gpu.func @few(%kx: vector<16xf32>, %bias: vector<16xf32>, %n: vector<16xi32>, %steps: i32) -> (vector<2xf32>, i1) {
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    %false = arith.constant false
    %m0 = arith.constant dense<0.0> : vector<2xf32>
    %half = arith.constant dense<0.5> : vector<16xf32>
    %two = arith.constant dense<2.0> : vector<2xf32>
    %m:2 = scf.for %i = %z to %four step %one iter_args(%old = %m0, %last = %false) -> (vector<2xf32>, i1) : i32 {
      %y = math.tanh %kx : vector<16xf32>
      %part = hopper.fragment.reduce max %y dim 1 of #f : vector<16xf32> -> vector<2xf32>
      %max = hopper.lane.reduce max %part over [0, 1] : vector<2xf32>
      %above = arith.subf %max, %old : vector<2xf32>
      %grown = arith.cmpf ogt, %above, %two : vector<2xf32>
      %new = arith.select %grown, %max, %old : vector<2xi1>, vector<2xf32>
      %any = hopper.vote.any %grown : vector<2xi1>
      scf.yield %new, %any : vector<2xf32>, i1
    }
    %m1:2 = scf.for %i = %z to %steps step %one iter_args(%old = %m#0, %last = %m#1) -> (vector<2xf32>, i1) : i32 {
      %y = math.tanh %kx : vector<16xf32>
      %sum = arith.addf %y, %bias : vector<16xf32>
      %part = hopper.fragment.reduce max %sum dim 1 of #f : vector<16xf32> -> vector<2xf32>
      %max = hopper.lane.reduce max %part over [0, 1] : vector<2xf32>
      %above = arith.subf %max, %old : vector<2xf32>
      %grown = arith.cmpf ogt, %above, %two : vector<2xf32>
      %new = arith.select %grown, %max, %old : vector<2xi1>, vector<2xf32>
      %any = hopper.vote.any %grown : vector<2xi1>
      scf.yield %new, %any : vector<2xf32>, i1
    }
    %m2:2 = scf.for %i = %z to %steps step %one iter_args(%old = %m1#0, %last = %m1#1) -> (vector<2xf32>, i1) : i32 {
      %x = arith.sitofp %n : vector<16xi32> to vector<16xf32>
      %hx = arith.mulf %x, %half : vector<16xf32>
      %y = math.tanh %hx : vector<16xf32>
      %part = hopper.fragment.reduce max %y dim 1 of #f : vector<16xf32> -> vector<2xf32>
      %max = hopper.lane.reduce max %part over [0, 1] : vector<2xf32>
      %above = arith.subf %max, %old : vector<2xf32>
      %grown = arith.cmpf ogt, %above, %two : vector<2xf32>
      %new = arith.select %grown, %max, %old : vector<2xi1>, vector<2xf32>
      %any = hopper.vote.any %grown : vector<2xi1>
      scf.yield %new, %any : vector<2xf32>, i1
    }
    %m3:2 = scf.for %i = %z to %steps step %one iter_args(%old = %m2#0, %last = %m2#1) -> (vector<2xf32>, i1) : i32 {
      %y = math.tanh %kx : vector<16xf32>
      %part = hopper.fragment.reduce max %y dim 1 of #f : vector<16xf32> -> vector<2xf32>
      %max = hopper.lane.reduce max %part over [0, 1] : vector<2xf32>
      %above = arith.subf %max, %old : vector<2xf32>
      %grown = arith.cmpf ogt, %above, %two : vector<2xf32>
      %any = hopper.vote.any %grown : vector<2xi1>
      scf.yield %max, %any : vector<2xf32>, i1
    }
    gpu.return %m3#0, %m3#1 : vector<2xf32>, i1
  }
}

func.func @host(%out: memref<64x32xf32> {tile.name = "out"}) {
  %c1 = arith.constant 1 : index
  %p = hopper.address %out : memref<64x32xf32>
  hopper.launch @m::@capped blocks %c1 threads 128 smem 0 args(%p : !llvm.ptr<1>)
  return
}
