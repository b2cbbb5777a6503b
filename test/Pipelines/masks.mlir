// Masks whose bounds are computed from more than lengths, run after the whole
// pipeline of the CPU's side and compared with the definition.

// DEFINE: %{hopper} = fa3-opt --pass-pipeline='builtin.module(fa3-tile{block-m=64 block-n=32},fa3-specialize,fa3-pipeline,fa3-layout{check=false},tile-to-hopper,canonicalize,cse,hopper-pack-warpgroups,gpu.module(gpu.func(hopper-insert-waits,hopper-insert-fences,hopper-assign-registers)),hopper-allocate-smem)'

// RUN: split-file %s %t
// RUN: %{hopper} %t/window.mlir -o %t/window-hopper.mlir
// RUN: fa3-opt %t/window.mlir -attention-to-reference -o %t/window-reference.mlir
// RUN: fa3-run --cpu %t/window-hopper.mlir --dims b=1,sq=70,sk=140 --against %t/window-reference.mlir --atol 4e-3 --require-fences
// RUN: %{hopper} %t/lengths.mlir -o %t/lengths-hopper.mlir
// RUN: fa3-opt %t/lengths.mlir -attention-to-reference -o %t/lengths-reference.mlir
// RUN: fa3-run --cpu %t/lengths-hopper.mlir --dims b=1,sq=70,sk=140 --fill lengths=77 --against %t/lengths-reference.mlir --atol 4e-3 --require-fences
// RUN: fa3-run --cpu %t/lengths-hopper.mlir --dims b=1,sq=70,sk=140 --fill lengths=0 --against %t/lengths-reference.mlir --atol 4e-3 --require-fences
// RUN: %{hopper} %t/padded.mlir -o %t/padded-hopper.mlir
// RUN: fa3-opt %t/padded.mlir -attention-to-reference -o %t/padded-reference.mlir
// RUN: fa3-run --cpu %t/padded-hopper.mlir --dims b=1,sq=70,sk=140 --against %t/padded-reference.mlir --atol 4e-3 --require-fences

//--- window.mlir
// The window grows with the number of the head.
func.func @window(%q: tensor<?x3x?x64xf16> {tile.name = "q"}, %k: tensor<?x3x?x64xf16> {tile.name = "k"}, %v: tensor<?x3x?x64xf16> {tile.name = "v"}) -> tensor<?x3x?x64xf16> {
  %o = attention.forward %q, %k, %v : (tensor<?x3x?x64xf16>, tensor<?x3x?x64xf16>, tensor<?x3x?x64xf16>) -> tensor<?x3x?x64xf16>
    mask_mod (%b, %h, %i, %j) {
      %c5 = arith.constant 5 : index
      %h5 = arith.muli %h, %c5 : index
      %width = arith.muli %h5, %h5 : index
      %last = arith.addi %i, %width : index
      %keep = arith.cmpi sle, %j, %last : index
      attention.yield %keep : i1
    }
  return %o : tensor<?x3x?x64xf16>
}

//--- lengths.mlir
// The number of keys of a sequence is read from memory.
func.func @lengths(%q: tensor<?x2x?x64xf16> {tile.name = "q"}, %k: tensor<?x2x?x64xf16> {tile.name = "k"}, %v: tensor<?x2x?x64xf16> {tile.name = "v"}, %lengths: tensor<?xi32> {tile.name = "lengths"}) -> tensor<?x2x?x64xf16> {
  %o = attention.forward %q, %k, %v aux(%lengths : tensor<?xi32>) : (tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>) -> tensor<?x2x?x64xf16>
    mask_mod (%b, %h, %i, %j) {
      %length = tensor.extract %lengths[%b] : tensor<?xi32>
      %keys = arith.index_cast %length : i32 to index
      %keep = arith.cmpi slt, %j, %keys : index
      attention.yield %keep : i1
    }
  return %o : tensor<?x2x?x64xf16>
}

//--- padded.mlir
// Head dims that do not fill the blocks of their swizzle.
func.func @padded(%q: tensor<?x1x?x40xf16> {tile.name = "q"}, %k: tensor<?x1x?x40xf16> {tile.name = "k"}, %v: tensor<?x1x?x72xf16> {tile.name = "v"}) -> tensor<?x1x?x72xf16> {
  %o = attention.forward %q, %k, %v : (tensor<?x1x?x40xf16>, tensor<?x1x?x40xf16>, tensor<?x1x?x72xf16>) -> tensor<?x1x?x72xf16>
  return %o : tensor<?x1x?x72xf16>
}
