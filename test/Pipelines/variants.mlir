// Several kernels of one function by a table: numbers of keys choose at the
// launch.

// DEFINE: %{table} = tuning-table=%S/Inputs/variants.json
// DEFINE: %{translate} = fa3-translate --mlir-to-ptx %s -o %t.ptx --pass-pipeline

// RUN: %{translate}='builtin.module(fa3-lower-to-nvvm-pipeline{%{table}})' && FileCheck %s < %t.json
// CHECK: "kernel": "f",
// CHECK-NEXT: "condition": "k.shape[2] < 64",
// CHECK-NEXT: "grid"
// CHECK: 64,
// CHECK: "kernel": "f_1",
// CHECK-NEXT: "condition": "(k.shape[2] < 64) == 0 && k.shape[2] < 100",
// CHECK: "kernel": "f_2",
// CHECK-NEXT: "condition": "(k.shape[2] < 64) == 0 && (k.shape[2] < 100) == 0",
// CHECK-NEXT: "grid": "ceildiv(q.shape[2], 192) * q.shape[1] * q.shape[0]",
// CHECK-NOT: "kernel"
// The work of a call is that of one of them.
// CHECK: "flops": "
// CHECK-NOT: <
// CHECK-SAME: ",

// At most so many, of which the one for any number of keys is one.
// RUN: %{translate}='builtin.module(fa3-lower-to-nvvm-pipeline{%{table} variants=2})' && FileCheck %s --check-prefix=TWO < %t.json
// TWO: "kernel": "f",
// TWO-NEXT: "condition": "k.shape[2] < 100",
// TWO: "kernel": "f_1",
// TWO-NEXT: "condition": "(k.shape[2] < 100) == 0",
// TWO-NOT: "kernel"

// One for many keys is the last; a single kernel is that of any number.
// RUN: %{translate}='builtin.module(fa3-lower-to-nvvm-pipeline{tuning-table=%S/Inputs/variants-from.json})' && FileCheck %s --check-prefix=FROM < %t.json
// FROM: "kernel": "f",
// FROM-NEXT: "condition": "k.shape[2] < 64",
// FROM: "kernel": "f_1",
// FROM-NEXT: "condition": "(k.shape[2] < 64) == 0 && k.shape[2] < 100",
// FROM-NEXT: "grid": "ceildiv(q.shape[2], 128) * q.shape[1] * q.shape[0]",
// FROM: "kernel": "f_2",
// FROM-NEXT: "condition": "(k.shape[2] < 64) == 0 && (k.shape[2] < 100) == 0",
// FROM-NEXT: "grid": "ceildiv(q.shape[2], 64) * q.shape[1] * q.shape[0]",
// FROM-NOT: "kernel"
// RUN: %{translate}='builtin.module(fa3-lower-to-nvvm-pipeline{tuning-table=%S/Inputs/variants-from.json variants=2})' && FileCheck %s --check-prefix=FROM-TWO < %t.json
// FROM-TWO: "condition": "k.shape[2] < 100",
// FROM-TWO-NEXT: "grid": "ceildiv(q.shape[2], 128) * q.shape[1] * q.shape[0]",
// FROM-TWO: "grid": "ceildiv(q.shape[2], 64) * q.shape[1] * q.shape[0]",
// FROM-TWO-NOT: "kernel"
// RUN: %{translate}='builtin.module(fa3-lower-to-nvvm-pipeline{tuning-table=%S/Inputs/variants-from.json variants=1})' && FileCheck %s --check-prefix=FROM-ONE < %t.json
// FROM-ONE: "kernel": "f",
// FROM-ONE-NEXT: "grid": "ceildiv(q.shape[2], 128) * q.shape[1] * q.shape[0]",
// FROM-ONE-NOT: "kernel"

// One for all; with a tile that was given; with options that leave no choice;
// with records, of which there is one table.
// RUN: %{translate}='builtin.module(fa3-lower-to-nvvm-pipeline{%{table} variants=1})' && FileCheck %s --check-prefix=ONE < %t.json
// RUN: %{translate}='builtin.module(fa3-lower-to-nvvm-pipeline{%{table} block-m=128 block-n=128})' && FileCheck %s --check-prefix=ONE < %t.json
// RUN: %{translate}='builtin.module(fa3-lower-to-nvvm-pipeline{%{table} record=1})' && FileCheck %s --check-prefix=ONE < %t.json
// RUN: %{translate}='builtin.module(fa3-lower-to-nvvm-pipeline{%{table} warp-specialize=false})' && FileCheck %s --check-prefix=ONE < %t.json
// ONE: "kernel": "f",
// ONE-NEXT: "grid"
// ONE-NOT: "kernel"

// Passes on LLVM IR of a whole module are not for one of several kernels.
// RUN: sed 's/llvm-passes=none/llvm-passes=O1/' %S/Inputs/variants.json > %t.O1.json
// RUN: %{translate}='builtin.module(fa3-lower-to-nvvm-pipeline{tuning-table=%t.O1.json})' && FileCheck %s --check-prefix=TWO < %t.json

// Every variant is right after each pass, and so is what they merge to, with
// each number of keys.
// RUN: fa3-run --check-each-pass="%{table} check=false" %s --dims b=1,h=1,hk=1,sq=20,sk=63 -v | FileCheck %s --check-prefix=EACH
// RUN: fa3-run --check-each-pass="%{table} check=false" %s --dims b=1,h=1,hk=1,sq=99,sk=99 -v | FileCheck %s --check-prefix=EACH
// RUN: fa3-run --check-each-pass="%{table} check=false" %s --dims b=1,h=1,hk=1,sq=70,sk=100 -v | FileCheck %s --check-prefix=EACH
// EACH: tile-to-hopper {{.*}}rounds
// EACH: tile-to-hopper {{.*}}rounds
// EACH: tile-to-hopper {{.*}}rounds
// EACH: fa3-merge-variants {{.*}}rounds
// EACH: same answer after

func.func @f(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16> {
  %o = attention.forward %q, %k, %v mods [#attention.causal]
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
  return %o : tensor<?x?x?x64xf16>
}
