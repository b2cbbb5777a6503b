// Two products of one step read the same slot. With two stages the second runs a
// step after the first: the slot is kept until both are done, and nothing that
// was borrowed from it is carried from step to step.

// RUN: split-file %s %t
// RUN: fa3-opt %t/gram.mlir --pass-pipeline='builtin.module(fa3-tile,fa3-specialize,tile-schedule,tile-pipeline)' | FileCheck %s --check-prefix=GRAM
// RUN: fa3-run --cpu --check-each-pass --completion=random --schedule-seed=3 %t/gram.mlir --distribution=uniform --dims m=130,n=230 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass='max-depth=2' %t/gram.mlir --distribution=uniform --dims m=64,n=1 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass='block-m=128 block-n=64' --completion=random --schedule-seed=5 %t/values.mlir --dims b=1,h=1,hk=1,sq=130,sk=200 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass %t/self.mlir --dims b=1,h=1,sq=70 | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes

// RUN: fa3-opt %t/gram.mlir --fa3-lower-to-nvvm-pipeline -o /dev/null
// RUN: fa3-opt %t/values.mlir --fa3-lower-to-nvvm-pipeline -o /dev/null
// RUN: fa3-opt %t/self.mlir --fa3-lower-to-nvvm-pipeline -o /dev/null

// Each stage has a view of its own; the slot is released behind the second
// product.
// GRAM: warp.group @math
// GRAM: %[[SLOT:.*]], %{{.*}} = warp.acquire
// GRAM: %[[LOOP:.*]]:{{.*}} = scf.for {{.*}} = %[[SLOT]]
// GRAM-NOT: !tile.view<{{.*}}-> (
// GRAM: %[[V:.*]] = tile.view %{{.*}}
// GRAM: tile.dot.async %{{.*}}, %[[V]], %{{.*}} lhs mk rhs nk
// GRAM: %[[W:.*]] = tile.view %[[OLD:.*]][%c0, %c0]
// GRAM: tile.dot.async %{{.*}}, %[[W]], %{{.*}} lhs mk rhs kn
// GRAM: warp.release %[[OLD]] after

//--- gram.mlir
// C = (A x B^T) x B, the inner product rounded to bf16.
!ab = memref<?x64xbf16, strided<[?, 1]>>
func.func @gram(%a: !ab {tile.name = "a", tile.dims = ["m", "d"]},
                %b: !ab {tile.name = "b", tile.dims = ["n", "d"]},
                %c: !ab {tile.name = "c", tile.dims = ["m", "d"]}) {
  tile.launch @kernels::@gram args(%a, %b, %c : !ab, !ab, !ab)
  return
}
gpu.module @kernels {
  gpu.func @gram(%a: !ab, %b: !ab, %c: !ab) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bm = arith.constant 128 : index
    %bn = arith.constant 112 : index
    %m = memref.dim %a, %c0 : !ab
    %n = memref.dim %b, %c0 : !ab
    %mt = arith.ceildivsi %m, %bm : index
    %nt = arith.ceildivsi %n, %bn : index
    tile.grid (%i) in (%mt) {
      %i0 = arith.muli %i, %bm : index
      %zero = arith.constant dense<0.0> : tensor<128x112xf32>
      %none = arith.constant dense<0.0> : tensor<128x64xf32>
      %x = tile.load %a[%i0, %c0] : !ab -> tensor<128x64xbf16>
      %acc = scf.for %t = %c0 to %nt step %c1 iter_args(%sum = %none) -> (tensor<128x64xf32>) {
        %j0 = arith.muli %t, %bn : index
        %y = tile.load %b[%j0, %c0] : !ab -> tensor<112x64xbf16>
        %s = tile.dot %x, %y, %zero lhs mk rhs nk : tensor<128x64xbf16>, tensor<112x64xbf16> -> tensor<128x112xf32>
        %p = arith.truncf %s : tensor<128x112xf32> to tensor<128x112xbf16>
        %next = tile.dot %p, %y, %sum lhs mk rhs kn : tensor<128x112xbf16>, tensor<112x64xbf16> -> tensor<128x64xf32>
        scf.yield %next : tensor<128x64xf32>
      }
      %out = arith.truncf %acc : tensor<128x64xf32> to tensor<128x64xbf16>
      tile.store %out, %c[%i0, %c0] : tensor<128x64xbf16>, !ab
    }
    gpu.return
  }
}

//--- values.mlir
// Keys are the values too.
func.func @values(%q: tensor<?x?x?x64xf16> {tile.name = "q"}, %k: tensor<?x?x?x64xf16> {tile.name = "k"})
    -> (tensor<?x?x?x64xf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %k mods [#attention.causal]
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
  return %o : tensor<?x?x?x64xf16>
}

//--- self.mlir
// All three are one.
func.func @self(%x: tensor<?x?x?x128xbf16> {tile.name = "x"}) -> (tensor<?x?x?x128xbf16> {tile.name = "o"}) {
  %o = attention.forward %x, %x, %x
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>
  return %o : tensor<?x?x?x128xbf16>
}
