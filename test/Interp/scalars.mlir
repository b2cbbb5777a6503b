// Scalars, one operation after another; each stores its result.
// RUN: fa3-run --cpu %s --function integers --print out | FileCheck %s --check-prefix=INTEGERS
// RUN: fa3-run --cpu %s --function floats --print out | FileCheck %s --check-prefix=FLOATS
// RUN: fa3-run --cpu %s --function formats --print out | FileCheck %s --check-prefix=FORMATS
// RUN: fa3-run --cpu %s --function control --print out | FileCheck %s --check-prefix=CONTROL

// INTEGERS: out: 26xi64
// INTEGERS-NEXT: []: -3 -4 -3 -1 2147483644 4 4 2147483644 -4 2 -7 -2147483648 -2 -56 200 200 -56 -1 0 1 0 7 -2 2 1065353216 1
func.func @integers(%out: memref<26xi64> {tile.name = "out"}) {
  %a = arith.constant -7 : i32
  %b = arith.constant 2 : i32
  %seven = arith.constant 7 : i32
  %one = arith.constant 1 : i32
  %0 = arith.divsi %a, %b : i32
  %x0 = arith.extsi %0 : i32 to i64
  %p0 = arith.constant 0 : index
  memref.store %x0, %out[%p0] : memref<26xi64>
  %1 = arith.floordivsi %a, %b : i32
  %x1 = arith.extsi %1 : i32 to i64
  %p1 = arith.constant 1 : index
  memref.store %x1, %out[%p1] : memref<26xi64>
  %2 = arith.ceildivsi %a, %b : i32
  %x2 = arith.extsi %2 : i32 to i64
  %p2 = arith.constant 2 : index
  memref.store %x2, %out[%p2] : memref<26xi64>
  %3 = arith.remsi %a, %b : i32
  %x3 = arith.extsi %3 : i32 to i64
  %p3 = arith.constant 3 : index
  memref.store %x3, %out[%p3] : memref<26xi64>
  %4 = arith.divui %a, %b : i32
  %x4 = arith.extsi %4 : i32 to i64
  %p4 = arith.constant 4 : index
  memref.store %x4, %out[%p4] : memref<26xi64>
  %5 = arith.remui %a, %seven : i32
  %x5 = arith.extsi %5 : i32 to i64
  %p5 = arith.constant 5 : index
  memref.store %x5, %out[%p5] : memref<26xi64>
  %6 = arith.ceildivui %seven, %b : i32
  %x6 = arith.extsi %6 : i32 to i64
  %p6 = arith.constant 6 : index
  memref.store %x6, %out[%p6] : memref<26xi64>
  %7 = arith.shrui %a, %one : i32
  %x7 = arith.extsi %7 : i32 to i64
  %p7 = arith.constant 7 : index
  memref.store %x7, %out[%p7] : memref<26xi64>
  %8 = arith.shrsi %a, %one : i32
  %x8 = arith.extsi %8 : i32 to i64
  %p8 = arith.constant 8 : index
  memref.store %x8, %out[%p8] : memref<26xi64>
  %9 = arith.minui %a, %b : i32
  %x9 = arith.extsi %9 : i32 to i64
  %p9 = arith.constant 9 : index
  memref.store %x9, %out[%p9] : memref<26xi64>
  %10 = arith.maxui %a, %b : i32
  %x10 = arith.extsi %10 : i32 to i64
  %p10 = arith.constant 10 : index
  memref.store %x10, %out[%p10] : memref<26xi64>
  %max = arith.constant 2147483647 : i32
  %11 = arith.addi %max, %one : i32
  %x11 = arith.extsi %11 : i32 to i64
  %p11 = arith.constant 11 : index
  memref.store %x11, %out[%p11] : memref<26xi64>
  %12 = arith.muli %max, %b : i32
  %x12 = arith.extsi %12 : i32 to i64
  %p12 = arith.constant 12 : index
  memref.store %x12, %out[%p12] : memref<26xi64>
  %big = arith.constant 200 : i32
  %13 = arith.trunci %big : i32 to i8
  %x13 = arith.extsi %13 : i8 to i64
  %p13 = arith.constant 13 : index
  memref.store %x13, %out[%p13] : memref<26xi64>
  %14 = arith.extui %13 : i8 to i32
  %x14 = arith.extsi %14 : i32 to i64
  %p14 = arith.constant 14 : index
  memref.store %x14, %out[%p14] : memref<26xi64>
  %15 = arith.index_castui %13 : i8 to index
  %x15 = arith.index_cast %15 : index to i64
  %p15 = arith.constant 15 : index
  memref.store %x15, %out[%p15] : memref<26xi64>
  %16 = arith.index_cast %13 : i8 to index
  %x16 = arith.index_cast %16 : index to i64
  %p16 = arith.constant 16 : index
  memref.store %x16, %out[%p16] : memref<26xi64>
  %true = arith.constant true
  %false = arith.constant false
  %17 = arith.cmpi slt, %true, %false : i1
  %s17 = arith.extsi %17 : i1 to i64
  %p17 = arith.constant 17 : index
  memref.store %s17, %out[%p17] : memref<26xi64>
  %18 = arith.cmpi ult, %true, %false : i1
  %x18 = arith.extui %18 : i1 to i64
  %p18 = arith.constant 18 : index
  memref.store %x18, %out[%p18] : memref<26xi64>
  %19 = arith.cmpi ult, %seven, %a : i32
  %x19 = arith.extui %19 : i1 to i64
  %p19 = arith.constant 19 : index
  memref.store %x19, %out[%p19] : memref<26xi64>
  %20 = arith.cmpi slt, %seven, %a : i32
  %x20 = arith.extui %20 : i1 to i64
  %p20 = arith.constant 20 : index
  memref.store %x20, %out[%p20] : memref<26xi64>
  %21 = math.absi %a : i32
  %x21 = arith.extsi %21 : i32 to i64
  %p21 = arith.constant 21 : index
  memref.store %x21, %out[%p21] : memref<26xi64>
  %f = arith.constant -2.9 : f32
  %22 = arith.fptosi %f : f32 to i32
  %x22 = arith.extsi %22 : i32 to i64
  %p22 = arith.constant 22 : index
  memref.store %x22, %out[%p22] : memref<26xi64>
  %23 = arith.select %20, %one, %b : i32
  %x23 = arith.extsi %23 : i32 to i64
  %p23 = arith.constant 23 : index
  memref.store %x23, %out[%p23] : memref<26xi64>
  %g = arith.constant 1.0 : f32
  %24 = arith.bitcast %g : f32 to i32
  %x24 = arith.extsi %24 : i32 to i64
  %p24 = arith.constant 24 : index
  memref.store %x24, %out[%p24] : memref<26xi64>
  %i64 = arith.constant -1 : i64
  %25 = arith.divsi %i64, %i64 : i64
  %p25 = arith.constant 25 : index
  memref.store %25, %out[%p25] : memref<26xi64>
  return
}

