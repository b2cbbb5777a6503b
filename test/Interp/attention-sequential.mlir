// RUN: fa3-run --cpu %s --dims b=1,h=2,sq=70,sk=90 --scalar scale=0.125 --against %S/Inputs/attention-reference.mlir --atol 4e-3 | FileCheck %s
// Rows without visible key, guards that are taken without need, the layout (b, s, h, d).
// RUN: fa3-run --cpu %s --dims b=2,h=1,sq=100,sk=40 --scalar scale=0.125 --guards taken --order q=0,2,1,3 --order o=0,2,1,3 --against %S/Inputs/attention-reference.mlir --atol 4e-3 | FileCheck %s
// RUN: fa3-run --cpu %s --dims b=1,h=1,sq=64,sk=128 --scalar scale=0.125 --guards random --schedule-seed 3 --distribution outlier --against %S/Inputs/attention-reference.mlir --atol 6e-3 | FileCheck %s

// CHECK: o: max abs
// CHECK-NEXT: lse: max abs

// Online softmax with lazy rescaling, masks from coordinates, and a guard
// around steps without visible key.
!t = memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>>
gpu.module @kernels {
  gpu.func @attention(%q: !t, %k: !t, %v: !t, %o: !t, %lse: memref<?x?x?xf32>,
                      %tiles: index, %heads: index, %batch: index, %sq: index, %sk: index, %scale: f32) kernel {
    tile.grid (%m, %h, %b) in (%tiles, %heads, %batch) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %c32 = arith.constant 32 : index
      %log2e = arith.constant 1.44269504 : f32
      %ln2 = arith.constant 0.693147182 : f32
      %zeroAcc = arith.constant dense<0.0> : tensor<64x64xf32>
      %zeroS = arith.constant dense<0.0> : tensor<64x32xf32>
      %zeroL = arith.constant dense<0.0> : tensor<64x8xf32>
      %zero1 = arith.constant dense<0.0> : tensor<64xf32>
      %one1 = arith.constant dense<1.0> : tensor<64xf32>
      %lowest = arith.constant dense<-1.2676506e+30> : tensor<64xf32>
      %inf = arith.constant dense<0xFF800000> : tensor<64x32xf32>
      %inf1 = arith.constant dense<0xFF800000> : tensor<64xf32>
      %c = arith.mulf %scale, %log2e : f32
      %off = arith.subi %sk, %sq : index
      %i0 = arith.muli %m, %c64 : index
      %qt = tile.load %q[%b, %h, %i0, %c0] : !t -> tensor<64x64xf16>
      %blocks = arith.ceildivsi %sk, %c32 : index
      %r:3 = scf.for %t = %c0 to %blocks step %c1
          iter_args(%acc = %zeroAcc, %mx = %lowest, %l = %zeroL)
          -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64x8xf32>) {
        %back = arith.subi %blocks, %t : index
        %n = arith.subi %back, %c1 : index
        %j0 = arith.muli %n, %c32 : index
        %query = tile.coord dim 0 offset %i0 : tensor<64x32xindex>
        %offt = tensor.splat %off : tensor<64x32xindex>
        %row = arith.addi %query, %offt : tensor<64x32xindex>
        %col = tile.coord dim 1 offset %j0 : tensor<64x32xindex>
        %seen = arith.cmpi sle, %col, %row : tensor<64x32xindex>
        %skt = tensor.splat %sk : tensor<64x32xindex>
        %inside = arith.cmpi slt, %col, %skt : tensor<64x32xindex>
        %keep = arith.andi %seen, %inside : tensor<64x32xi1>
        %live = tile.any_possible %keep : tensor<64x32xi1>
        %s:3 = scf.if %live -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64x8xf32>) {
          %kt = tile.load %k[%b, %h, %j0, %c0] : !t -> tensor<32x64xf16>
          %vt = tile.load %v[%b, %h, %j0, %c0] : !t -> tensor<32x64xf16>
          %s0 = tile.dot %qt, %kt, %zeroS lhs mk rhs nk : tensor<64x64xf16>, tensor<32x64xf16> -> tensor<64x32xf32>
          %s1 = arith.select %keep, %s0, %inf : tensor<64x32xi1>, tensor<64x32xf32>
          %new = tile.reduce max %s1 init %mx dim 1 : tensor<64x32xf32>, tensor<64xf32> -> tensor<64xf32>
          %ct = tensor.splat %c : tensor<64xf32>
          %d0 = arith.subf %mx, %new : tensor<64xf32>
          %d1 = arith.mulf %d0, %ct : tensor<64xf32>
          %alpha = math.exp2 %d1 : tensor<64xf32>
          %grow = arith.cmpf one, %alpha, %one1 : tensor<64xf32>
          %acc1 = tile.where %grow else %acc : tensor<64xi1>, tensor<64x64xf32> {
            %ab = tile.broadcast %alpha dim 1 : tensor<64xf32> -> tensor<64x64xf32>
            %x = arith.mulf %acc, %ab : tensor<64x64xf32>
            tile.yield %x : tensor<64x64xf32>
          }
          %al = tile.broadcast %alpha dim 1 : tensor<64xf32> -> tensor<64x8xf32>
          %l1 = arith.mulf %l, %al : tensor<64x8xf32>
          %nb = tile.broadcast %new dim 1 : tensor<64xf32> -> tensor<64x32xf32>
          %cb = tensor.splat %c : tensor<64x32xf32>
          %e0 = arith.subf %s1, %nb : tensor<64x32xf32>
          %e1 = arith.mulf %e0, %cb : tensor<64x32xf32>
          %p = math.exp2 %e1 : tensor<64x32xf32>
          %l2 = tile.reduce add %p init %l1 dim 1 modulo 8 : tensor<64x32xf32>, tensor<64x8xf32> -> tensor<64x8xf32>
          %p16 = arith.truncf %p : tensor<64x32xf32> to tensor<64x32xf16>
          %acc2 = tile.dot %p16, %vt, %acc1 lhs mk rhs kn : tensor<64x32xf16>, tensor<32x64xf16> -> tensor<64x64xf32>
          scf.yield %acc2, %new, %l2 : tensor<64x64xf32>, tensor<64xf32>, tensor<64x8xf32>
        } else {
          scf.yield %acc, %mx, %l : tensor<64x64xf32>, tensor<64xf32>, tensor<64x8xf32>
        }
        scf.yield %s#0, %s#1, %s#2 : tensor<64x64xf32>, tensor<64xf32>, tensor<64x8xf32>
      }
      %sum = tile.reduce add %r#2 dim 1 : tensor<64x8xf32> -> tensor<64xf32>
      %some = arith.cmpf ogt, %sum, %zero1 : tensor<64xf32>
      %inv0 = arith.divf %one1, %sum : tensor<64xf32>
      %inv = arith.select %some, %inv0, %zero1 : tensor<64xi1>, tensor<64xf32>
      %ib = tile.broadcast %inv dim 1 : tensor<64xf32> -> tensor<64x64xf32>
      %on = arith.mulf %r#0, %ib : tensor<64x64xf32>
      %o16 = arith.truncf %on : tensor<64x64xf32> to tensor<64x64xf16>
      tile.store %o16, %o[%b, %h, %i0, %c0] : tensor<64x64xf16>, !t
      %log = math.log %sum : tensor<64xf32>
      %st = tensor.splat %scale : tensor<64xf32>
      %ms = arith.mulf %r#1, %st : tensor<64xf32>
      %lse0 = arith.addf %ms, %log : tensor<64xf32>
      %lse1 = arith.select %some, %lse0, %inf1 : tensor<64xi1>, tensor<64xf32>
      tile.store %lse1, %lse[%b, %h, %i0] : tensor<64xf32>, memref<?x?x?xf32>
    }
    gpu.return
  }
}

func.func @attention(%q: !t {tile.name = "q", tile.dims = ["b", "h", "sq", "d"]},
                     %k: !t {tile.name = "k", tile.dims = ["b", "h", "sk", "d"]},
                     %v: !t {tile.name = "v", tile.dims = ["b", "h", "sk", "d"]},
                     %o: !t {tile.name = "o", tile.dims = ["b", "h", "sq", "d"]},
                     %lse: memref<?x?x?xf32> {tile.name = "lse", tile.dims = ["b", "h", "sq"]},
                     %scale: f32 {tile.name = "scale"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %batch = memref.dim %q, %c0 : !t
  %heads = memref.dim %q, %c1 : !t
  %sq = memref.dim %q, %c2 : !t
  %sk = memref.dim %k, %c2 : !t
  %batchK = memref.dim %k, %c0 : !t
  %same = arith.cmpi eq, %batch, %batchK : index
  cf.assert %same, "q and k differ in batch"
  %tiles = arith.ceildivsi %sq, %c64 : index
  tile.launch @kernels::@attention
    args(%q, %k, %v, %o, %lse, %tiles, %heads, %batch, %sq, %sk, %scale
         : !t, !t, !t, !t, memref<?x?x?xf32>, index, index, index, index, index, f32)
  return
}
