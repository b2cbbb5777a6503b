// RUN: fa3-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(hopper-vote-early{early-votes=integers})))" | FileCheck %s --check-prefixes=CHECK,BITS
// RUN: fa3-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(hopper-vote-early{early-votes=floats})))" | FileCheck %s --check-prefixes=CHECK,FLOATS
// RUN: fa3-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(hopper-vote-early)))" | FileCheck %s --check-prefix=AUTO
// RUN: fa3-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(hopper-vote-early{early-votes=none})))" -o %t.none.mlir
// RUN: fa3-opt %s | diff - %t.none.mlir
// RUN: not fa3-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(hopper-vote-early{early-votes=some})))" 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: for the --early-votes option: expects 'auto', 'integers', 'floats' or 'none', got 'some'

// The same numbers. They grow from step to step, by more than the threshold now
// and then, from where all of a warp are negative to where none is; also with a
// factor below 0, for which there is no limit. The answer is another one if
// negative limits are taken as they are, or limits are too high.
// RUN: fa3-run --cpu %t.none.mlir --function=host_reference --print out > %t.none.txt
// RUN: FileCheck %s --check-prefix=VALUES < %t.none.txt
// RUN: fa3-run --cpu %s --pass-pipeline="builtin.module(gpu.module(gpu.func(hopper-vote-early{early-votes=integers})))" --function=host_reference --print out | diff %t.none.txt -
// RUN: fa3-run --cpu %s --pass-pipeline="builtin.module(gpu.module(gpu.func(hopper-vote-early{early-votes=floats})))" --function=host_reference --print out | diff %t.none.txt -
// RUN: fa3-run --cpu %t.none.mlir --function=host_negative --print out > %t.negative.txt
// RUN: fa3-run --cpu %s --pass-pipeline="builtin.module(gpu.module(gpu.func(hopper-vote-early{early-votes=integers})))" --function=host_negative --print out | diff %t.negative.txt -
// VALUES: [0]:
// RUN: fa3-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(hopper-vote-early{early-votes=integers})))" -o %t.bits.mlir
// RUN: sed 's/dense<-2147483648>/dense<0>/' %t.bits.mlir > %t.least.mlir
// RUN: fa3-run --cpu %t.least.mlir --function=host_reference --print out | not diff -q %t.none.txt -
// RUN: sed 's/dense<1.968750e+00>/dense<3.5>/' %t.bits.mlir > %t.high.mlir
// RUN: fa3-run --cpu %t.high.mlir --function=host_reference --print out | not diff -q %t.none.txt -

// The maximum of a lane's parts that the loop carries has the same bits, from
// where it is negative to where it is not; not so if the branch is not taken as
// long as it is negative.
// RUN: fa3-run --cpu %t.none.mlir --function=host_carried --print out > %t.carried.txt
// RUN: fa3-run --cpu %t.bits.mlir --function=host_carried --print out | diff %t.carried.txt -
// RUN: fa3-run --cpu %s --pass-pipeline="builtin.module(gpu.module(gpu.func(hopper-vote-early{early-votes=floats})))" --function=host_carried --print out | diff %t.carried.txt -
// RUN: sed 's/dense<-2147483648>/dense<1082130432>/' %t.bits.mlir > %t.unordered.mlir
// RUN: fa3-run --cpu %t.unordered.mlir --function=host_carried --print out | not diff -q %t.carried.txt -

#f = #hopper.fragment<[64, 16], reg = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>