// FLOATS: out: 17xf64
// FLOATS-NEXT: []: nan 1.5 1.5 nan inf {{-?}}nan 2.82843 3.75 0.905148 0.816497 0 1 -1 -1.5 4.29497e+09 -1.5 2
func.func @floats(%out: memref<17xf64> {tile.name = "out"}) {
  %a = arith.constant 1.5 : f64
  %nan = arith.constant 0x7FF8000000000000 : f64
  %inf = arith.constant 0x7FF0000000000000 : f64
  %zero = arith.constant 0.0 : f64
  %nzero = arith.constant -0.0 : f64
  %0 = arith.maximumf %a, %nan : f64
  %p0 = arith.constant 0 : index
  memref.store %0, %out[%p0] : memref<17xf64>
  %1 = arith.maxnumf %nan, %a : f64
  %p1 = arith.constant 1 : index
  memref.store %1, %out[%p1] : memref<17xf64>
  %2 = arith.minnumf %a, %nan : f64
  %p2 = arith.constant 2 : index
  memref.store %2, %out[%p2] : memref<17xf64>
  %3 = arith.minimumf %nan, %a : f64
  %p3 = arith.constant 3 : index
  memref.store %3, %out[%p3] : memref<17xf64>
  %4 = arith.maximumf %nzero, %zero : f64
  %d4 = arith.divf %a, %4 : f64
  %p4 = arith.constant 4 : index
  memref.store %d4, %out[%p4] : memref<17xf64>
  %5 = arith.subf %inf, %inf : f64
  %p5 = arith.constant 5 : index
  memref.store %5, %out[%p5] : memref<17xf64>
  %6 = math.exp2 %a : f64
  %p6 = arith.constant 6 : index
  memref.store %6, %out[%p6] : memref<17xf64>
  %7 = math.fma %a, %a, %a : f64
  %p7 = arith.constant 7 : index
  memref.store %7, %out[%p7] : memref<17xf64>
  %8 = math.tanh %a : f64
  %p8 = arith.constant 8 : index
  memref.store %8, %out[%p8] : memref<17xf64>
  %9 = math.rsqrt %a : f64
  %p9 = arith.constant 9 : index
  memref.store %9, %out[%p9] : memref<17xf64>
  %10 = arith.cmpf one, %a, %nan : f64
  %f10 = arith.uitofp %10 : i1 to f64
  %p10 = arith.constant 10 : index
  memref.store %f10, %out[%p10] : memref<17xf64>
  %11 = arith.cmpf une, %a, %nan : f64
  %f11 = arith.uitofp %11 : i1 to f64
  %p11 = arith.constant 11 : index
  memref.store %f11, %out[%p11] : memref<17xf64>
  %12 = arith.cmpf olt, %zero, %a : f64
  %f12 = arith.sitofp %12 : i1 to f64
  %p12 = arith.constant 12 : index
  memref.store %f12, %out[%p12] : memref<17xf64>
  %13 = arith.negf %a : f64
  %p13 = arith.constant 13 : index
  memref.store %13, %out[%p13] : memref<17xf64>
  %m1 = arith.constant -1 : i32
  %14 = arith.uitofp %m1 : i32 to f64
  %p14 = arith.constant 14 : index
  memref.store %14, %out[%p14] : memref<17xf64>
  %15 = math.copysign %a, %nzero : f64
  %p15 = arith.constant 15 : index
  memref.store %15, %out[%p15] : memref<17xf64>
  %16 = math.roundeven %a : f64
  %p16 = arith.constant 16 : index
  memref.store %16, %out[%p16] : memref<17xf64>
  return
}

