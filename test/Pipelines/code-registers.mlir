// Constants of the register model for mask and score code (GradientCode.h): the
// step that a gradient has beside it, where tiles alone would leave a wider one.
// test/Long/spills.test puts what test/Fuzz/spills.py found through ptxas.

// RUN: split-file %s %t
// DEFINE: %{name} =
// DEFINE: %{dim} = 64
// DEFINE: %{length} = ?
// DEFINE: %{aux} =
// DEFINE: %{module} = cat %t/head.txt %t/%{name}.txt %t/tail.txt | sed -e 's/LENGTH/%{length}/g; s/DIM/%{dim}/g; s/AUX/%{aux}/' | fa3-opt --attention-derive-gradient -o %t/%{name}.mlir
// DEFINE: %{plan} = fa3-tune --explain %t/%{name}.mlir | FileCheck %s

// A mask of coordinates is what tiles allow for.
// REDEFINE: %{name} = plain
// RUN: %{module} && %{plan} --check-prefix=PLAIN
// PLAIN: tile of grads: 128 keys x 128 queries

// columnQuarters: an element of each query takes a register for each column.
// REDEFINE: %{name} = ofQuery
// REDEFINE: %{dim} = 96
// REDEFINE: %{aux} = aux(%%t : tensor<?xbf16>)
// RUN: %{module} && %{plan} --check-prefix=COLUMNS
// COLUMNS: tile of dkdv: 128 keys x 64 queries

// rowElements: of each key, beside statistics.
// REDEFINE: %{name} = ofKey
// REDEFINE: %{dim} = 128
// RUN: %{module} && %{plan} --check-prefix=ROWS
// ROWS: tile of dkdv: 128 keys x 48 queries
// REDEFINE: %{aux} =

// pairQuarters: what is no sum of query and key.
// REDEFINE: %{name} = pairs
// REDEFINE: %{dim} = 64
// RUN: %{module} && %{plan} --check-prefix=PAIRS
// PAIRS: tile of dkdv: 128 keys x 64 queries

// manyShared, sharedQuarters: a derivative of what a mask hides.
// REDEFINE: %{name} = shared
// REDEFINE: %{dim} = 128
// RUN: %{module} && %{plan} --check-prefix=SHARED
// SHARED: tile of dkdv: 128 keys x 32 queries
// SHARED: tile of dq: 128 queries x 48 keys

// besideQuarters: of less, where the mask keeps something, too.
// REDEFINE: %{name} = beside
// RUN: %{module} && %{plan} --check-prefix=BESIDE
// BESIDE: tile of dkdv: 128 keys x 32 queries

// manyKeyQuotients, keyQuarters.
// REDEFINE: %{name} = quotients
// REDEFINE: %{dim} = 96
// RUN: %{module} && %{plan} --check-prefix=QUOTIENTS
// QUOTIENTS: tile of dq: 128 queries x 80 keys

// guardedLoads, guardedLoadsOfLong: where lengths are constants.
// REDEFINE: %{name} = loads
// REDEFINE: %{dim} = 64
// REDEFINE: %{aux} = aux(%%m : tensor<?x?xi1>)
// RUN: %{module} && %{plan} --check-prefix=LOADS
// LOADS: tile of dkdv: 128 keys x 80 queries
// REDEFINE: %{length} = 4096
// RUN: %{module} && %{plan} --check-prefix=GUARDED
// GUARDED: tile of dkdv: 128 keys x 64 queries
// REDEFINE: %{length} = ?
// REDEFINE: %{aux} =

// unevenRows, unevenShared: heads that are no whole blocks of shared memory.
// REDEFINE: %{name} = rows
// REDEFINE: %{dim} = 96
// RUN: %{module} && %{plan} --check-prefix=UNEVEN
// UNEVEN: tile of dkdv: 128 keys x 64 queries
// REDEFINE: %{name} = relu
// RUN: %{module} && %{plan} --check-prefix=RELU
// RELU: tile of dkdv: 128 keys x 48 queries
// REDEFINE: %{length} = 4096
// RUN: %{module} && %{plan} --check-prefix=KNOWN
// KNOWN: tile of dkdv: 128 keys x 64 queries
// REDEFINE: %{length} = ?

