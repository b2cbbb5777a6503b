// Keys of a known number that tiles divide need no mask for those behind the end,
// others do.
// RUN: fa3-opt %s -fa3-tile=backward-form=fused | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass=backward-form=fused %s --function=whole | FileCheck %s --check-prefix=SAME
// RUN: fa3-run --cpu --check-each-pass=backward-form=fused %s --function=cut | FileCheck %s --check-prefix=SAME
// SAME: same answer after {{[0-9]+}} passes

// CHECK-LABEL: gpu.func @whole_grads
// CHECK-NOT: tile.any_possible
// CHECK: gpu.return
!whole = tensor<1x256x1x64xbf16>
!stats = tensor<1x1x256xf32>
func.func @whole(%q: !whole {tile.name = "q"}, %k: !whole {tile.name = "k"}, %v: !whole {tile.name = "v"},
                 %o: !whole {tile.name = "o"}, %lse: !stats {tile.name = "lse"}, %do: !whole {tile.name = "do"})
    -> (!whole {tile.name = "dq"}, !whole {tile.name = "dk"}, !whole {tile.name = "dv"}) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do layout bshd
    : (!whole, !whole, !whole, !whole, !stats, !whole) -> (!whole, !whole, !whole)
  return %dq, %dk, %dv : !whole, !whole, !whole
}

// CHECK-LABEL: gpu.func @cut_grads
// CHECK: tile.any_possible
// CHECK: gpu.return
!cut = tensor<1x200x1x64xbf16>
!cuts = tensor<1x1x200xf32>
func.func @cut(%q: !cut {tile.name = "q"}, %k: !cut {tile.name = "k"}, %v: !cut {tile.name = "v"},
               %o: !cut {tile.name = "o"}, %lse: !cuts {tile.name = "lse"}, %do: !cut {tile.name = "do"})
    -> (!cut {tile.name = "dq"}, !cut {tile.name = "dk"}, !cut {tile.name = "dv"}) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do layout bshd
    : (!cut, !cut, !cut, !cut, !cuts, !cut) -> (!cut, !cut, !cut)
  return %dq, %dk, %dv : !cut, !cut, !cut
}
