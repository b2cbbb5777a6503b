// Weights are made of scores of a step before, so that the loop waits for values
// in front of the keys of the same step, which are loaded first: who loads gets to
// the values only if keys have one entry more than the loop holds.
// RUN: fa3-opt %s -fa3-tile="block-m=64 block-n=16" -fa3-specialize="solver=modulo" -fa3-pipeline="stages=3 solver=modulo max-depth=1" | FileCheck %s --check-prefix=RINGS
// DEFINE: %{check} = fa3-run --cpu --check-each-pass="block-n=16 stages=3 solver=modulo" %s
// RUN: %{check} --dims b=1,h=1,hk=1,sq=64,sk=64 | FileCheck %s
// RUN: %{check} --dims b=1,h=2,hk=1,sq=130,sk=300 --completion random | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes
// Values, keys, queries.
// RINGS: warp.ring : <3, [tensor<16x64xf16>]>
// RINGS-NEXT: warp.ring : <2, [tensor<16x64xf16>]>
// RINGS-NEXT: warp.ring : <1, [tensor<64x64xf16>]>

func.func @f(%q: tensor<?x?x?x64xf16> {tile.name = "q"}, %k: tensor<?x?x?x64xf16> {tile.name = "k"}, %v: tensor<?x?x?x64xf16> {tile.name = "v"})
    -> (tensor<?x?x?x64xf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
    mask_mod (%b, %h, %i, %j) {
      %x1 = arith.constant 0 : index
      %x2 = arith.constant -25 : index
      %x3 = arith.constant -1 : index
      %x4 = arith.muli %i, %x3 : index
      %x5 = arith.addi %x2, %x4 : index
      %x6 = arith.constant -2 : index
      %x7 = arith.muli %j, %x6 : index
      %x8 = arith.addi %x5, %x7 : index
      %x9 = arith.constant 7 : index
      %x10 = arith.muli %b, %x9 : index
      %x11 = arith.addi %x8, %x10 : index
      %x12 = arith.cmpi sge, %x11, %x1 : index
      %x13 = arith.constant -30 : index
      %x14 = arith.constant 1 : index
      %x15 = arith.muli %i, %x14 : index
      %x16 = arith.addi %x13, %x15 : index
      %x17 = arith.constant -1 : index
      %x18 = arith.muli %j, %x17 : index
      %x19 = arith.addi %x16, %x18 : index
      %x20 = arith.constant 7 : index
      %x21 = arith.muli %b, %x20 : index
      %x22 = arith.addi %x19, %x21 : index
      %x23 = arith.cmpi sge, %x22, %x1 : index
      %x24 = arith.ori %x12, %x23 : i1
      %x25 = arith.constant 6 : index
      %x26 = arith.constant 1 : index
      %x27 = arith.muli %i, %x26 : index
      %x28 = arith.addi %x25, %x27 : index
      %x29 = arith.constant -1 : index
      %x30 = arith.muli %j, %x29 : index
      %x31 = arith.addi %x28, %x30 : index
      %x32 = arith.cmpi ne, %x31, %x1 : index
      %x33 = arith.andi %x24, %x32 : i1
      attention.yield %x33 : i1
    }
  return %o : tensor<?x?x?x64xf16>
}
