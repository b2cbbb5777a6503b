// Rows and columns of the same number share constants, and what is computed from
// them alike; they are divided and laid out differently all the same.

// RUN: fa3-run --cpu --check-each-pass="block-m=128 block-n=128" %s --function=f --dims b=1,h=1,hk=1,sq=64,sk=64 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass="block-m=128 block-n=64" %s --function=f --dims b=1,h=1,hk=1,sq=64,sk=64 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass="block-m=128 block-n=128" %s --function=alibi --dims b=1,h=2,hk=1,sq=100,sk=150 | FileCheck %s
// CHECK: same answer after

func.func @f(%q: tensor<?x?x?x64xf16> {tile.name = "q"},
             %k: tensor<?x?x?x64xf16> {tile.name = "k"},
             %v: tensor<?x?x?x64xf16> {tile.name = "v"})
    -> (tensor<?x?x?x64xf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>)
    -> tensor<?x?x?x64xf16>
    mask_mod (%b, %h, %i, %j) {
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %c7 = arith.constant 7 : index
      %i2 = arith.muli %i, %c2 : index
      %j2 = arith.muli %j, %c2 : index
      %b7 = arith.muli %b, %c7 : index
      %ib = arith.addi %i2, %b7 : index
      %jb = arith.addi %j2, %b7 : index
      %difference = arith.subi %ib, %j : index
      %differs = arith.cmpi ne, %difference, %c0 : index
      %sum = arith.addi %i2, %jb : index
      %less = arith.cmpi slt, %sum, %c7 : index
      %keep = arith.ori %differs, %less : i1
      attention.yield %keep : i1
    }
  return %o : tensor<?x?x?x64xf16>
}

// The numbers of rows and columns within the tile, and their conversions.
func.func @alibi(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>, %slopes: tensor<?xf32>) -> tensor<?x?x?x64xf16> {
  %o = attention.forward %q, %k, %v aux(%slopes : tensor<?xf32>) mods [#attention.alibi<aux = 0>]
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
  return %o : tensor<?x?x?x64xf16>
}