gpu.module @m {
  // CHECK-LABEL: gpu.func @reference
  // BITS: %[[FIRST:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : vector<2xi1>, vector<2xi32>
  // BITS: scf.for {{.*}} iter_args(%[[M:.*]] = %{{.*}}, %{{.*}} = %{{.*}}, %[[LIMIT:.*]] = %[[FIRST]])
  // FLOATS: scf.for {{.*}} iter_args(%[[M:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) ->
  // CHECK: %[[X:.*]] = arith.sitofp
  // BITS: %[[INTEGERS:.*]] = arith.bitcast %[[X]] : vector<8xf32> to vector<8xi32>
  // BITS: %[[GREATEST:.*]] = hopper.fragment.reduce max %[[INTEGERS]] {{.*}} : vector<8xi32> -> vector<2xi32>
  // BITS: %[[SOME:.*]] = arith.cmpi sge, %[[GREATEST]], %[[LIMIT]]
  // FLOATS: %[[PART:.*]] = hopper.fragment.reduce max %[[X]]
  // FLOATS: %[[SCALED:.*]] = arith.mulf %[[PART]]
  // FLOATS: %[[ABOVE:.*]] = arith.subf %[[SCALED]], %[[M]]
  // FLOATS: %[[SOME:.*]] = arith.cmpf ogt, %[[ABOVE]]
  // CHECK: %[[ANY:.*]] = hopper.vote.any %[[SOME]]
  // CHECK: %[[FALSE:.*]] = arith.constant dense<false>
  // BITS: %[[NEW:.*]]:3 = hopper.warp_if %[[ANY]] else %[[FALSE]], %[[M]], %[[LIMIT]]
  // BITS: hopper.fragment.reduce max %[[X]]
  // FLOATS: %[[NEW:.*]]:2 = hopper.warp_if %[[ANY]] else %[[FALSE]], %[[M]]
  // CHECK: hopper.lane.reduce max
  // CHECK: %[[GROWN:.*]] = arith.cmpf ogt
  // CHECK: %[[CHOSEN:.*]] = arith.select %[[GROWN]], %{{.*}}, %[[M]]
  // The limit is lower than the threshold of 2 and grows with what was chosen.
  // BITS: %[[THRESHOLD:.*]] = arith.constant dense<1.968750e+00>
  // BITS: arith.addf %[[THRESHOLD]], %[[CHOSEN]]
  // BITS: arith.constant dense<2.000000e+00>
  // BITS: %[[USABLE:.*]] = arith.cmpf oge
  // BITS: %[[LEAST:.*]] = arith.constant dense<-2147483648>
  // BITS: %[[AS_BITS:.*]] = arith.bitcast
  // BITS: %[[BITS:.*]] = arith.select %[[USABLE]], %[[AS_BITS]], %[[LEAST]]
  // BITS: hopper.yield %[[GROWN]], %[[CHOSEN]], %[[BITS]]
  // FLOATS: hopper.yield %[[GROWN]], %[[CHOSEN]]
  // CHECK-NOT: hopper.vote.any
  // CHECK: hopper.warp_if %[[ANY]] else
  // CHECK: scf.yield %[[NEW]]#1, %{{.*}}
  gpu.func @reference(%out: !llvm.ptr<1>) kernel {
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %steps = arith.constant 24 : i32
    %rows = arith.constant 64 : i32
    %columns = arith.constant 16 : i32
    %s0 = arith.constant 16 : i64
    %s1 = arith.constant 1 : i64
    %m0 = arith.constant dense<-40.0> : vector<2xf32>
    %acc0 = arith.constant dense<0.0> : vector<8xf32>
    %half = arith.constant dense<0.5> : vector<2xf32>
    %halves = arith.constant dense<0.5> : vector<8xf32>
    %two = arith.constant dense<2.0> : vector<2xf32>
    %c37 = arith.constant dense<37> : vector<8xi32>
    %c5 = arith.constant dense<5> : vector<8xi32>
    %c17 = arith.constant 17 : i32
    %c16 = arith.constant dense<16> : vector<8xi32>
    %c60 = arith.constant dense<60> : vector<8xi32>
    %c3 = arith.constant 3 : i32
    %row = hopper.coord dim 0 offset %z of #f : vector<8xi32>
    %column = hopper.coord dim 1 offset %z of #f : vector<8xi32>
    %r = arith.muli %row, %c37 : vector<8xi32>
    %c = arith.muli %column, %c5 : vector<8xi32>
    %rc = arith.addi %r, %c : vector<8xi32>
    %m, %acc = scf.for %i = %z to %steps step %one iter_args(%old = %m0, %sum = %acc0) -> (vector<2xf32>, vector<8xf32>) : i32 {
      %ii = arith.muli %i, %c17 : i32
      %is = vector.broadcast %ii : i32 to vector<8xi32>
      %n0 = arith.addi %rc, %is : vector<8xi32>
      %n1 = arith.remui %n0, %c16 : vector<8xi32>
      %growth = arith.muli %i, %c3 : i32
      %growths = vector.broadcast %growth : i32 to vector<8xi32>
      %n = arith.subi %n1, %c60 : vector<8xi32>
      %n2 = arith.addi %n, %growths : vector<8xi32>
      %x = arith.sitofp %n2 : vector<8xi32> to vector<8xf32>
      %part = hopper.fragment.reduce max %x dim 1 of #f : vector<8xf32> -> vector<2xf32>
      %max = hopper.lane.reduce max %part over [0, 1] : vector<2xf32>
      %scaled = arith.mulf %max, %half : vector<2xf32>
      %above = arith.subf %scaled, %old : vector<2xf32>
      %grown = arith.cmpf ogt, %above, %two : vector<2xf32>
      %new = arith.select %grown, %scaled, %old : vector<2xi1>, vector<2xf32>
      %shift = vector.shuffle %new, %new [0, 0, 1, 1, 0, 0, 1, 1] : vector<2xf32>, vector<2xf32>
      %y = arith.mulf %x, %halves : vector<8xf32>
      %e = arith.subf %y, %shift : vector<8xf32>
      %w = math.exp2 %e fastmath<afn> : vector<8xf32>
      %any = hopper.vote.any %grown : vector<2xi1>
      %scaledSum = hopper.warp_if %any else %sum : vector<8xf32> {
        %d = arith.subf %old, %new : vector<2xf32>
        %f = math.exp2 %d fastmath<afn> : vector<2xf32>
        %fs = vector.shuffle %f, %f [0, 0, 1, 1, 0, 0, 1, 1] : vector<2xf32>, vector<2xf32>
        %product = arith.mulf %sum, %fs : vector<8xf32>
        %gs = vector.shuffle %grown, %grown [0, 0, 1, 1, 0, 0, 1, 1] : vector<2xi1>, vector<2xi1>
        %chosen = arith.select %gs, %product, %sum : vector<8xi1>, vector<8xf32>
        hopper.yield %chosen : vector<8xf32>
      }
      %next = arith.addf %scaledSum, %w : vector<8xf32>
      scf.yield %new, %next : vector<2xf32>, vector<8xf32>
    }
    %ms = vector.shuffle %m, %m [0, 0, 1, 1, 0, 0, 1, 1] : vector<2xf32>, vector<2xf32>
    %result = arith.addf %acc, %ms : vector<8xf32>
    hopper.fragment.store %result, %out[%z, %z] strides(%s0, %s1) bounds(%rows, %columns) of #f : vector<8xf32>
    gpu.return
  }

  // Numbers that are not products, or whose sums were edited, are no matter of
  // the default.
  // AUTO-LABEL: gpu.func @reference
  // AUTO-NOT: arith.bitcast
  // AUTO: hopper.lane.reduce max
  // AUTO: hopper.vote.any

  // A factor that only the launch knows divides the limit, which has no use if
  // that is not positive.
  // BITS-LABEL: gpu.func @negative_factor
  // BITS: arith.divf
  // BITS: %[[POSITIVE:.*]] = arith.cmpf ogt
  // BITS: %[[SIGN:.*]] = arith.cmpf oge
  // BITS: %[[USABLE:.*]] = arith.andi %[[POSITIVE]], %[[SIGN]]
  // BITS: arith.select %[[USABLE]]
  // BITS: scf.for
  gpu.func @negative_factor(%out: !llvm.ptr<1>) kernel {
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %steps = arith.constant 4 : i32
    %rows = arith.constant 64 : i32
    %columns = arith.constant 16 : i32
    %s0 = arith.constant 16 : i64
    %s1 = arith.constant 1 : i64
    %two = arith.constant dense<2.0> : vector<2xf32>
    %row = hopper.coord dim 0 offset %z of #f : vector<8xi32>
    %column = hopper.coord dim 1 offset %z of #f : vector<8xi32>
    // -0.5, but no constant.
    %m05 = arith.constant -0.5 : f32
    %zero = arith.sitofp %z : i32 to f32
    %scalar = arith.addf %m05, %zero : f32
    %factor = vector.broadcast %scalar : f32 to vector<2xf32>
    %first = arith.mulf %factor, %two : vector<2xf32>
    %m, %sums = scf.for %i = %z to %steps step %one iter_args(%old = %first, %sum = %two) -> (vector<2xf32>, vector<2xf32>) : i32 {
      %is = vector.broadcast %i : i32 to vector<8xi32>
      %n0 = arith.muli %column, %is : vector<8xi32>
      %n1 = arith.subi %n0, %row : vector<8xi32>
      %x = arith.sitofp %n1 : vector<8xi32> to vector<8xf32>
      %part = hopper.fragment.reduce max %x dim 1 of #f : vector<8xf32> -> vector<2xf32>
      %max = hopper.lane.reduce max %part over [0, 1] : vector<2xf32>
      %scaled = arith.mulf %max, %factor : vector<2xf32>
      %above = arith.subf %scaled, %old : vector<2xf32>
      %grown = arith.cmpf ogt, %above, %two : vector<2xf32>
      %new = arith.select %grown, %scaled, %old : vector<2xi1>, vector<2xf32>
      %any = hopper.vote.any %grown : vector<2xi1>
      %same = hopper.warp_if %any else %new : vector<2xf32> {
        %twice = arith.addf %new, %new : vector<2xf32>
        %chosen = arith.select %grown, %twice, %new : vector<2xi1>, vector<2xf32>
        hopper.yield %chosen : vector<2xf32>
      }
      %next = arith.subf %same, %factor : vector<2xf32>
      %sum2 = arith.addf %sum, %next : vector<2xf32>
      scf.yield %new, %sum2 : vector<2xf32>, vector<2xf32>
    }
    %ms = vector.shuffle %m, %sums [0, 2, 1, 3, 0, 2, 1, 3] : vector<2xf32>, vector<2xf32>
    hopper.fragment.store %ms, %out[%z, %z] strides(%s0, %s1) bounds(%rows, %columns) of #f : vector<8xf32>
    gpu.return
  }

  // A maximum of parts that the loop carries for its own sake is one of bits,
  // too, once it is not negative; until then the branch is taken. Its floats are
  // in the branch.
  // BITS-LABEL: gpu.func @carried
  // BITS: %[[FIRST:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : vector<2xi1>, vector<2xi32>
  // BITS: arith.xori
  // BITS: arith.cmpi slt
  // BITS: %[[GUARDED:.*]] = arith.select %{{.*}}, %[[FIRST]], %{{.*}} : vector<2xi1>, vector<2xi32>
  // BITS: scf.for {{.*}} iter_args(%[[M:.*]] = %{{.*}}, %[[R:.*]] = %{{.*}}, %[[LIMIT:.*]] = %[[GUARDED]])
  // BITS: %[[GREATEST:.*]] = hopper.fragment.reduce max %{{.*}} : vector<8xi32> -> vector<2xi32>
  // BITS: arith.cmpi sge, %[[GREATEST]], %[[LIMIT]]
  // BITS: %[[R_BITS:.*]] = arith.bitcast %[[R]]
  // BITS: %[[JOINED:.*]] = arith.maxsi %[[GREATEST]], %[[R_BITS]]
  // BITS: %[[LARGEST:.*]] = arith.bitcast %[[JOINED]]
  // BITS: %[[NEW:.*]]:4 = hopper.warp_if %{{.*}} else %{{.*}}, %[[M]], %[[LARGEST]], %[[LIMIT]]
  // BITS: %[[PART:.*]] = hopper.fragment.reduce max
  // BITS: %[[KEPT:.*]] = arith.maxnumf %[[PART]], %[[R]]
  // BITS: %[[SIGN:.*]] = arith.bitcast %[[KEPT]]
  // BITS: %[[FLIPPED:.*]] = arith.xori %[[SIGN]]
  // BITS: %[[ORDERED:.*]] = arith.cmpi slt, %[[FLIPPED]]
  // BITS: %[[NEXT:.*]] = arith.select %[[ORDERED]]
  // BITS: hopper.yield %{{.*}}, %{{.*}}, %[[KEPT]], %[[NEXT]]
  // BITS: scf.yield %[[NEW]]#1, %[[NEW]]#2, %[[NEW]]#3
  gpu.func @carried(%out: !llvm.ptr<1>) kernel {
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %steps = arith.constant 24 : i32
    %rows = arith.constant 64 : i32
    %columns = arith.constant 16 : i32
    %s0 = arith.constant 16 : i64
    %s1 = arith.constant 1 : i64
    %m0 = arith.constant dense<0.0> : vector<2xf32>
    %none = arith.constant dense<0xFF800000> : vector<2xf32>
    %half = arith.constant dense<0.5> : vector<2xf32>
    %two = arith.constant dense<2.0> : vector<2xf32>
    %c37 = arith.constant dense<37> : vector<8xi32>
    %c5 = arith.constant dense<5> : vector<8xi32>
    %c17 = arith.constant 17 : i32
    %c16 = arith.constant dense<16> : vector<8xi32>
    %c60 = arith.constant dense<60> : vector<8xi32>
    %c3 = arith.constant 3 : i32
    %row = hopper.coord dim 0 offset %z of #f : vector<8xi32>
    %column = hopper.coord dim 1 offset %z of #f : vector<8xi32>
    %r = arith.muli %row, %c37 : vector<8xi32>
    %c = arith.muli %column, %c5 : vector<8xi32>
    %rc = arith.addi %r, %c : vector<8xi32>
    // The last rows stay negative.
    %row2 = arith.addi %row, %row : vector<8xi32>
    %m, %l = scf.for %i = %z to %steps step %one iter_args(%old = %m0, %largest = %none) -> (vector<2xf32>, vector<2xf32>) : i32 {
      %ii = arith.muli %i, %c17 : i32
      %is = vector.broadcast %ii : i32 to vector<8xi32>
      %n0 = arith.addi %rc, %is : vector<8xi32>
      %n1 = arith.remui %n0, %c16 : vector<8xi32>
      %growth = arith.muli %i, %c3 : i32
      %growths = vector.broadcast %growth : i32 to vector<8xi32>
      %n = arith.subi %n1, %c60 : vector<8xi32>
      %above0 = arith.subi %n, %row2 : vector<8xi32>
      %n2 = arith.addi %above0, %growths : vector<8xi32>
      %x = arith.sitofp %n2 : vector<8xi32> to vector<8xf32>
      %part = hopper.fragment.reduce max %x dim 1 of #f : vector<8xf32> -> vector<2xf32>
      %max = hopper.lane.reduce max %part over [0, 1] : vector<2xf32>
      %scaled = arith.mulf %max, %half : vector<2xf32>
      %above = arith.subf %scaled, %old : vector<2xf32>
      %grown = arith.cmpf ogt, %above, %two : vector<2xf32>
      %new = arith.select %grown, %scaled, %old : vector<2xi1>, vector<2xf32>
      %any = hopper.vote.any %grown : vector<2xi1>
      %same = hopper.warp_if %any else %new : vector<2xf32> {
        hopper.yield %new : vector<2xf32>
      }
      %next = arith.maxnumf %part, %largest : vector<2xf32>
      scf.yield %new, %next : vector<2xf32>, vector<2xf32>
    }
    %result = vector.shuffle %m, %l [0, 2, 1, 3, 0, 2, 1, 3] : vector<2xf32>, vector<2xf32>
    hopper.fragment.store %result, %out[%z, %z] strides(%s0, %s1) bounds(%rows, %columns) of #f : vector<8xf32>
    gpu.return
  }

  // A branch that gives something else than otherwise for elements for which the
  // condition is false keeps its own vote; what is chosen does not wait for it.
  // BITS-LABEL: gpu.func @unguarded
  // BITS: %[[ANY:.*]] = hopper.vote.any
  // BITS: %[[NEW:.*]]:3 = hopper.warp_if %[[ANY]]
  // BITS: %[[OLD:.*]] = hopper.vote.any %[[NEW]]#0
  // BITS: hopper.warp_if %[[OLD]] else
  gpu.func @unguarded(%x: vector<8xf32>) {
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %m0 = arith.constant dense<0.0> : vector<2xf32>
    %two = arith.constant dense<2.0> : vector<2xf32>
    scf.for %i = %z to %one step %one iter_args(%old = %m0, %sum = %m0) -> (vector<2xf32>, vector<2xf32>) : i32 {
      %part = hopper.fragment.reduce max %x dim 1 of #f : vector<8xf32> -> vector<2xf32>
      %max = hopper.lane.reduce max %part over [0, 1] : vector<2xf32>
      %above = arith.subf %max, %old : vector<2xf32>
      %over = arith.cmpf ogt, %above, %two : vector<2xf32>
      %new = arith.select %over, %max, %old : vector<2xi1>, vector<2xf32>
      %any = hopper.vote.any %over : vector<2xi1>
      %next = hopper.warp_if %any else %sum : vector<2xf32> {
        %product = arith.mulf %sum, %two : vector<2xf32>
        hopper.yield %product : vector<2xf32>
      }
      scf.yield %new, %next : vector<2xf32>, vector<2xf32>
    }
    gpu.return
  }

  // Left as they are: a maximum that something else needs, a sum, and a choice
  // between what there is and a constant, which as a rule is the maximum.
  // BITS-LABEL: gpu.func @kept
  // FLOATS-LABEL: gpu.func @kept
  // CHECK-NOT: hopper.warp_if
  // CHECK: gpu.return
  gpu.func @kept(%x: vector<8xf32>, %old: vector<2xf32>) -> (vector<2xf32>, vector<2xf32>, i1, i1, i1) {
    %m0 = arith.constant dense<0.0> : vector<2xf32>
    %part = hopper.fragment.reduce max %x dim 1 of #f : vector<8xf32> -> vector<2xf32>
    %max = hopper.lane.reduce max %part over [0, 1] : vector<2xf32>
    %grown = arith.cmpf ogt, %max, %old : vector<2xf32>
    %new = arith.select %grown, %max, %old : vector<2xi1>, vector<2xf32>
    %any = hopper.vote.any %grown : vector<2xi1>
    %used = arith.addf %max, %new : vector<2xf32>
    %sum = hopper.lane.reduce add %part over [0, 1] : vector<2xf32>
    %grownSum = arith.cmpf ogt, %sum, %old : vector<2xf32>
    %newSum = arith.select %grownSum, %sum, %old : vector<2xi1>, vector<2xf32>
    %anySum = hopper.vote.any %grownSum : vector<2xi1>
    %max1 = hopper.lane.reduce max %part over [0, 1] : vector<2xf32>
    %grown1 = arith.cmpf ogt, %max1, %m0 : vector<2xf32>
    %new1 = arith.select %grown1, %max1, %m0 : vector<2xi1>, vector<2xf32>
    %any1 = hopper.vote.any %grown1 : vector<2xi1>
    %both = arith.addf %newSum, %new1 : vector<2xf32>
    gpu.return %used, %both, %any, %anySum, %any1 : vector<2xf32>, vector<2xf32>, i1, i1, i1
  }
}

func.func @host_reference(%out: memref<64x16xf32> {tile.name = "out"}) {
  %c1 = arith.constant 1 : index
  %p = hopper.address %out : memref<64x16xf32>
  hopper.launch @m::@reference blocks %c1 threads 128 smem 0 args(%p : !llvm.ptr<1>)
  return
}

func.func @host_carried(%out: memref<64x16xf32> {tile.name = "out"}) {
  %c1 = arith.constant 1 : index
  %p = hopper.address %out : memref<64x16xf32>
  hopper.launch @m::@carried blocks %c1 threads 128 smem 0 args(%p : !llvm.ptr<1>)
  return
}

func.func @host_negative(%out: memref<64x16xf32> {tile.name = "out"}) {
  %c1 = arith.constant 1 : index
  %p = hopper.address %out : memref<64x16xf32>
  hopper.launch @m::@negative_factor blocks %c1 threads 128 smem 0 args(%p : !llvm.ptr<1>)
  return
}