// FORMATS: out: 10xf64
// FORMATS-NEXT: []: 2048 1 448 57344 inf 2048 2048 5.96046e-08 1.00098 1.49012e-09
func.func @formats(%out: memref<10xf64> {tile.name = "out"}) {
  %a = arith.constant 2049.0 : f32
  %0 = arith.truncf %a : f32 to f16
  %x0 = arith.extf %0 : f16 to f64
  %p0 = arith.constant 0 : index
  memref.store %x0, %out[%p0] : memref<10xf64>
  %b = arith.constant 1.00390625 : f32
  %1 = arith.truncf %b : f32 to bf16
  %x1 = arith.extf %1 : bf16 to f64
  %p1 = arith.constant 1 : index
  memref.store %x1, %out[%p1] : memref<10xf64>
  %c = arith.constant 1000.0 : f32
  %2 = arith.truncf %c : f32 to f8E4M3FN
  %x2 = arith.extf %2 : f8E4M3FN to f64
  %p2 = arith.constant 2 : index
  memref.store %x2, %out[%p2] : memref<10xf64>
  %d = arith.constant 1.0e+06 : f32
  %3 = arith.truncf %d : f32 to f8E5M2
  %x3 = arith.extf %3 : f8E5M2 to f64
  %p3 = arith.constant 3 : index
  memref.store %x3, %out[%p3] : memref<10xf64>
  %4 = arith.truncf %d : f32 to f16
  %x4 = arith.extf %4 : f16 to f64
  %p4 = arith.constant 4 : index
  memref.store %x4, %out[%p4] : memref<10xf64>
  %h = arith.constant 2048.0 : f16
  %one = arith.constant 1.0 : f16
  %5 = arith.addf %h, %one : f16
  %x5 = arith.extf %5 : f16 to f64
  %p5 = arith.constant 5 : index
  memref.store %x5, %out[%p5] : memref<10xf64>
  %6 = math.fma %one, %one, %h : f16
  %x6 = arith.extf %6 : f16 to f64
  %p6 = arith.constant 6 : index
  memref.store %x6, %out[%p6] : memref<10xf64>
  %tiny = arith.constant 5.9604644775390625e-08 : f64
  %7 = arith.truncf %tiny : f64 to f16
  %x7 = arith.extf %7 : f16 to f64
  %p7 = arith.constant 7 : index
  memref.store %x7, %out[%p7] : memref<10xf64>
  %e = arith.constant 1.00048828125000090949 : f64
  %8 = arith.truncf %e : f64 to f16
  %x8 = arith.extf %8 : f16 to f64
  %p8 = arith.constant 8 : index
  memref.store %x8, %out[%p8] : memref<10xf64>
  %w = arith.constant 0.1 : f64
  %9 = arith.truncf %w : f64 to f32
  %d9 = arith.extf %9 : f32 to f64
  %e9 = arith.subf %d9, %w : f64
  %p9 = arith.constant 9 : index
  memref.store %e9, %out[%p9] : memref<10xf64>
  return
}

