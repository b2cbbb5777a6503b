// Tables of all element types, read by query, key, and uniform numbers.

// RUN: %python %S/../Inputs/table.py %t.bits.npy '|b1' 70,140 'j <= i + 70 and j %% 3 != i %% 2'
// RUN: fa3-run --cpu --check-each-pass %s --function=bits --dims sq=70,sk=140 --input bits=%t.bits.npy | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass %s --function=bits --dims sq=70,sk=140 --fill bits=0 | FileCheck %s
// RUN: %python %S/../Inputs/table.py %t.flags.npy '|b1' 2 'i == 0'
// RUN: fa3-run --cpu --check-each-pass %s --function=flags --dims sq=70,sk=70 --input flags=%t.flags.npy | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass %s --function=floats8 --dims sq=70,sk=100 | FileCheck %s
// RUN: %python %S/../Inputs/table.py %t.both.npy '<i2' 140 'i // 40'
// RUN: fa3-run --cpu --check-each-pass %s --function=both --dims sq=140,sk=70,n0=140 --input both=%t.both.npy | FileCheck %s
// RUN: not fa3-run --cpu %s --function=both --dims sq=140,sk=70,n0=139 --fill both=0 2>&1 | FileCheck %s --check-prefix=FEW
// FEW: both has fewer entries in dimension 0 than there are queries
// RUN: %python %S/../Inputs/table.py %t.steps.npy '<i4' 2 '5 - 9 * i'
// RUN: fa3-run --cpu --check-each-pass %s --function=outside --dims sq=70,sk=70 --input steps=%t.steps.npy | FileCheck %s
// Two tables whose extents in one dimension have nothing to do with each other.
// RUN: %python %S/../Inputs/table.py %t.long.npy '<f4' 2,9 'i - j'
// RUN: %python %S/../Inputs/table.py %t.short.npy '<f4' 2,4 'j * 0.5'
// RUN: fa3-run --cpu --check-each-pass %s --function=two --dims sq=70,sk=70 --input long=%t.long.npy --input short=%t.short.npy | FileCheck %s
// RUN: fa3-opt %s -fa3-tile | FileCheck %s --check-prefix=NAMES
// NAMES-LABEL: func.func @two(
// NAMES-SAME: tile.dims = ["n0", "n1"], tile.name = "long"
// NAMES-SAME: tile.dims = ["aux1_0", "aux1_1"], tile.name = "short"
// CHECK: same answer after {{[0-9]+}} passes

// RUN: fa3-opt %s -fa3-lower-to-nvvm-pipeline='tuning-table=none' -o /dev/null

!x = tensor<1x2x?x64xf16>
func.func @bits(%q: !x {tile.name = "q"}, %k: !x {tile.name = "k"}, %v: !x {tile.name = "v"},
                %bits: tensor<?x?xi1> {tile.name = "bits"}) -> (!x {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v aux(%bits : tensor<?x?xi1>) : (!x, !x, !x) -> !x
    mask_mod (%b, %h, %i, %j) {
      %keep = tensor.extract %bits[%i, %j] : tensor<?x?xi1>
      attention.yield %keep : i1
    }
  return %o : !x
}

func.func @flags(%q: !x {tile.name = "q"}, %k: !x {tile.name = "k"}, %v: !x {tile.name = "v"},
                 %flags: tensor<2xi1> {tile.name = "flags"}) -> (!x {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v aux(%flags : tensor<2xi1>) : (!x, !x, !x) -> !x
    mask_mod (%b, %h, %i, %j) {
      %all = tensor.extract %flags[%h] : tensor<2xi1>
      %causal = arith.cmpi sle, %j, %i : index
      %keep = arith.ori %all, %causal : i1
      attention.yield %keep : i1
    }
  return %o : !x
}

func.func @floats8(%q: !x {tile.name = "q"}, %k: !x {tile.name = "k"}, %v: !x {tile.name = "v"},
                   %dense: tensor<?x?xf8E4M3FN> {tile.name = "dense"}, %row: tensor<?xf8E5M2> {tile.name = "row"})
    -> (!x {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v aux(%dense, %row : tensor<?x?xf8E4M3FN>, tensor<?xf8E5M2>) : (!x, !x, !x) -> !x
    score_mod (%s, %b, %h, %i, %j) {
      %d8 = tensor.extract %dense[%i, %j] : tensor<?x?xf8E4M3FN>
      %r8 = tensor.extract %row[%j] : tensor<?xf8E5M2>
      %d = arith.extf %d8 : f8E4M3FN to f32
      %r = arith.extf %r8 : f8E5M2 to f32
      %x = arith.addf %s, %d : f32
      %y = arith.addf %x, %r : f32
      attention.yield %y : f32
    }
  return %o : !x
}

// With more queries than keys.
func.func @both(%q: !x {tile.name = "q"}, %k: !x {tile.name = "k"}, %v: !x {tile.name = "v"},
                %both: tensor<?xi16> {tile.name = "both"}) -> (!x {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v aux(%both : tensor<?xi16>) : (!x, !x, !x) -> !x
    mask_mod (%b, %h, %i, %j) {
      %x = tensor.extract %both[%i] : tensor<?xi16>
      %y = tensor.extract %both[%j] : tensor<?xi16>
      %keep = arith.cmpi eq, %x, %y : i16
      attention.yield %keep : i1
    }
  return %o : !x
}

// Indices from another table, -4 and 5 of 4 among them, read 0; so do queries
// before the first.
func.func @outside(%q: !x {tile.name = "q"}, %k: !x {tile.name = "k"}, %v: !x {tile.name = "v"},
                   %steps: tensor<2xi32> {tile.name = "steps"}, %few: tensor<4x70xf32> {tile.name = "few"})
    -> (!x {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v aux(%steps, %few : tensor<2xi32>, tensor<4x70xf32>) : (!x, !x, !x) -> !x
    score_mod (%s, %b, %h, %i, %j) {
      %c10 = arith.constant 10 : index
      %n = tensor.extract %steps[%h] : tensor<2xi32>
      %at = arith.index_cast %n : i32 to index
      %before = arith.subi %i, %c10 : index
      %x = tensor.extract %few[%at, %before] : tensor<4x70xf32>
      %h1 = arith.subi %at, %h : index
      %y = tensor.extract %few[%h1, %j] : tensor<4x70xf32>
      %z = tensor.extract %few[%h, %before] : tensor<4x70xf32>
      %a = arith.addf %s, %x : f32
      %c = arith.addf %a, %y : f32
      %d = arith.addf %c, %z : f32
      attention.yield %d : f32
    }
  return %o : !x
}

!table = tensor<?x?xf32>
func.func @two(%q: !x {tile.name = "q"}, %k: !x {tile.name = "k"}, %v: !x {tile.name = "v"}, %long: !table {tile.name = "long"}, %short: !table {tile.name = "short"}) -> (!x {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v aux(%long, %short : !table, !table) : (!x, !x, !x) -> !x
    score_mod (%s, %b, %h, %i, %j) {
      %c9 = arith.constant 9 : index
      %c4 = arith.constant 4 : index
      %c2 = arith.constant 2 : index
      %m = arith.remui %j, %c9 : index
      %n = arith.remui %i, %c4 : index
      %g = arith.remui %i, %c2 : index
      %x = tensor.extract %long[%g, %m] : !table
      %y = tensor.extract %short[%g, %n] : !table
      %t = arith.addf %s, %x : f32
      %u = arith.addf %t, %y : f32
      attention.yield %u : f32
    }
  return %o : !x
}