// The kernel of all gradients has no room for quotients or elements of queries, nor
// for a mask that is the same for all pairs.
// REDEFINE: %{name} = blocks
// REDEFINE: %{dim} = 128
// RUN: %{module} && %{plan} --check-prefix=SPLIT
// REDEFINE: %{name} = same
// REDEFINE: %{dim} = 64
// RUN: %{module} && %{plan} --check-prefix=SPLIT
// REDEFINE: %{name} = compared
// REDEFINE: %{aux} = aux(%%t : tensor<?xbf16>)
// RUN: %{module} && %{plan} --check-prefix=SPLIT
// REDEFINE: %{aux} =
// SPLIT: form: split

// stepsOfQuotient: in forwards, a quotient for each pair.
// REDEFINE: %{name} = forward
// RUN: fa3-tune --explain %t/forward.mlir | FileCheck %s --check-prefix=FORWARD
// FORWARD: tile: 192 rows x 64 keys
// RUN: sed 's/%%j : index/%%c7 : index/' %t/forward.mlir | fa3-tune --explain - | FileCheck %s --check-prefix=CONSTANT
// CONSTANT: tile: 192 rows x 96 keys
// A digit that is rounded up is two.
// RUN: fa3-tune --explain %t/up.mlir | FileCheck %s --check-prefix=UP
// UP: tile: 192 rows x 64 keys
// RUN: sed 's/ceildivsi/floordivsi/' %t/up.mlir | fa3-tune --explain - | FileCheck %s --check-prefix=DOWN
// DOWN: tile: 192 rows x 80 keys

//--- head.txt
!t = tensor<1x2xLENGTHxDIMxbf16>
!l = tensor<1x2xLENGTHxf32>
func.func @g(%q: !t {tile.name = "q"}, %k: !t {tile.name = "k"}, %v: !t {tile.name = "v"}, %t: tensor<?xbf16> {tile.name = "t"}, %m: tensor<?x?xi1> {tile.name = "m"}, %o: !t {tile.name = "o"}, %l: !l, %do: !t {tile.name = "do"}) -> (!t {tile.name = "dq"}, !t {tile.name = "dk"}, !t {tile.name = "dv"}) {
  %g:3 = attention.backward %q, %k, %v, %o, %l, %do AUX : (!t, !t, !t, !t, !l, !t) -> (!t, !t, !t)
//--- tail.txt
  return %g#0, %g#1, %g#2 : !t, !t, !t
}
//--- plain.txt
    mask_mod (%b, %h, %i, %j) {
      %x = arith.cmpi sle, %j, %i : index
      attention.yield %x : i1
    }
//--- ofQuery.txt
    score_mod (%s, %b, %h, %i, %j) {
      %e = tensor.extract %t[%i] : tensor<?xbf16>
      %f = arith.extf %e : bf16 to f32
      %x = arith.addf %s, %f : f32
      attention.yield %x : f32
    }
//--- ofKey.txt
    score_mod (%s, %b, %h, %i, %j) {
      %e = tensor.extract %t[%j] : tensor<?xbf16>
      %f = arith.extf %e : bf16 to f32
      %x = arith.addf %s, %f : f32
      attention.yield %x : f32
    }
//--- pairs.txt
    score_mod (%s, %b, %h, %i, %j) {
      %low = arith.constant -2.0 : f32
      %high = arith.constant 2.0 : f32
      %n = arith.addi %i, %j : index
      %w = arith.index_cast %n : index to i32
      %f = arith.sitofp %w : i32 to f32
      %x = arith.maximumf %f, %low : f32
      %y = arith.minimumf %x, %high : f32
      %z = arith.addf %s, %y : f32
      attention.yield %z : f32
    }
//--- shared.txt
    score_mod (%s, %b, %h, %i, %j) {
      %low = arith.constant -2.0 : f32
      %high = arith.constant 2.0 : f32
      %x = arith.maximumf %s, %low : f32
      %y = arith.minimumf %x, %high : f32
      %z = arith.mulf %y, %y : f32
      attention.yield %z : f32
    }
    mask_mod (%b, %h, %i, %j) {
      %x = arith.cmpi sle, %j, %i : index
      attention.yield %x : i1
    }
