// Masks that compare integers of a key, loaded or divided by a number of the
// launch: ptxas keeps them for every key of a block, so that the block is
// narrower where lengths are not known; a remark says so.

// RUN: split-file %s %t
// RUN: %python %S/../Inputs/table.py %t.ids.npy '<i4' 1,150 'j // 40'
// RUN: %python %S/../Inputs/table.py %t.order.npy '<i4' 1,150 'j * 7 %% 150'
// DEFINE: %{name} =
// DEFINE: %{tables} = --input ids=%t.ids.npy
// DEFINE: %{check} = fa3-run --cpu %t/%{name}.mlir --check-each-pass --completion=random --schedule-seed=2 --dims b=1,h=1,hk=1,sq=150,sk=150,n1=150 %{tables} 2>&1 | FileCheck %s --check-prefix=SAME
// DEFINE: %{tile} = fa3-opt %t/%{name}.mlir -fa3-tile=block-lists=never -verify-diagnostics | FileCheck %t/%{name}.mlir
// DEFINE: %{assemble} = fa3-translate %t/%{name}.mlir '--pass-pipeline=builtin.module(fa3-lower-to-nvvm-pipeline{block-lists=never})' --mlir-to-cubin --ptxas-strict -o %t/%{name}.cubin

// REDEFINE: %{name} = documents
// RUN: %{tile}
// RUN: %{check}
// RUN: %if ptxas %{ %{assemble} %}

// REDEFINE: %{name} = two_tables
// REDEFINE: %{tables} = --input ids=%t.ids.npy --input order=%t.order.npy
// RUN: %{tile}
// RUN: %{check}
// RUN: %if ptxas %{ %{assemble} %}

// REDEFINE: %{name} = known
// RUN: %{tile}
// RUN: %if ptxas %{ %{assemble} %}

// SAME: same answer after {{[0-9]+}} passes

// A tile that is given is taken, without a remark.
// RUN: sed '/expected-remark/d' %t/documents.mlir | fa3-opt -fa3-tile='block-m=192 block-n=80' 2>&1 | FileCheck %s --check-prefix=GIVEN --implicit-check-not=remark
// GIVEN: tile.dot {{.*}} -> tensor<192x80xf32>

//--- documents.mlir
!q = tensor<?x?x?x128xf16>
!ids = tensor<?x?xi32>

// CHECK-LABEL: gpu.func @documents
// CHECK: tile.dot {{.*}} -> tensor<192x64xf32>
func.func @documents(%q: !q {tile.name = "q"}, %k: !q {tile.name = "k"}, %v: !q {tile.name = "v"},
                     %ids: !ids {tile.name = "ids"}) -> !q {
  // expected-remark @below {{takes tiles of 192 x 64, not 192 x 80: mask or score code keeps 1 integers of every key in registers}}
  %o = attention.forward %q, %k, %v aux(%ids : !ids) : (!q, !q, !q) -> !q mask_mod (%b, %h, %i, %j) {
    %mine = tensor.extract %ids[%b, %i] : !ids
    %other = tensor.extract %ids[%b, %j] : !ids
    %same = arith.cmpi eq, %mine, %other : i32
    attention.yield %same : i1
  }
  return %o : !q
}

//--- two_tables.mlir
!q = tensor<?x?x?x128xf16>
!ids = tensor<?x?xi32>

// CHECK-LABEL: gpu.func @two_tables
// CHECK: tile.dot {{.*}} -> tensor<128x96xf32>
func.func @two_tables(%q: !q {tile.name = "q"}, %k: !q {tile.name = "k"}, %v: !q {tile.name = "v"},
                      %ids: !ids {tile.name = "ids"}, %order: !ids {tile.name = "order"}) -> !q {
  // expected-remark @below {{takes tiles of 128 x 96, not 192 x 64}}
  %o = attention.forward %q, %k, %v aux(%ids, %order : !ids, !ids) : (!q, !q, !q) -> !q mask_mod (%b, %h, %i, %j) {
    %mine = tensor.extract %ids[%b, %i] : !ids
    %other = tensor.extract %ids[%b, %j] : !ids
    %same = arith.cmpi eq, %mine, %other : i32
    %rank = tensor.extract %order[%b, %i] : !ids
    %rank_of_key = tensor.extract %order[%b, %j] : !ids
    %before = arith.cmpi sle, %rank_of_key, %rank : i32
    %r = arith.andi %same, %before : i1
    attention.yield %r : i1
  }
  return %o : !q
}

//--- known.mlir
!k = tensor<1x16x4096x128xf16>
!known = tensor<1x4096xi32>

// With the lengths known nothing is kept from block to block.
// CHECK-LABEL: gpu.func @known
// CHECK: tile.dot {{.*}} -> tensor<192x80xf32>
func.func @known(%q: !k {tile.name = "q"}, %k: !k {tile.name = "k"}, %v: !k {tile.name = "v"},
                 %ids: !known {tile.name = "ids"}) -> !k {
  %o = attention.forward %q, %k, %v aux(%ids : !known) : (!k, !k, !k) -> !k mask_mod (%b, %h, %i, %j) {
    %mine = tensor.extract %ids[%b, %i] : !known
    %other = tensor.extract %ids[%b, %j] : !known
    %same = arith.cmpi eq, %mine, %other : i32
    attention.yield %same : i1
  }
  return %o : !k
}
