// Head dims that are no multiples of 8: tiles have columns beyond the rows, which
// read as 0 and are not written. Rows in memory start at multiples of 16 bytes.

// DEFINE: %{d} = 100
// DEFINE: %{dv} = 100
// DEFINE: %{make} = sed -e 's/xDIMx/x%{d}x/g' -e 's/xVALUESx/x%{dv}x/g' %s
// DEFINE: %{check} = fa3-run --check-each-pass=check=false %t.mlir --dims b=1,h=4,hk=2,sq=70,sk=90

// RUN: %{make} > %t.mlir && %{check} --pad q=4,k=4,v=4 | FileCheck %s
// The protocol is proved once.
// RUN: fa3-opt %t.mlir --fa3-lower-to-nvvm-pipeline -o /dev/null
// REDEFINE: %{d} = 60
// REDEFINE: %{dv} = 36
// RUN: %{make} > %t.mlir && %{check} --pad q=4,k=4,v=4 | FileCheck %s
// REDEFINE: %{d} = 64
// REDEFINE: %{dv} = 44
// RUN: %{make} > %t.mlir && %{check} --pad v=4 | FileCheck %s
// REDEFINE: %{d} = 1
// REDEFINE: %{dv} = 3
// RUN: %{make} > %t.mlir && %{check} --pad q=7,k=7,v=5 | FileCheck %s
// REDEFINE: %{d} = 255
// REDEFINE: %{dv} = 250
// RUN: %{make} > %t.mlir && %{check} --pad q=1,k=1,v=6 | FileCheck %s
// CHECK: same answer after

// Tiles are as wide as the next multiple of 8; stores by bulk copies would write
// whole units of 16 bytes, so that threads store.
// REDEFINE: %{d} = 100
// REDEFINE: %{dv} = 60
// RUN: %{make} | fa3-opt -fa3-tile | FileCheck %s --check-prefix=TILE
// TILE-DAG: tile.load %{{.*}}x100xf16{{.*}} -> tensor<{{[0-9]+}}x104xf16>
// TILE-DAG: tile.load %{{.*}}x60xf16{{.*}} -> tensor<{{[0-9]+}}x64xf16>
// TILE: tile.store %{{.*}} tensor<{{[0-9]+}}x64xf16>, memref<{{.*}}x60xf16
// RUN: %{make} | fa3-opt -fa3-tile -fa3-specialize | FileCheck %s --check-prefix=STORE
// STORE: tile.store %{{.*}}x60xf16
// STORE-NOT: tile.store.async

// Rows without room behind them have no tensor map; the interpreter and the
// runtime say so. The output may have any rows.
// RUN: %{make} > %t.mlir
// RUN: not fa3-run --cpu %t.mlir --pass-pipeline='builtin.module(fa3-tile,fa3-specialize,fa3-pipeline,fa3-layout,fa3-hopper)' --dims b=1,h=2,hk=1,sq=9,sk=9 --no-check 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: error: {{.*}}multiples of 16 bytes, got
// RUN: env FA3_LIBCUDA=%fake_cuda not fa3-run --jit %t.mlir --dims b=1,h=2,hk=1,sq=9,sk=9 --no-check 2>&1 | FileCheck %s --check-prefix=RUNTIME
// RUNTIME: fa3-run: error: {{.*}}16

// Parts of a split are copied in bulk.
// RUN: %{make} | sed -e 's/mods/splits %n mods/' -e 's/@f(/@f(%n: index, /' | not fa3-opt -attention-expand-mods -attention-to-tile 2>&1 | FileCheck %s --check-prefix=SPLIT
// SPLIT: error: 'attention.forward' op splits keys: expects a head dim of v that is a multiple of 8, whose parts are copied in bulk, got 60

// --pad asks for room that there can be.
// RUN: not fa3-run --cpu %t.mlir --dims b=1,h=2,hk=1,sq=9,sk=9 --pad q=-1 2>&1 | FileCheck %s --check-prefix=PAD
// PAD: error: {{.*}}expects --pad of 'q' to be between 0 and 1048576, got -1
// RUN: not fa3-run --cpu %t.mlir --dims b=1,h=2,hk=1,sq=9,sk=9 --pad w=1 2>&1 | FileCheck %s --check-prefix=NOBODY
// NOBODY: error: {{.*}}has nothing named 'w', which --pad mentions

!q = tensor<?x?x?xDIMxf16>
!v = tensor<?x?x?xVALUESxf16>
func.func @f(%q: !q, %k: !q, %v: !v) -> (!v, tensor<?x?x?xf32>) {
  %o, %l = attention.forward %q, %k, %v mods [#attention.causal] : (!q, !q, !v) -> (!v, tensor<?x?x?xf32>)
  return %o, %l : !v, tensor<?x?x?xf32>
}
