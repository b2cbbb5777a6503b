// A step of dq at head dim 256 has 48 keys: all that shared memory has but 1 KiB,
// since the statistics of its rows are in registers.
// RUN: fa3-opt %s -fa3-tile | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass='' %s --dims b=1,h=1,hk=1,sq=70,sk=100 | FileCheck %s --check-prefix=SAME
// SAME: same answer after {{[0-9]+}} passes

// CHECK-LABEL: gpu.func @wide_dq
// CHECK: -> tensor<48x256xbf16>
// CHECK: gpu.return
!wide = tensor<?x?x?x256xbf16>
!wides = tensor<?x?x?xf32>
func.func @wide(%q: !wide {tile.name = "q"}, %k: !wide {tile.name = "k"}, %v: !wide {tile.name = "v"},
                %o: !wide {tile.name = "o"}, %lse: !wides {tile.name = "lse"}, %do: !wide {tile.name = "do"})
    -> (!wide {tile.name = "dq"}, !wide {tile.name = "dk"}, !wide {tile.name = "dv"}) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do layout bshd
    : (!wide, !wide, !wide, !wide, !wides, !wide) -> (!wide, !wide, !wide)
  return %dq, %dk, %dv : !wide, !wide, !wide
}