//--- beside.txt
    score_mod (%s, %b, %h, %i, %j) {
      %eighth = arith.constant 0.125 : f32
      %low = arith.mulf %s, %eighth : f32
      %x = arith.maximumf %s, %low : f32
      attention.yield %x : f32
    }
    mask_mod (%b, %h, %i, %j) {
      %c7 = arith.constant 7 : index
      %n = arith.floordivsi %i, %c7 : index
      %x = arith.cmpi sle, %j, %n : index
      attention.yield %x : i1
    }
//--- quotients.txt
    mask_mod (%b, %h, %i, %j) {
      %c7 = arith.constant 7 : index
      %c16 = arith.constant 16 : index
      %c50 = arith.constant 50 : index
      %x = arith.floordivsi %j, %c7 : index
      %y = arith.remsi %j, %c16 : index
      %z = arith.floordivsi %j, %c50 : index
      %d = arith.subi %x, %i : index
      %m1 = arith.minsi %d, %y : index
      %s = arith.subi %z, %i : index
      %c = arith.cmpi sle, %m1, %s : index
      attention.yield %c : i1
    }
//--- loads.txt
    mask_mod (%b, %h, %i, %j) {
      %x = tensor.extract %m[%i, %j] : tensor<?x?xi1>
      attention.yield %x : i1
    }
//--- rows.txt
    mask_mod (%b, %h, %i, %j) {
      %c7 = arith.constant 7 : index
      %c100 = arith.constant 100 : index
      %n = arith.floordivsi %j, %c7 : index
      %x = arith.cmpi sle, %n, %i : index
      %y = arith.cmpi sge, %j, %c100 : index
      %w = arith.cmpi sge, %i, %j : index
      %z = arith.ori %x, %y : i1
      %u = arith.ori %z, %w : i1
      attention.yield %u : i1
    }
//--- relu.txt
    score_mod (%s, %b, %h, %i, %j) {
      %eighth = arith.constant 0.125 : f32
      %low = arith.mulf %s, %eighth : f32
      %x = arith.maximumf %s, %low : f32
      attention.yield %x : f32
    }
//--- blocks.txt
    mask_mod (%b, %h, %i, %j) {
      %c32 = arith.constant 32 : index
      %x = arith.floordivsi %i, %c32 : index
      %y = arith.floordivsi %j, %c32 : index
      %z = arith.cmpi sle, %y, %x : index
      attention.yield %z : i1
    }
//--- same.txt
    mask_mod (%b, %h, %i, %j) {
      %c1 = arith.constant 1 : index
      %x = arith.cmpi eq, %b, %c1 : index
      attention.yield %x : i1
    }
//--- compared.txt
    mask_mod (%b, %h, %i, %j) {
      %zero = arith.constant 0.0 : bf16
      %e = tensor.extract %t[%i] : tensor<?xbf16>
      %x = arith.cmpf one, %e, %zero : bf16
      attention.yield %x : i1
    }
//--- forward.mlir
!t = tensor<1x2x?x96xf16>
func.func @f(%q: !t {tile.name = "q"}, %k: !t {tile.name = "k"}, %v: !t {tile.name = "v"}) -> (!t {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v : (!t, !t, !t) -> !t
    mask_mod (%b, %h, %i, %j) {
      %c7 = arith.constant 7 : index
      %x = arith.remsi %i, %j : index
      %y = arith.cmpi ne, %x, %h : index
      attention.yield %y : i1
    }
  return %o : !t
}
//--- up.mlir
!t = tensor<1x2x?x128xbf16>
func.func @f(%q: !t {tile.name = "q"}, %k: !t {tile.name = "k"}, %v: !t {tile.name = "v"}) -> (!t {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v : (!t, !t, !t) -> !t
    mask_mod (%b, %h, %i, %j) {
      %c50 = arith.constant 50 : index
      %x = arith.ceildivsi %j, %c50 : index
      %y = arith.cmpi ne, %i, %x : index
      attention.yield %y : i1
    }
  return %o : !t
}
