// Weights that are dropped: the random numbers of FlashAttention-2, the same
// answer after every pass beside masks, groups of heads as rows, packed
// sequences, sinks and parts of keys.
//
// RUN: %python %fa3_src/test/Inputs/dropout.py --tool fa3-run %fa3_src/test/Inputs/dropout.mlir | FileCheck %s --check-prefix=MASK
// MASK: the mask of 10 seeds is that of FlashAttention-2

// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %fa3_src/test/Inputs/table.py %t/rng.npy "<i8" 2 "(3 << 40) + 17 if i == 0 else (1 << 32) - 9"
// RUN: %python %fa3_src/test/Inputs/table.py %t/starts.npy "<i4" 4 "[0, 37, 37, 110][i]"
// DEFINE: %{function} =
// DEFINE: %{more} =
// DEFINE: %{run} = fa3-run --cpu %s --function=%{function} --input rng=%t/rng.npy %{more}
// CHECK: same answer after {{[0-9]+}} passes
// RIGHT: max error

// REDEFINE: %{function} = causal
// REDEFINE: %{more} = --dims b=2,sq=40,sk=70
// RUN: %{run} --check-each-pass | FileCheck %s
// RUN: %{run} --pass-pipeline='builtin.module(fa3-tile{pack-gqa=true})' | FileCheck %s --check-prefix=RIGHT
// REDEFINE: %{function} = packed
// REDEFINE: %{more} = --dims total_q=110,total_k=110,n=4,tq=110 --scalar max_q=73 --input starts=%t/starts.npy
// RUN: %{run} | FileCheck %s --check-prefix=RIGHT
// REDEFINE: %{function} = parts
// REDEFINE: %{more} = --dims b=1,sq=20,sk=100
// RUN: %{run} | FileCheck %s --check-prefix=RIGHT
// REDEFINE: %{function} = bytes
// REDEFINE: %{more} = --dims b=1,sq=40,sk=70,qs.0=1,ks.0=1,vs.0=1 --fill qs=0.5 --fill ks=0.25 --fill vs=0.5
// RUN: %{run} | FileCheck %s --check-prefix=RIGHT
// RUN: fa3-run --cpu %s --function=half --dims b=1,sq=40,sk=70 | FileCheck %s --check-prefix=RIGHT

// Gradients: of plain and of edited scores, of packed sequences.
// REDEFINE: %{function} = gradients
// REDEFINE: %{more} = --dims b=1,sq=40,sk=70
// RUN: %{run} --check-each-pass | FileCheck %s
// REDEFINE: %{function} = edited_gradients
// RUN: %{run} | FileCheck %s --check-prefix=RIGHT
// REDEFINE: %{function} = packed_gradients
// REDEFINE: %{more} = --dims tq=110,tk=110 --scalar max_q=73 --input starts=%t/starts.npy
// RUN: %{run} | FileCheck %s --check-prefix=RIGHT

// 16 weights of a thread take their bytes from one call of Philox: 64 weights
// of a step need 56 products at most, of which those that calls have in common
// are computed once. There are three copies of the step.
// DEFINE: %{lower} = --pass-pipeline='builtin.module(fa3-lower-to-nvvm-pipeline)'
// RUN: fa3-translate --mlir-to-ptx %fa3_src/examples/dropout.mlir %{lower} -o %t/dropout.ptx
// RUN: grep -c mul.wide.u32 %t/dropout.ptx | FileCheck %s --check-prefix=PRODUCTS
// PRODUCTS: {{^}}124{{$}}