// Loops that do not run, carried values that change places, while, calls, and
// elements that nobody writes.
// CONTROL: out: 7xi64
// CONTROL-NEXT: []: 5 3 8 9 24 -1 -1
func.func private @twice(%x: i64) -> i64 {
  %r = arith.addi %x, %x : i64
  return %r : i64
}
func.func @control(%out: memref<7xi64> {tile.name = "out"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %i3 = arith.constant 3 : i64
  %i5 = arith.constant 5 : i64
  %i8 = arith.constant 8 : i64
  %swap:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %i3, %b = %i5) -> (i64, i64) {
    scf.yield %b, %a : i64, i64
  }
  memref.store %swap#0, %out[%c0] : memref<7xi64>
  memref.store %swap#1, %out[%c1] : memref<7xi64>
  %none = scf.for %i = %c3 to %c0 step %c1 iter_args(%a = %i8) -> (i64) {
    scf.yield %i3 : i64
  }
  memref.store %none, %out[%c2] : memref<7xi64>
  %w = scf.while (%x = %i3) : (i64) -> i64 {
    %go = arith.cmpi slt, %x, %i8 : i64
    scf.condition(%go) %x : i64
  } do {
  ^bb0(%x: i64):
    %y = arith.addi %x, %i3 : i64
    scf.yield %y : i64
  }
  memref.store %w, %out[%c3] : memref<7xi64>
  %t = func.call @twice(%i3) : (i64) -> i64
  %u = affine.apply affine_map<(d0)[s0] -> (d0 * 4 + s0 floordiv 2 - 1)> (%c4)[%c3]
  %v = arith.index_cast %u : index to i64
  %z = arith.addi %t, %v : i64
  %half = affine.min affine_map<(d0) -> (d0, 2)> (%c3)
  %h = arith.index_cast %half : index to i64
  %s = arith.addi %z, %h : i64
  memref.store %s, %out[%c4] : memref<7xi64>
  return
}
