// Code on the output: gates, residuals, 8 bits with a scale; the same answer
// after every pass, with heads of a group as rows, parts of keys, packed
// sequences and wide heads; its gradients, with those of what it reads.
//
// DEFINE: %{function} =
// DEFINE: %{more} =
// DEFINE: %{run} = fa3-run --cpu %s --function=%{function} %{more}
// CHECK: same answer after {{[0-9]+}} passes
// RIGHT: max error

// REDEFINE: %{function} = gate
// REDEFINE: %{more} = --dims b=2,sq=40,sk=70
// RUN: %{run} --check-each-pass | FileCheck %s
// RUN: %{run} --pass-pipeline='builtin.module(fa3-tile{pack-gqa=true})' | FileCheck %s --check-prefix=RIGHT
// REDEFINE: %{function} = plain
// REDEFINE: %{more} = --dims b=1,sq=40,sk=70
// RUN: %{run} --check-each-pass | FileCheck %s
// REDEFINE: %{function} = parts
// RUN: %{run} --check-each-pass | FileCheck %s
// REDEFINE: %{function} = odd
// RUN: %{run} | FileCheck %s --check-prefix=RIGHT
// REDEFINE: %{function} = wide
// RUN: %{run} | FileCheck %s --check-prefix=RIGHT
// REDEFINE: %{function} = apart
// RUN: %{run} --check-each-pass | FileCheck %s
// REDEFINE: %{function} = eight_bits
// REDEFINE: %{more} = --dims b=1,sq=40,sk=70 --scalar large=8.0
// RUN: %{run} --check-each-pass | FileCheck %s
// REDEFINE: %{more} = --dims b=1,sq=40,sk=70 --scalar large=2000.0
// RUN: %{run} | FileCheck %s --check-prefix=RIGHT
// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %fa3_src/test/Inputs/table.py %t/starts.npy "<i4" 4 "[0, 37, 37, 110][i]"
// REDEFINE: %{function} = packed
// REDEFINE: %{more} = --dims total_q=110,total_k=110,n=4,tq=110 --scalar max_q=73 --input starts=%t/starts.npy
// RUN: %{run} --check-each-pass | FileCheck %s