// No spills: at head dims of 64, 128 and 256, beside other code of masks.
// RUN: sed 's/x128x/x64x/g' %fa3_src/examples/dropout.mlir > %t/64.mlir
// RUN: sed 's/x128x/x256x/g; s/#attention.causal,/#attention.window<left = 128>, #attention.softcap<20.0>,/' %fa3_src/examples/dropout.mlir > %t/256.mlir
// RUN: %if ptxas %{ fa3-translate --mlir-to-cubin --ptxas-strict %fa3_src/examples/dropout.mlir %{lower} -o %t/128.cubin %}
// RUN: %if ptxas %{ fa3-translate --mlir-to-cubin --ptxas-strict %t/64.mlir %{lower} -o %t/64.cubin %}
// RUN: fa3-opt %fa3_src/examples/dropout.mlir --attention-differentiate | fa3-opt --symbol-privatize=exclude=dropout_backward --symbol-dce > %t/backward.mlir
// RUN: %if ptxas %{ fa3-translate --mlir-to-cubin --ptxas-strict %t/backward.mlir %{lower} -o %t/backward.cubin %}
// RUN: %if ptxas %{ fa3-translate --mlir-to-cubin --ptxas-strict %t/256.mlir %{lower} -o %t/256.cubin %}

!rng = tensor<2xi64>

