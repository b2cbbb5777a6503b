// RUN: fa3-opt %s -tile-scale-operands | FileCheck %s
// RUN: fa3-opt %s -tile-scale-operands=scale-operands=always | FileCheck %s --check-prefix=ALWAYS
// RUN: fa3-opt %s -tile-scale-operands=scale-operands=never | FileCheck %s --check-prefix=NEVER
// RUN: not fa3-opt %s -tile-scale-operands=scale-operands=sometimes 2>&1 | FileCheck %s --check-prefix=WORD
// Also where no tanh will be a polynomial.
// RUN: not fa3-opt %s -fa3-specialize="rescale=eager scale-operands=sometimes" 2>&1 | FileCheck %s --check-prefix=WORD
// WORD: for the --scale-operands option: expects 'auto', 'always' or 'never', got 'sometimes'
// NEVER-NOT: math.fma %{{.*}} : tensor<64x64xf16>

!q = memref<?x64xf16, strided<[?, 1]>>
!b = memref<?x64xbf16, strided<[?, 1]>>
!w = memref<?x144xbf16, strided<[?, 1]>>
gpu.module @m {
  // 43.28 tanh(0.00295 s): the factor is 0.00295 cbrt(0.3232 * 43.28) = 0.0071,
  // in two parts of one sign, and the other factor 0.00295 / 0.0071.
  // CHECK-LABEL: gpu.func @capped
  // CHECK: %[[Q:.*]] = tile.load %arg0
  // CHECK: %[[LOW:.*]] = arith.constant dense<3.63{{.*}}e-06> : tensor<64x64xf16>
  // CHECK: %[[REST:.*]] = arith.mulf %[[Q]], %[[LOW]] : tensor<64x64xf16>
  // CHECK: %[[HIGH:.*]] = arith.constant dense<7.095{{.*}}e-03> : tensor<64x64xf16>
  // CHECK: %[[F:.*]] = math.fma %[[Q]], %[[HIGH]], %[[REST]] : tensor<64x64xf16>
  // CHECK: scf.for
  // CHECK: tile.dot %[[F]], %{{.*}} lhs mk rhs nk
  // CHECK: %[[K:.*]] = arith.constant dense<0.415{{.*}}> : tensor<64x32xf32>
  // CHECK: arith.mulf %{{.*}}, %[[K]]
  // CHECK: math.fma
  gpu.func @capped(%Q: !q, %K: !q, %n: index, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : tensor<64x32xf32>
    %none = arith.constant dense<0.0> : tensor<64x8xf32>
    %one = arith.constant dense<1.0> : tensor<64xf32>
    %rows = arith.constant dense<-1.0> : tensor<64x32xf32>
    %low = arith.constant dense<0xFF800000> : tensor<64x32xf32>
    %k = arith.constant dense<0.00294627831> : tensor<64x32xf32>
    %scale = arith.constant dense<43.2808495> : tensor<64x32xf32>
    %q = tile.load %Q[%c0, %c0] : !q -> tensor<64x64xf16>
    %sum = scf.for %t = %c0 to %n step %c1 iter_args(%l = %none) -> (tensor<64x8xf32>) {
      %y = tile.load %K[%t, %c0] : !q -> tensor<32x64xf16>
      %s = tile.dot %q, %y, %zero lhs mk rhs nk : tensor<64x64xf16>, tensor<32x64xf16> -> tensor<64x32xf32>
      %x = arith.mulf %s, %k fastmath<reassoc> : tensor<64x32xf32>
      %th = math.tanh %x : tensor<64x32xf32>
      %keep = arith.cmpf olt, %th, %k : tensor<64x32xf32>
      %kept = arith.select %keep, %th, %low : tensor<64x32xi1>, tensor<64x32xf32>
      %e = math.fma %kept, %scale, %rows fastmath<reassoc> : tensor<64x32xf32>
      %p = math.exp2 %e : tensor<64x32xf32>
      %part = tile.reduce add %p dim 1 modulo 8 : tensor<64x32xf32> -> tensor<64x8xf32>
      %r = arith.addf %l, %part : tensor<64x8xf32>
      scf.yield %r : tensor<64x8xf32>
    }
    %total = tile.reduce add %sum dim 1 : tensor<64x8xf32> -> tensor<64xf32>
    %share = arith.divf %one, %total : tensor<64xf32>
    %out = tile.broadcast %share dim 1 : tensor<64xf32> -> tensor<64x32xf32>
    tile.store %out, %c[%c0, %c0] : tensor<64x32xf32>, memref<?x?xf32>
    gpu.return
  }

  // A sum is stored, which shows errors that a quotient hides.
  // CHECK-LABEL: gpu.func @told
  // CHECK-NOT: math.fma %{{.*}} : tensor<64x64xbf16>
  // CHECK: tile.dot
  // ALWAYS-LABEL: gpu.func @told
  // ALWAYS: math.fma %{{.*}} : tensor<64x64xbf16>
  gpu.func @told(%Q: !b, %K: !b, %n: index, %c: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : tensor<64x32xf32>
    %none = arith.constant dense<0.0> : tensor<64x32xf32>
    %k = arith.constant dense<0.004> : tensor<64x32xf32>
    %scale = arith.constant dense<30.0> : tensor<64x32xf32>
    %q = tile.load %Q[%c0, %c0] : !b -> tensor<64x64xbf16>
    %sum = scf.for %t = %c0 to %n step %c1 iter_args(%m = %none) -> (tensor<64x32xf32>) {
      %y = tile.load %K[%t, %c0] : !b -> tensor<32x64xbf16>
      %s = tile.dot %q, %y, %zero lhs mk rhs nk : tensor<64x64xbf16>, tensor<32x64xbf16> -> tensor<64x32xf32>
      %x = arith.mulf %s, %k fastmath<reassoc> : tensor<64x32xf32>
      %th = math.tanh %x : tensor<64x32xf32>
      %e = math.fma %th, %scale, %m fastmath<reassoc> : tensor<64x32xf32>
      scf.yield %e : tensor<64x32xf32>
    }
    %r = tile.reduce add %sum dim 1 : tensor<64x32xf32> -> tensor<64xf32>
    tile.store %r, %c[%c0] : tensor<64xf32>, memref<?xf32>
    gpu.return
  }

  // A loop of eleven steps gains too little.
  // CHECK-LABEL: gpu.func @short
  // CHECK-NOT: math.fma %{{.*}} : tensor<64x64xbf16>
  // CHECK: tile.dot
  // ALWAYS-LABEL: gpu.func @short
  // ALWAYS: math.fma %{{.*}} : tensor<64x64xbf16>
  gpu.func @short(%Q: !b, %K: !b, %c: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 11 : index
    %one = arith.constant dense<1.0> : tensor<64xf32>
    %zero = arith.constant dense<0.0> : tensor<64x32xf32>
    %none = arith.constant dense<0.0> : tensor<64x32xf32>
    %k = arith.constant dense<0.004> : tensor<64x32xf32>
    %scale = arith.constant dense<30.0> : tensor<64x32xf32>
    %q = tile.load %Q[%c0, %c0] : !b -> tensor<64x64xbf16>
    %sum = scf.for %t = %c0 to %n step %c1 iter_args(%m = %none) -> (tensor<64x32xf32>) {
      %y = tile.load %K[%t, %c0] : !b -> tensor<32x64xbf16>
      %s = tile.dot %q, %y, %zero lhs mk rhs nk : tensor<64x64xbf16>, tensor<32x64xbf16> -> tensor<64x32xf32>
      %x = arith.mulf %s, %k fastmath<reassoc> : tensor<64x32xf32>
      %th = math.tanh %x : tensor<64x32xf32>
      %e = math.fma %th, %scale, %m fastmath<reassoc> : tensor<64x32xf32>
      scf.yield %e : tensor<64x32xf32>
    }
    %r = tile.reduce add %sum dim 1 : tensor<64x32xf32> -> tensor<64xf32>
    %share = arith.divf %one, %r : tensor<64xf32>
    tile.store %share, %c[%c0] : tensor<64xf32>, memref<?xf32>
    gpu.return
  }

  // Of so many columns products take the time.
  // CHECK-LABEL: gpu.func @wide
  // CHECK-NOT: math.fma %{{.*}} : tensor<64x144xbf16>
  // CHECK: tile.dot
  // ALWAYS-LABEL: gpu.func @wide
  // ALWAYS: math.fma %{{.*}} : tensor<64x144xbf16>
  gpu.func @wide(%Q: !w, %K: !w, %n: index, %c: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %one = arith.constant dense<1.0> : tensor<64xf32>
    %zero = arith.constant dense<0.0> : tensor<64x32xf32>
    %none = arith.constant dense<0.0> : tensor<64x32xf32>
    %k = arith.constant dense<0.004> : tensor<64x32xf32>
    %scale = arith.constant dense<30.0> : tensor<64x32xf32>
    %q = tile.load %Q[%c0, %c0] : !w -> tensor<64x144xbf16>
    %sum = scf.for %t = %c0 to %n step %c1 iter_args(%m = %none) -> (tensor<64x32xf32>) {
      %y = tile.load %K[%t, %c0] : !w -> tensor<32x144xbf16>
      %s = tile.dot %q, %y, %zero lhs mk rhs nk : tensor<64x144xbf16>, tensor<32x144xbf16> -> tensor<64x32xf32>
      %x = arith.mulf %s, %k fastmath<reassoc> : tensor<64x32xf32>
      %th = math.tanh %x : tensor<64x32xf32>
      %e = math.fma %th, %scale, %m fastmath<reassoc> : tensor<64x32xf32>
      scf.yield %e : tensor<64x32xf32>
    }
    %r = tile.reduce add %sum dim 1 : tensor<64x32xf32> -> tensor<64xf32>
    %share = arith.divf %one, %r : tensor<64xf32>
    tile.store %share, %c[%c0] : tensor<64xf32>, memref<?xf32>
    gpu.return
  }

  // A factor that f16 has, 2^-7.
  // CHECK-LABEL: gpu.func @power
  // CHECK: %[[Q:.*]] = tile.load %arg0
  // CHECK: %[[HIGH:.*]] = arith.constant dense<7.812500e-03> : tensor<64x64xf16>
  // CHECK-NEXT: %[[F:.*]] = arith.mulf %[[Q]], %[[HIGH]] : tensor<64x64xf16>
  // CHECK: tile.dot %[[F]]
  gpu.func @power(%Q: !q, %K: !q, %n: index, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : tensor<64x32xf32>
    %one = arith.constant dense<1.0> : tensor<64xf32>
    %k = arith.constant dense<0.00366375409> : tensor<64x32xf32>
    %scale = arith.constant dense<30.0> : tensor<64x32xf32>
    %q = tile.load %Q[%c0, %c0] : !q -> tensor<64x64xf16>
    %sum = scf.for %t = %c0 to %n step %c1 iter_args(%m = %zero) -> (tensor<64x32xf32>) {
      %y = tile.load %K[%t, %c0] : !q -> tensor<32x64xf16>
      %s = tile.dot %q, %y, %zero lhs mk rhs nk : tensor<64x64xf16>, tensor<32x64xf16> -> tensor<64x32xf32>
      %x = arith.mulf %s, %k fastmath<reassoc> : tensor<64x32xf32>
      %th = math.tanh %x : tensor<64x32xf32>
      %e = math.fma %th, %scale, %m fastmath<reassoc> : tensor<64x32xf32>
      scf.yield %e : tensor<64x32xf32>
    }
    %total = tile.reduce add %sum dim 1 : tensor<64x32xf32> -> tensor<64xf32>
    %share = arith.divf %one, %total : tensor<64xf32>
    %out = tile.broadcast %share dim 1 : tensor<64xf32> -> tensor<64x32xf32>
    tile.store %out, %c[%c0, %c0] : tensor<64x32xf32>, memref<?x?xf32>
    gpu.return
  }

  // Without the flag; two factors behind two tanh; a factor of 2, which f16 might
  // not hold; an accumulator that is not zero.
  // ALWAYS-LABEL: gpu.func @exact
  // ALWAYS-NOT: math.fma %{{.*}} : tensor<64x64xf16>
  // ALWAYS: gpu.return
  gpu.func @exact(%Q: !q, %K: !q, %n: index, %start: tensor<64x32xf32>, %c: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : tensor<64x32xf32>
    %k = arith.constant dense<0.004> : tensor<64x32xf32>
    %scale = arith.constant dense<30.0> : tensor<64x32xf32>
    %large = arith.constant dense<2.0> : tensor<64x32xf32>
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %c192 = arith.constant 192 : index
    %q = tile.load %Q[%c0, %c0] : !q -> tensor<64x64xf16>
    %q1 = tile.load %Q[%c64, %c0] : !q -> tensor<64x64xf16>
    %q2 = tile.load %Q[%c128, %c0] : !q -> tensor<64x64xf16>
    %q3 = tile.load %Q[%c192, %c0] : !q -> tensor<64x64xf16>
    %sum = scf.for %t = %c0 to %n step %c1 iter_args(%m = %zero) -> (tensor<64x32xf32>) {
      %y = tile.load %K[%t, %c0] : !q -> tensor<32x64xf16>
      %s = tile.dot %q, %y, %zero lhs mk rhs nk : tensor<64x64xf16>, tensor<32x64xf16> -> tensor<64x32xf32>
      %x = arith.mulf %s, %k : tensor<64x32xf32>
      %th = math.tanh %x : tensor<64x32xf32>
      %e = math.fma %th, %scale, %m fastmath<reassoc> : tensor<64x32xf32>
      %s1 = tile.dot %q1, %y, %zero lhs mk rhs nk : tensor<64x64xf16>, tensor<32x64xf16> -> tensor<64x32xf32>
      %x1 = arith.mulf %s1, %k fastmath<reassoc> : tensor<64x32xf32>
      %th1 = math.tanh %x1 : tensor<64x32xf32>
      %e1 = math.fma %th1, %scale, %e fastmath<reassoc> : tensor<64x32xf32>
      %e2 = math.fma %th1, %large, %e1 fastmath<reassoc> : tensor<64x32xf32>
      %s2 = tile.dot %q2, %y, %zero lhs mk rhs nk : tensor<64x64xf16>, tensor<32x64xf16> -> tensor<64x32xf32>
      %x2 = arith.mulf %s2, %large fastmath<reassoc> : tensor<64x32xf32>
      %th2 = math.tanh %x2 : tensor<64x32xf32>
      %e3 = math.fma %th2, %large, %e2 fastmath<reassoc> : tensor<64x32xf32>
      %s3 = tile.dot %q3, %y, %start lhs mk rhs nk : tensor<64x64xf16>, tensor<32x64xf16> -> tensor<64x32xf32>
      %x3 = arith.mulf %s3, %k fastmath<reassoc> : tensor<64x32xf32>
      %th3 = math.tanh %x3 : tensor<64x32xf32>
      %e4 = math.fma %th3, %scale, %e3 fastmath<reassoc> : tensor<64x32xf32>
      scf.yield %e4 : tensor<64x32xf32>
    }
    tile.store %sum, %c[%c0, %c0] : tensor<64x32xf32>, memref<?x?xf32>
    gpu.return
  }
}