// Heads that are rows of a tile read the gate element by element.
func.func @gate(%q: tensor<?x4x?x64xbf16>, %k: tensor<?x2x?x64xbf16>, %v: tensor<?x2x?x64xbf16>,
                %gate: tensor<?x?x4x64xbf16>) -> (tensor<?x4x?x64xbf16>) {
  %o = attention.forward %q, %k, %v aux(%gate : tensor<?x?x4x64xbf16>) mods [#attention.causal]
    : (tensor<?x4x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x4x?x64xbf16>
    epilogue (%x, %b, %h, %i, %c) {
      %one = arith.constant 1.0 : f32
      %g = tensor.extract %gate[%b, %i, %h, %c] : tensor<?x?x4x64xbf16>
      %wide = arith.extf %g : bf16 to f32
      %negative = arith.negf %wide : f32
      %power = math.exp %negative : f32
      %sum = arith.addf %power, %one : f32
      %y = arith.divf %x, %sum : f32
      attention.yield %y : f32
    }
  return %o : tensor<?x4x?x64xbf16>
}

// A residual, and o as it was.
func.func @plain(%q: tensor<?x2x?x128xf16>, %k: tensor<?x2x?x128xf16>, %v: tensor<?x2x?x128xf16>,
                 %residual: tensor<?x2x?x128xf16>)
    -> (tensor<?x2x?x128xf16>, tensor<?x2x?xf32>, tensor<?x2x?x128xf16>) {
  %o, %lse, %plain = attention.forward %q, %k, %v aux(%residual : tensor<?x2x?x128xf16>) plain
    : (tensor<?x2x?x128xf16>, tensor<?x2x?x128xf16>, tensor<?x2x?x128xf16>)
    -> (tensor<?x2x?x128xf16>, tensor<?x2x?xf32>, tensor<?x2x?x128xf16>)
    epilogue (%x, %b, %h, %i, %c) {
      %r = tensor.extract %residual[%b, %h, %i, %c] : tensor<?x2x?x128xf16>
      %wide = arith.extf %r : f16 to f32
      %y = arith.addf %x, %wide : f32
      attention.yield %y : f32
    }
  return %o, %lse, %plain : tensor<?x2x?x128xf16>, tensor<?x2x?xf32>, tensor<?x2x?x128xf16>
}

// Parts are merged first; what is read depends on the column alone, too.
func.func @parts(%q: tensor<?x4x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>,
                 %weight: tensor<64xf32>, %of_row: tensor<?x4x?xf32>) -> (tensor<?x4x?x64xf16>) {
  %parts = arith.constant 3 : index
  %o = attention.forward %q, %k, %v aux(%weight, %of_row : tensor<64xf32>, tensor<?x4x?xf32>) splits %parts
    : (tensor<?x4x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>) -> tensor<?x4x?x64xf16>
    epilogue (%x, %b, %h, %i, %c) {
      %w = tensor.extract %weight[%c] : tensor<64xf32>
      %r = tensor.extract %of_row[%b, %h, %i] : tensor<?x4x?xf32>
      %scaled = arith.mulf %x, %w : f32
      %y = arith.mulf %scaled, %r : f32
      attention.yield %y : f32
    }
  return %o : tensor<?x4x?x64xf16>
}

// A scale that the caller has in memory, for each head; larger numbers become
// the largest one.
func.func @eight_bits(%q: tensor<?x2x?x64xbf16>, %k: tensor<?x2x?x64xbf16>, %v: tensor<?x2x?x64xbf16>,
                      %inverse: tensor<2xf32>, %large: f32 {tile.name = "large"}) -> (tensor<?x2x?x64xf8E4M3FN>) {
  %o = attention.forward %q, %k, %v aux(%inverse : tensor<2xf32>)
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xf8E4M3FN>
    epilogue (%x, %b, %h, %i, %c) {
      %s = tensor.extract %inverse[%h] : tensor<2xf32>
      %scale = arith.mulf %s, %large : f32
      %y = arith.mulf %x, %scale : f32
      attention.yield %y : f32
    }
  return %o : tensor<?x2x?x64xf8E4M3FN>
}

// Columns of a tile that are none of o; numbers of all dimensions as numbers.
func.func @odd(%q: tensor<?x2x?x36xf16>, %k: tensor<?x2x?x36xf16>, %v: tensor<?x2x?x36xf16>)
    -> (tensor<?x2x?x36xf16>) {
  %o = attention.forward %q, %k, %v
    : (tensor<?x2x?x36xf16>, tensor<?x2x?x36xf16>, tensor<?x2x?x36xf16>) -> tensor<?x2x?x36xf16>
    epilogue (%x, %b, %h, %i, %c) {
      %two = arith.constant 2 : index
      %keys = attention.length key
      %parity = arith.remui %c, %two : index
      %odd = arith.cmpi ne, %parity, %b : index
      %place = arith.addi %i, %c : index
      %sum = arith.addi %place, %h : index
      %as_int = arith.index_cast %sum : index to i32
      %number = arith.sitofp %as_int : i32 to f32
      %below = arith.cmpi ult, %sum, %keys : index
      %add = arith.addf %x, %number : f32
      %other = arith.select %below, %add, %x : f32
      %y = arith.select %odd, %other, %x : f32
      attention.yield %y : f32
    }
  return %o : tensor<?x2x?x36xf16>
}

// The output lies in two warp groups.
func.func @wide(%q: tensor<?x2x?x64xbf16>, %k: tensor<?x2x?x64xbf16>, %v: tensor<?x2x?x512xbf16>,
                %gate: tensor<?x2x?x512xbf16>) -> (tensor<?x2x?x512xbf16>) {
  %o = attention.forward %q, %k, %v aux(%gate : tensor<?x2x?x512xbf16>)
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x512xbf16>) -> tensor<?x2x?x512xbf16>
    epilogue (%x, %b, %h, %i, %c) {
      %g = tensor.extract %gate[%b, %h, %i, %c] : tensor<?x2x?x512xbf16>
      %wide = arith.extf %g : bf16 to f32
      %y = arith.mulf %x, %wide : f32
      attention.yield %y : f32
    }
  return %o : tensor<?x2x?x512xbf16>
}

// Beside a wide tile there is no room for what is read: a kernel of its own edits
// the output, and stores it as it was, too.
func.func @apart(%q: tensor<?x2x?x256xbf16>, %k: tensor<?x2x?x256xbf16>, %v: tensor<?x2x?x256xbf16>,
                 %gate: tensor<?x2x?x256xbf16>)
    -> (tensor<?x2x?x256xbf16>, tensor<?x2x?xf32>, tensor<?x2x?x256xbf16>) {
  %o, %lse, %plain = attention.forward %q, %k, %v aux(%gate : tensor<?x2x?x256xbf16>) plain
    : (tensor<?x2x?x256xbf16>, tensor<?x2x?x256xbf16>, tensor<?x2x?x256xbf16>)
    -> (tensor<?x2x?x256xbf16>, tensor<?x2x?xf32>, tensor<?x2x?x256xbf16>)
    epilogue (%x, %b, %h, %i, %c) {
      %g = tensor.extract %gate[%b, %h, %i, %c] : tensor<?x2x?x256xbf16>
      %wide = arith.extf %g : bf16 to f32
      %y = arith.mulf %x, %wide : f32
      attention.yield %y : f32
    }
  return %o, %lse, %plain : tensor<?x2x?x256xbf16>, tensor<?x2x?xf32>, tensor<?x2x?x256xbf16>
}

// Rows of the gate are where those of o are.
func.func @packed(%q: tensor<?x4x64xf16> {tile.name = "q", tile.dims = ["total_q", "h", "d"]},
                  %k: tensor<?x2x64xf16> {tile.name = "k", tile.dims = ["total_k", "hk", "d"]},
                  %v: tensor<?x2x64xf16> {tile.name = "v", tile.dims = ["total_k", "hk", "d"]},
                  %gate: tensor<?x4x64xf16> {tile.name = "gate", tile.dims = ["total_q", "h", "d"]},
                  %starts: tensor<?xi32> {tile.name = "starts", tile.dims = ["n"]},
                  %max_q: index {tile.name = "max_q"}) -> (tensor<?x4x64xf16>) {
  %sequences = attention.sequences max_q %max_q
  %o = attention.forward %q, %k, %v aux(%gate, %starts : tensor<?x4x64xf16>, tensor<?xi32>)
    sequences %sequences layout bshd mods [#attention.packed<q = 1, k = 1>, #attention.causal]
    : (tensor<?x4x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16>) -> tensor<?x4x64xf16>
    epilogue (%x, %b, %h, %i, %c) {
      %start = tensor.extract %starts[%b] : tensor<?xi32>
      %first = arith.index_cast %start : i32 to index
      %row = arith.addi %first, %i : index
      %g = tensor.extract %gate[%row, %h, %c] : tensor<?x4x64xf16>
      %wide = arith.extf %g : f16 to f32
      %y = arith.mulf %x, %wide : f32
      attention.yield %y : f32
    }
  return %o : tensor<?x4x64xf16>
}