func.func @causal(%q: tensor<?x4x?x64xbf16> {tile.name = "q"}, %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                  %v: tensor<?x2x?x64xbf16> {tile.name = "v"}, %rng: !rng {tile.name = "rng"})
    -> (tensor<?x4x?x64xbf16> {tile.name = "o"}, tensor<?x4x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v aux(%rng : !rng)
    mods [#attention.causal, #attention.softcap<20.0>, #attention.dropout<p = 0.5, aux = 0>]
    : (tensor<?x4x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>)
    -> (tensor<?x4x?x64xbf16>, tensor<?x4x?xf32>)
  return %o, %lse : tensor<?x4x?x64xbf16>, tensor<?x4x?xf32>
}

func.func @packed(%q: tensor<?x2x64xf16> {tile.name = "q", tile.dims = ["total_q", "h", "d"]},
                  %k: tensor<?x2x64xf16> {tile.name = "k", tile.dims = ["total_k", "h", "d"]},
                  %v: tensor<?x2x64xf16> {tile.name = "v", tile.dims = ["total_k", "h", "d"]},
                  %starts: tensor<?xi32> {tile.name = "starts", tile.dims = ["n"]},
                  %rng: !rng {tile.name = "rng"}, %sinks: tensor<2xf32> {tile.name = "sinks"},
                  %max_q: i32 {tile.name = "max_q"}) -> (tensor<?x2x64xf16> {tile.name = "o"}) {
  %most = arith.index_cast %max_q : i32 to index
  %sequences = attention.sequences max_q %most
  %o = attention.forward %q, %k, %v aux(%starts, %rng : tensor<?xi32>, !rng) sequences %sequences
    sinks(%sinks : tensor<2xf32>) layout bshd
    mods [#attention.packed<q = 0, k = 0>, #attention.causal, #attention.dropout<p = 0.2, aux = 1>]
    : (tensor<?x2x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16>) -> tensor<?x2x64xf16>
  return %o : tensor<?x2x64xf16>
}

!x = tensor<?x2x?x64xbf16>
func.func @parts(%q: !x {tile.name = "q"}, %k: !x {tile.name = "k"}, %v: !x {tile.name = "v"},
                 %rng: !rng {tile.name = "rng"}) -> (!x {tile.name = "o"}) {
  %parts = arith.constant 3 : index
  %o = attention.forward %q, %k, %v aux(%rng : !rng) splits %parts
    mods [#attention.dropout<p = 0.1, aux = 0>] : (!x, !x, !x) -> !x
  return %o : !x
}

!b = tensor<?x2x?x64xf8E4M3FN>
!s = tensor<?x2x1xf32>
func.func @bytes(%q: !b {tile.name = "q"}, %k: !b {tile.name = "k"}, %v: !b {tile.name = "v"},
                 %rng: !rng {tile.name = "rng"}, %qs: !s {tile.name = "qs"}, %ks: !s {tile.name = "ks"},
                 %vs: !s {tile.name = "vs"}) -> (!x {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v aux(%rng : !rng) scales(%qs, %ks, %vs : !s, !s, !s)
    mods [#attention.dropout<p = 0.1, aux = 0>] : (!b, !b, !b) -> !x
  return %o : !x
}

// A region of one's own: every other key of every other query, the rest twice.
func.func @half(%q: !x {tile.name = "q"}, %k: !x {tile.name = "k"}, %v: !x {tile.name = "v"}) -> (!x {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v kept_scale 2.0 : (!x, !x, !x) -> !x
    keep_mod (%b, %h, %i, %j) {
      %one = arith.constant 1 : index
      %zero = arith.constant 0 : index
      %sum = arith.addi %i, %j : index
      %parity = arith.andi %sum, %one : index
      %keep = arith.cmpi eq, %parity, %zero : index
      attention.yield %keep : i1
    }
  return %o : !x
}

func.func @gradients(%q: !x {tile.name = "q"}, %k: !x {tile.name = "k"}, %v: !x {tile.name = "v"},
    %o: !x {tile.name = "o"}, %lse: tensor<?x2x?xf32> {tile.name = "lse"}, %do: !x {tile.name = "do"},
    %rng: !rng {tile.name = "rng"})
    -> (!x {tile.name = "dq"}, !x {tile.name = "dk"}, !x {tile.name = "dv"}) {
  %g:3 = attention.backward %q, %k, %v, %o, %lse, %do aux(%rng : !rng)
    mods [#attention.dropout<p = 0.3, aux = 0>]
    : (!x, !x, !x, !x, tensor<?x2x?xf32>, !x) -> (!x, !x, !x)
  return %g#0, %g#1, %g#2 : !x, !x, !x
}

func.func @edited_gradients(%q: !x {tile.name = "q"}, %k: !x {tile.name = "k"}, %v: !x {tile.name = "v"},
    %o: !x {tile.name = "o"}, %lse: tensor<?x2x?xf32> {tile.name = "lse"}, %do: !x {tile.name = "do"},
    %rng: !rng {tile.name = "rng"})
    -> (!x {tile.name = "dq"}, !x {tile.name = "dk"}, !x {tile.name = "dv"}) {
  %g:3 = attention.backward %q, %k, %v, %o, %lse, %do aux(%rng : !rng)
    mods [#attention.causal, #attention.softcap<20.0>, #attention.dropout<p = 0.1, aux = 0>]
    : (!x, !x, !x, !x, tensor<?x2x?xf32>, !x) -> (!x, !x, !x)
  return %g#0, %g#1, %g#2 : !x, !x, !x
}

func.func @packed_gradients(%q: tensor<?x2x64xf16> {tile.name = "q"}, %k: tensor<?x2x64xf16> {tile.name = "k"}, %v: tensor<?x2x64xf16> {tile.name = "v"},
    %o: tensor<?x2x64xf16> {tile.name = "o"}, %lse: tensor<2x?xf32> {tile.name = "lse"}, %do: tensor<?x2x64xf16> {tile.name = "do"},
    %rng: !rng {tile.name = "rng"}, %starts: tensor<?xi32> {tile.name = "starts"}, %max_q: i32 {tile.name = "max_q"})
    -> (tensor<?x2x64xf16> {tile.name = "dq"}, tensor<?x2x64xf16> {tile.name = "dk"}, tensor<?x2x64xf16> {tile.name = "dv"}) {
  %most = arith.index_cast %max_q : i32 to index
  %sequences = attention.sequences max_q %most
  %g:3 = attention.backward %q, %k, %v, %o, %lse, %do aux(%starts, %rng : tensor<?xi32>, !rng) sequences %sequences layout bshd
    mods [#attention.packed<q = 0, k = 0>, #attention.causal, #attention.dropout<p = 0.5, aux = 1>]
    : (tensor<?x2x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16>, tensor<2x?xf32>, tensor<?x2x64xf16>) -> (tensor<?x2x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16>)
  return %g#0, %g#1, %g#2 : tensor<?x2x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16>
}
