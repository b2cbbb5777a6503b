// Results of attention for parts of the keys become one: against the definition
// in f64, on tiles and after every pass. An lse of -inf is that of a part without
// keys, whatever its o holds.

// RUN: fa3-run --cpu --function dense %s --dims parts=3,b=2,s=5 | FileCheck %s
// RUN: fa3-run --cpu --function dense %s --dims parts=1,b=1,s=70 | FileCheck %s
// RUN: fa3-run --cpu --function dense %s --dims parts=0,b=1,s=2 | FileCheck %s
// RUN: fa3-run --cpu --function dense %s --dims parts=33,b=1,s=1 | FileCheck %s
// RUN: fa3-run --cpu --function dense %s --dims parts=2,b=1,s=2 --fill=lse_parts=-inf --fill=o_parts=nan --print lse | FileCheck %s --check-prefixes=CHECK,NONE
// RUN: fa3-run --cpu --function rows %s --dims parts=4,s=3 | FileCheck %s
// RUN: fa3-run --cpu --function rows %s --dims parts=2,s=65 --fill=lse_parts=-inf --fill=o_parts=nan | FileCheck %s
// RUN: fa3-run --cpu --function heads %s --dims parts=3,b=2,h=5,s=67 | FileCheck %s --check-prefix=ALONE
// RUN: fa3-run --check-each-pass --function dense %s --dims parts=3,b=2,s=5 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --check-each-pass --function rows %s --dims parts=4,s=40 | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --check-each-pass --function heads %s --dims parts=2,b=1,h=3,s=67 | FileCheck %s --check-prefix=SAME

// NONE-COUNT-4: -inf -inf
// CHECK: o: max abs {{[0-9.e+-]+}}, max rel
// CHECK: lse: max abs {{[0-9.e+-]+}}, max rel
// ALONE: o: max abs {{[0-9.e+-]+}}, max rel
// SAME: same answer after

// Heads are rows of a tile: 4 of 4 here, 2 of 6 there, and none.
func.func @dense(%p: tensor<?x?x?x4x64xf32>, %l: tensor<?x?x4x?xf32>)
    -> (tensor<?x?x4x64xbf16>, tensor<?x4x?xf32>) {
  %o, %lse = attention.merge %p, %l layout bshd
    : tensor<?x?x?x4x64xf32>, tensor<?x?x4x?xf32> -> tensor<?x?x4x64xbf16>, tensor<?x4x?xf32>
  return %o, %lse : tensor<?x?x4x64xbf16>, tensor<?x4x?xf32>
}

// Packed rows, of parts of 16 bits, with sinks.
func.func @rows(%p: tensor<?x6x?x40xf16>, %l: tensor<?x6x?xf32>, %s: tensor<6xf32>)
    -> (tensor<6x?x40xf32>, tensor<6x?xf32>) {
  %o, %lse = attention.merge %p, %l sinks(%s : tensor<6xf32>)
    : tensor<?x6x?x40xf16>, tensor<?x6x?xf32> -> tensor<6x?x40xf32>, tensor<6x?xf32>
  return %o, %lse : tensor<6x?x40xf32>, tensor<6x?xf32>
}

func.func @heads(%p: tensor<?x?x?x?x32xbf16>, %l: tensor<?x?x?x?xf32>) -> tensor<?x?x?x32xbf16> {
  %o, %lse = attention.merge %p, %l
    : tensor<?x?x?x?x32xbf16>, tensor<?x?x?x?xf32> -> tensor<?x?x?x32xbf16>, tensor<?x?x?xf32>
  return %o : tensor<?x?x?x32xbf16>
}
