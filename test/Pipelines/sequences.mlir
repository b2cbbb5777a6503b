// One value of attention.sequences for two appends and the attention behind them,
// and one of attention.blocks for a forward and a backward: the same answer after
// every pass, right by definition.
// DEFINE: %{shared} = fa3-run --cpu %s --function=shared --dims b=3,sq=9,t=9,p0=3,tk=120 --lengths=first=40,70,0 --lengths=shift=3,0,11
// RUN: %{shared} --check-each-pass='block-m=64 block-n=64' | FileCheck %s
// RUN: %{shared} | FileCheck %s --check-prefix=RIGHT
// RUN: fa3-run --cpu %s --function=forward --dims b=1 --check-each-pass='block-m=64 block-n=64' | FileCheck %s
// RUN: fa3-run --cpu %s --function=backward --dims b=1 --check-each-pass | FileCheck %s

// CHECK: same answer after {{[0-9]+}} passes
// RIGHT: o: max error

!q = tensor<?x2x?x64xf16>
!k = tensor<?x1x?x64xf16>

func.func @shared(%q: !q {tile.name = "q"}, %kn: !k {tile.name = "k_new"}, %vn: !k {tile.name = "v_new"},
                  %k: !k {tile.name = "k"}, %v: !k {tile.name = "v"},
                  %first: tensor<?xi32> {tile.name = "first"}, %shift: tensor<?xi32> {tile.name = "shift"})
    -> (!q {tile.name = "o"}) {
  %s = attention.sequences
    lengths (%b) {
      %before = tensor.extract %first[%b] : tensor<?xi32>
      %old = arith.index_cast %before : i32 to index
      %new = attention.length query
      %keys = arith.addi %old, %new : index
      attention.yield %new, %keys : index, index
    }
    place_k (%b, %h, %j) {
      %a = tensor.extract %shift[%b] : tensor<?xi32>
      %rows = arith.index_cast %a : i32 to index
      %row = arith.addi %j, %rows : index
      attention.yield %b, %h, %row : index, index, index
    }
  %k1 = attention.append %kn, %k at %first aux(%shift : tensor<?xi32>) sequences %s : !k, !k, tensor<?xi32>
  %v1 = attention.append %vn, %v at %first aux(%shift : tensor<?xi32>) sequences %s : !k, !k, tensor<?xi32>
  %o = attention.forward %q, %k1, %v1 aux(%first, %shift : tensor<?xi32>, tensor<?xi32>) sequences %s
      mods [#attention.causal] : (!q, !k, !k) -> !q
  return %o : !q
}

!t = tensor<?x1x192x64xf16>
!rows = tensor<?x1x192xf32>

// Each block of queries sees its own block of keys.
func.func @forward(%q: !t {tile.name = "q"}, %k: !t {tile.name = "k"}, %v: !t {tile.name = "v"}) -> (!t {tile.name = "o"}) {
  %l = attention.blocks [64, 64]
    by_query (%b, %h, %m, %t) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      attention.yield %c0, %c0, %c1, %m : index, index, index, index
    }
    by_key (%b, %h, %n, %t) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      attention.yield %c0, %c0, %c1, %n : index, index, index, index
    }
  %o = attention.forward %q, %k, %v blocks %l : (!t, !t, !t) -> !t
  return %o : !t
}

func.func @backward(%q: !t {tile.name = "q"}, %k: !t {tile.name = "k"}, %v: !t {tile.name = "v"},
                    %o: !t {tile.name = "o"}, %lse: !rows {tile.name = "lse"}, %do: !t {tile.name = "do"})
    -> (!t {tile.name = "dq"}, !t {tile.name = "dk"}, !t {tile.name = "dv"}) {
  %l = attention.blocks [64, 64]
    by_query (%b, %h, %m, %t) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      attention.yield %c0, %c0, %c1, %m : index, index, index, index
    }
    by_key (%b, %h, %n, %t) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      attention.yield %c0, %c0, %c1, %n : index, index, index, index
    }
  %g:3 = attention.backward %q, %k, %v, %o, %lse, %do blocks %l
    : (!t, !t, !t, !t, !rows, !t) -> (!t, !t, !t)
  return %g#0, %g#1, %g#2 : !t, !t, !t
}
