// RUN: fa3-opt %s -split-input-file -verify-diagnostics

// Types and attributes.

// view C1
// expected-error @+1 {{!tile.view expects a statically shaped tensor of rank 1 or 2, got 'tensor<?x8xf32>'}}
func.func private @view(!tile.view<tensor<?x8xf32>>)

// -----

// view C1
// expected-error @+1 {{!tile.view expects a statically shaped tensor of rank 1 or 2, got 'tensor<2x2x2xf32>'}}
func.func private @view_rank(!tile.view<tensor<2x2x2xf32>>)

// -----

// expected-error @+2 {{invalid kind of type specified: expected builtin.tensor, but found 'tensor<*xf32>'}}
// expected-error @+1 {{failed to parse Tile_ViewType parameter 'tile'}}
func.func private @unranked(!tile.view<tensor<*xf32>>)

// -----

// pending C1
// expected-error @+1 {{!tile.pending expects a tile, got 'tensor<8x64xf16, #tile.smem<128>>'}}
func.func private @pending(!tile.pending<tensor<8x64xf16, #tile.smem<128>>>)

// -----

// pending C1
// expected-error @+1 {{!tile.pending expects a tile, got 'tensor<f32>'}}
func.func private @pending_rank(!tile.pending<tensor<f32>>)

// -----

// acc C1
// expected-error @+1 {{#tile.acc expects rows that are a power-of-two multiple of 64 and columns that are a multiple of 8, got [192, 80]}}
func.func private @acc(tensor<192x80xf32, #tile.acc>)

// -----

// acc C1
// expected-error @+1 {{got [64, 12]}}
func.func private @acc_columns(tensor<64x12xf32, #tile.acc>)

// -----

// acc C1
// expected-error @+1 {{got [64, ?]}}
func.func private @acc_dynamic(tensor<64x?xf32, #tile.acc>)

// -----

// acc C1
// expected-error @+1 {{got [64]}}
func.func private @acc_rank(tensor<64xf32, #tile.acc>)

// -----

// slice C1
// expected-error @+1 {{#tile.slice expects dim 0 or 1, got 2}}
func.func private @slice_dim(tensor<64xf32, #tile.slice<2, #tile.acc>>)

// -----

// slice C1
// expected-error @+1 {{#tile.slice expects the layout of a tile, got #tile.smem<128>}}
func.func private @slice_parent(tensor<64xf32, #tile.slice<1, #tile.smem<128>>>)

// -----

// slice C2
// expected-error @+1 {{#tile.slice<1, #tile.acc> does not exist for a tile of shape [80]}}
func.func private @slice_rows(tensor<80xf32, #tile.slice<1, #tile.acc>>)

// -----

// slice C2
// expected-error @+1 {{#tile.slice<0, #tile.acc> does not exist for a tile of shape [64, 8]}}
func.func private @slice_rank(tensor<64x8xf32, #tile.slice<0, #tile.acc>>)

// -----

// slice C2: a slice of a slice has no dimension left.
// expected-error @+1 {{does not exist for a tile of shape [64]}}
func.func private @slice_slice(tensor<64xf32, #tile.slice<0, #tile.slice<1, #tile.acc>>>)

// -----

// expected-error @+2 {{expected attribute value}}
// expected-error @+1 {{failed to parse Tile_SliceAttr parameter 'parent'}}
func.func private @slice_syntax(tensor<64xf32, #tile.slice<0, >>)

// -----

// smem C1
// expected-error @+1 {{#tile.smem expects a swizzle of 32, 64 or 128 bytes, got 16}}
func.func private @swizzle(tensor<8x64xf16, #tile.smem<16>>)

// -----

// smem C2
// expected-error @+1 {{#tile.smem expects a tile of rank 1, or of rank 2 whose rows are a multiple of 8, got [12, 64]}}
func.func private @smem_rows(tensor<12x64xf16, #tile.smem<128>>)

// -----

// smem C2
// expected-error @+1 {{#tile.smem expects a tile of rank 1, or of rank 2 whose rows are a multiple of 8, got [?, 64]}}
func.func private @smem_dynamic(tensor<?x64xf16, #tile.smem<128>>)

// -----

// smem C2
// expected-error @+1 {{#tile.smem expects a tile of rank 1, or of rank 2 whose rows are a multiple of 8, got [8, 8, 64]}}
func.func private @smem_rank(tensor<8x8x64xf16, #tile.smem<128>>)

// -----

// smem C2
// expected-error @+1 {{#tile.smem expects elements of 8, 16 or 32 bits, got 'i1'}}
func.func private @smem_element(tensor<8x64xi1, #tile.smem<128>>)

// -----

// expected-error @+2 {{expected integer value}}
// expected-error @+1 {{failed to parse Tile_SmemAttr parameter 'swizzle'}}
func.func private @smem_syntax(tensor<8x64xf16, #tile.smem<all>>)

// -----

// expected-error @+1 {{unknown attribute `warp` in dialect `tile`}}
func.func private @unknown() attributes {a = #tile.warp}

// -----

// expected-error @+1 {{unknown  type `future` in dialect `tile`}}
func.func private @unknown_type(!tile.future<i32>)

// -----

// expected-error @+1 {{expected 'order'}}
func.func private @slotting_syntax() attributes {a = #tile.slotting<stage = 0, 1>}

// -----

// expected-error @+1 {{expects 'tile.role' to be "load", "convert", "store", "math" or "math" with a number, got "keep"}}
func.func private @role() attributes {tile.role = "keep"}

// -----

// expected-error @+1 {{expects 'tile.slotting' to be #tile.slotting with a stage of at least 0, got #tile.slotting<stage = -1, order = 3>}}
func.func private @slotting() attributes {tile.slotting = #tile.slotting<stage = -1, order = 3>}

// -----

// expected-error @+1 {{expects 'tile.slotting' to be #tile.slotting with a stage of at least 0, got 1 : i64}}
func.func private @slotting_kind() attributes {tile.slotting = 1}

// -----

// expected-error @+1 {{expects 'tile.name' to be a string, got 1 : i64}}
func.func private @name(i32 {tile.name = 1})

// -----

// expected-error @+1 {{expects 'tile.dims' to be an array of strings, got [1]}}
func.func private @dims(memref<?xf32> {tile.dims = [1]})

// -----

// expected-error @+1 {{expects as many 'tile.dims' as argument 1 has dimensions, got 2 for 'memref<?xf32>'}}
func.func private @dims_rank(i32, memref<?xf32> {tile.dims = ["a", "b"]})

// -----

// tile.launch

// C1
func.func @no_kernel() {
  // expected-error @+1 {{expects @kernels::@fwd to name a gpu.func kernel}}
  tile.launch @kernels::@fwd args()
  return
}

// -----

// C1
gpu.module @kernels {
  gpu.func @fwd() {
    gpu.return
  }
}
func.func @not_a_kernel() {
  // expected-error @+1 {{expects @kernels::@fwd to name a gpu.func kernel}}
  tile.launch @kernels::@fwd args()
  return
}

// -----

// C2
gpu.module @kernels {
  // expected-note @+1 {{the kernel takes '(i32, f32) -> ()'}}
  gpu.func @fwd(%x: i32, %y: f32) kernel {
    gpu.return
  }
}
func.func @arguments(%x: i32) {
  // expected-error @+1 {{expects operands of the kernel's argument types}}
  tile.launch @kernels::@fwd args(%x, %x : i32, i32)
  return
}

// -----

// C3
gpu.module @kernels {
  gpu.func @fwd() kernel {
    gpu.return
  }
}
func.func @cost(%n: index) {
  // expected-error @+1 {{expects 'cost' to have 2 values (operations, bytes), got 1}}
  tile.launch @kernels::@fwd args() cost(%n)
  return
}

// -----

// tile.grid

// C1
func.func @bounds(%n: index) {
  // expected-error @+1 {{expects one index argument per upper bound (1), got 2}}
  tile.grid (%a, %b) in (%n) {
  }
  return
}

// -----

// C1
func.func @no_bounds() {
  // expected-error @+1 {{expects one index argument per upper bound (0), got 0}}
  tile.grid () in () {
  }
  return
}

// -----

// C1
func.func @argument_type(%n: index) {
  // expected-error @+1 {{expects one index argument per upper bound (1), got 1}}
  "tile.grid"(%n) ({
  ^bb0(%a: i32):
    tile.yield
  }) : (index) -> ()
  return
}

// -----

// C2
func.func @grid_yield(%n: index) {
  // expected-error @+1 {{expects the body to end in a 'tile.yield' of nothing}}
  tile.grid (%a) in (%n) {
    tile.yield %a : index
  }
  return
}

// -----

func.func @grid_syntax(%n: index) {
  // expected-error @+1 {{expected 'in'}}
  tile.grid (%a) to (%n) {
  }
  return
}

// -----

func.func @yield() {
  // expected-error @+1 {{'tile.yield' op expects parent op to be one of 'tile.grid, tile.load.async, tile.load, tile.where'}}
  tile.yield
}

// -----

// tile.load, tile.store, tile.scalar_load and the asynchronous forms

// load C1
func.func @load_indices(%m: memref<8x8xf16>, %i: index) {
  // expected-error @+1 {{'tile.load' op expects one index per dimension of the memref (2), got 1}}
  %0 = tile.load %m[%i] : memref<8x8xf16> -> tensor<8xf16>
  return
}

// -----

// load C2
func.func @load_rank(%m: memref<8xf16>, %i: index) {
  // expected-error @+1 {{'tile.load' op expects the rank of the tile (2) to be at most that of the memref (1)}}
  %0 = tile.load %m[%i] : memref<8xf16> -> tensor<8x8xf16>
  return
}

// -----

// load C3
func.func @load_element(%m: memref<8xf16>, %i: index) {
  // expected-error @+1 {{'tile.load' op expects the element type of the tile ('f32') to be that of the memref ('f16')}}
  %0 = tile.load %m[%i] : memref<8xf16> -> tensor<8xf32>
  return
}

// -----

func.func @load_tile(%m: memref<8x8xf16>, %i: index) {
  // expected-error @+1 {{result #0 must be tile (statically shaped tensor of rank 1 or 2), but got 'tensor<?xf16>'}}
  %0 = tile.load %m[%i, %i] : memref<8x8xf16> -> tensor<?xf16>
  return
}

// -----

// A tile in shared memory is no value.
func.func @load_smem(%m: memref<8x64xf16>, %i: index) {
  // expected-error @+1 {{result #0 must be tile (statically shaped tensor of rank 1 or 2), but got 'tensor<8x64xf16, #tile.smem<128>>'}}
  %0 = tile.load %m[%i, %i] : memref<8x64xf16> -> tensor<8x64xf16, #tile.smem<128>>
  return
}

// -----

func.func @load_source(%m: memref<*xf16>, %i: index) {
  // expected-error @+1 {{invalid kind of type specified: expected builtin.memref, but found 'memref<*xf16>'}}
  %0 = tile.load %m[%i] : memref<*xf16> -> tensor<8xf16>
  return
}

// -----

// gather C1
func.func @gather_count(%m: memref<8x8xf16>, %t: tensor<64xindex>) {
  // expected-error @+1 {{'tile.gather' op expects one index per dimension of the memref (2), got 1}}
  %0 = tile.gather %m[%t : tensor<64xindex>] : memref<8x8xf16> -> tensor<64xf16>
  return
}

// -----

// gather C1, no tile
func.func @gather_scalar(%m: memref<8xf16>, %i: index) {
  // expected-error @+1 {{if a result is non-scalar, then at least one operand must be non-scalar}}
  %0 = tile.gather %m[%i : index] : memref<8xf16> -> tensor<64xf16>
  return
}

// -----

// gather C1, tiles of other integers
func.func @gather_i32(%m: memref<8xf16>, %t: tensor<64xi32>) {
  // expected-error @+1 {{'tile.gather' op expects tiles of index, got 'tensor<64xi32>'}}
  %0 = tile.gather %m[%t : tensor<64xi32>] : memref<8xf16> -> tensor<64xf16>
  return
}

// -----

// gather C2
func.func @gather_element(%m: memref<8xf16>, %t: tensor<64xindex>) {
  // expected-error @+1 {{'tile.gather' op expects the element type of the tile ('f32') to be that of the memref ('f16')}}
  %0 = tile.gather %m[%t : tensor<64xindex>] : memref<8xf16> -> tensor<64xf32>
  return
}

// -----

// add_exact C1
func.func @add_exact_count(%m: memref<8x8x32xi64>, %u: memref<8x32xi32>, %w: memref<8x16xi64>, %v: memref<8x32xi64, strided<[64, 2]>>,
    %x: tensor<64x64xf32>, %y: tensor<64xf32>, %t: tensor<64x64xindex>, %r: tensor<64xindex>, %i: index) {
  // expected-error @+1 {{expects one index per dimension of the memref but the last (2), got 1}}
  tile.add_exact %x, %m[%t : tensor<64x64xindex>] : tensor<64x64xf32>, memref<8x8x32xi64>
  return
}

// -----

// add_exact C1, no tile
func.func @add_exact_numbers(%m: memref<8x8x32xi64>, %u: memref<8x32xi32>, %w: memref<8x16xi64>, %v: memref<8x32xi64, strided<[64, 2]>>,
    %x: tensor<64x64xf32>, %y: tensor<64xf32>, %t: tensor<64x64xindex>, %r: tensor<64xindex>, %i: index) {
  // expected-error @+1 {{expects an index that is a tile}}
  tile.add_exact %x, %m[%i, %i : index, index] : tensor<64x64xf32>, memref<8x8x32xi64>
  return
}

// -----

// add_exact C2
func.func @add_exact_rank(%m: memref<8x8x32xi64>, %u: memref<8x32xi32>, %w: memref<8x16xi64>, %v: memref<8x32xi64, strided<[64, 2]>>,
    %x: tensor<64x64xf32>, %y: tensor<64xf32>, %t: tensor<64x64xindex>, %r: tensor<64xindex>, %i: index) {
  // expected-error @+1 {{expects a tile of rank 2 of f32, got 'tensor<64xf32>'}}
  tile.add_exact %y, %m[%i, %r : index, tensor<64xindex>] : tensor<64xf32>, memref<8x8x32xi64>
  return
}

// -----

// add_exact C2, tiles of indices
func.func @add_exact_shape(%m: memref<8x8x32xi64>, %u: memref<8x32xi32>, %w: memref<8x16xi64>, %v: memref<8x32xi64, strided<[64, 2]>>,
    %x: tensor<64x64xf32>, %y: tensor<64xf32>, %t: tensor<64x64xindex>, %r: tensor<64xindex>, %i: index) {
  // expected-error @+1 {{expects tiles of index like the tile of terms ('tensor<64x64xf32>'), got 'tensor<64xindex>'}}
  tile.add_exact %x, %m[%i, %r : index, tensor<64xindex>] : tensor<64x64xf32>, memref<8x8x32xi64>
  return
}

// -----

// add_exact C3
func.func @add_exact_element(%m: memref<8x8x32xi64>, %u: memref<8x32xi32>, %w: memref<8x16xi64>, %v: memref<8x32xi64, strided<[64, 2]>>,
    %x: tensor<64x64xf32>, %y: tensor<64xf32>, %t: tensor<64x64xindex>, %r: tensor<64xindex>, %i: index) {
  // expected-error @+1 {{expects sums of 32 words of i64 one behind the other, got 'memref<8x32xi32>'}}
  tile.add_exact %x, %u[%t : tensor<64x64xindex>] : tensor<64x64xf32>, memref<8x32xi32>
  return
}

// -----

// add_exact C3, words
func.func @add_exact_words(%m: memref<8x8x32xi64>, %u: memref<8x32xi32>, %w: memref<8x16xi64>, %v: memref<8x32xi64, strided<[64, 2]>>,
    %x: tensor<64x64xf32>, %y: tensor<64xf32>, %t: tensor<64x64xindex>, %r: tensor<64xindex>, %i: index) {
  // expected-error @+1 {{expects sums of 32 words of i64 one behind the other, got 'memref<8x16xi64>'}}
  tile.add_exact %x, %w[%t : tensor<64x64xindex>] : tensor<64x64xf32>, memref<8x16xi64>
  return
}

// -----

// add_exact C3, strides
func.func @add_exact_strides(%m: memref<8x8x32xi64>, %u: memref<8x32xi32>, %w: memref<8x16xi64>, %v: memref<8x32xi64, strided<[64, 2]>>,
    %x: tensor<64x64xf32>, %y: tensor<64xf32>, %t: tensor<64x64xindex>, %r: tensor<64xindex>, %i: index) {
  // expected-error @+1 {{expects sums of 32 words of i64 one behind the other, got 'memref<8x32xi64, strided<[64, 2]>>'}}
  tile.add_exact %x, %v[%t : tensor<64x64xindex>] : tensor<64x64xf32>, memref<8x32xi64, strided<[64, 2]>>
  return
}

// -----

// load_exact C1
func.func @load_exact_count(%m: memref<8x8x32xi64>, %u: memref<8x32xi32>, %w: memref<8x16xi64>, %v: memref<8x32xi64, strided<[64, 2]>>,
    %x: tensor<64x64xf32>, %y: tensor<64xf32>, %t: tensor<64x64xindex>, %r: tensor<64xindex>, %i: index) {
  // expected-error @+1 {{expects one index per dimension of the memref but the last (2), got 1}}
  %0 = tile.load_exact %m[%i] : memref<8x8x32xi64> -> tensor<64xf32>
  return
}

// -----

// load_exact C1, none
func.func @load_exact_none(%m: memref<8x8x32xi64>, %u: memref<8x32xi32>, %w: memref<8x16xi64>, %v: memref<8x32xi64, strided<[64, 2]>>,
    %x: tensor<64x64xf32>, %y: tensor<64xf32>, %t: tensor<64x64xindex>, %r: tensor<64xindex>, %i: index) {
  // expected-error @+1 {{expects an index}}
  %0 = tile.load_exact %m[] : memref<8x8x32xi64> -> tensor<64xf32>
  return
}

// -----

// load_exact C2
func.func @load_exact_rank(%m: memref<8x8x32xi64>, %u: memref<8x32xi32>, %w: memref<8x16xi64>, %v: memref<8x32xi64, strided<[64, 2]>>,
    %x: tensor<64x64xf32>, %y: tensor<64xf32>, %t: tensor<64x64xindex>, %r: tensor<64xindex>, %i: index) {
  // expected-error @+1 {{expects a tile of rank 1 of f32, got 'tensor<64x64xf32>'}}
  %0 = tile.load_exact %m[%i, %i] : memref<8x8x32xi64> -> tensor<64x64xf32>
  return
}

// -----

// load_exact C3
func.func @load_exact_words(%m: memref<8x8x32xi64>, %u: memref<8x32xi32>, %w: memref<8x16xi64>, %v: memref<8x32xi64, strided<[64, 2]>>,
    %x: tensor<64x64xf32>, %y: tensor<64xf32>, %t: tensor<64x64xindex>, %r: tensor<64xindex>, %i: index) {
  // expected-error @+1 {{expects sums of 32 words of i64 one behind the other, got 'memref<8x16xi64>'}}
  %0 = tile.load_exact %w[%i] : memref<8x16xi64> -> tensor<64xf32>
  return
}

// -----

// scalar_load C1
func.func @scalar_indices(%m: memref<8x8xf16>, %i: index) {
  // expected-error @+1 {{'tile.scalar_load' op expects one index per dimension of the memref (2), got 3}}
  %0 = tile.scalar_load %m[%i, %i, %i] : memref<8x8xf16>
  return
}

// -----

func.func @scalar_type(%m: memref<8xf16>, %i: index) {
  // expected-error @+1 {{'tile.scalar_load' op failed to verify that result type is the element type}}
  %0 = "tile.scalar_load"(%m, %i) : (memref<8xf16>, index) -> f32
  return
}

// -----

// search C1
func.func @search_array(%m: memref<8x8xi32>, %i: index) {
  // expected-error @+1 {{'tile.search' op operand #0 must be 1D memref of 32-bit signless integer values, but got 'memref<8x8xi32>'}}
  %0 = "tile.search"(%m, %i, %i, %i, %i) <{most = 64}> : (memref<8x8xi32>, index, index, index, index) -> index
  return
}

// -----

// search C2
func.func @search_most(%m: memref<8xi32>, %i: index) {
  // expected-error @+1 {{attribute 'most' failed to satisfy constraint: 64-bit signless integer attribute whose minimum value is 1 whose maximum value is 32768}}
  %0 = tile.search %m from %i to %i below %i step %i most 0 : memref<8xi32>
  return
}

// -----

// store C1
func.func @store_indices(%x: tensor<8xf16>, %m: memref<8x8xf16>, %i: index) {
  // expected-error @+1 {{'tile.store' op expects one index per dimension of the memref (2), got 1}}
  tile.store %x, %m[%i] : tensor<8xf16>, memref<8x8xf16>
  return
}

// -----

// store C2
func.func @store_rank(%x: tensor<8x8xf16>, %m: memref<8xf16>, %i: index) {
  // expected-error @+1 {{'tile.store' op expects the rank of the tile (2) to be at most that of the memref (1)}}
  tile.store %x, %m[%i] : tensor<8x8xf16>, memref<8xf16>
  return
}

// -----

// store C3
func.func @store_element(%x: tensor<8xf16>, %m: memref<8xbf16>, %i: index) {
  // expected-error @+1 {{'tile.store' op expects the element type of the tile ('f16') to be that of the memref ('bf16')}}
  tile.store %x, %m[%i] : tensor<8xf16>, memref<8xbf16>
  return
}

// -----

// load.async C1
func.func @load_async_indices(%m: memref<8x8xf16>, %i: index, %v: !tile.view<tensor<8x8xf16>>) {
  // expected-error @+1 {{'tile.load.async' op expects one index per dimension of the memref (2), got 1}}
  tile.load.async %m[%i], %v : memref<8x8xf16>, !tile.view<tensor<8x8xf16>>
  return
}

// -----

// load.async C5
func.func @load_async_order(%m: memref<8x8xf16>, %i: index, %v: !tile.view<tensor<8x8xf16>>) {
  // expected-error @+1 {{'tile.load.async' op expects a permutation of 0 to its size - 1 for rows, got [0, 2]}}
  tile.load.async %m[%i, %i], %v rows [0, 2] : memref<8x8xf16>, !tile.view<tensor<8x8xf16>>
  return
}

// -----

// load.async C5
func.func @load_async_rows(%m: memref<8x8xf16>, %i: index, %v: !tile.view<tensor<8x8xf16>>) {
  // expected-error @+1 {{'tile.load.async' op expects a tile of rank 2 whose rows are a multiple of 16, got 'tensor<8x8xf16>'}}
  tile.load.async %m[%i, %i], %v rows [0, 3, 1, 2] : memref<8x8xf16>, !tile.view<tensor<8x8xf16>>
  return
}

// -----

// load C2
func.func @load_fold_rank(%m: memref<8x8xf16>, %i: index) {
  // expected-error @+1 {{'tile.load' op expects a memref of a rank above that of the tile (2) with fold, got 2}}
  %0 = tile.load %m[%i, %i] fold 4 : memref<8x8xf16> -> tensor<8x8xf16>
  return
}

// -----

// load C4
func.func @load_fold_power(%m: memref<8x3x8xf16>, %i: index) {
  // expected-error @+1 {{'tile.load' op expects fold to be a power of two that divides the first extent of the tile (12), got 3}}
  %0 = tile.load %m[%i, %i, %i] fold 3 : memref<8x3x8xf16> -> tensor<12x8xf16>
  return
}

// -----

// load C4
func.func @load_fold_divides(%m: memref<8x3x8xf16>, %i: index) {
  // expected-error @+1 {{'tile.load' op expects fold to be a power of two that divides the first extent of the tile (12), got 8}}
  %0 = tile.load %m[%i, %i, %i] fold 8 : memref<8x3x8xf16> -> tensor<12x8xf16>
  return
}

// -----

// load C7
func.func @load_limit_fold(%m: memref<8x4x8xf16>, %i: index) {
  // expected-error @+1 {{'tile.load' op expects a tile of rank 2 without fold beside 'limit', got fold 4}}
  %0 = tile.load %m[%i, %i, %i] fold 4 limit %i : memref<8x4x8xf16> -> tensor<8x8xf16>
  return
}

// -----

// load C7
func.func @load_limit_rank(%m: memref<8x8xf16>, %i: index) {
  // expected-error @+1 {{'tile.load' op expects a tile of rank 2 beside 'limit', got rank 1}}
  %0 = tile.load %m[%i, %i] limit %i : memref<8x8xf16> -> tensor<8xf16>
  return
}

// -----

// load.async C8
func.func @load_async_limit_rows(%m: memref<8x8xf16>, %i: index, %v: !tile.view<tensor<8x8xf16>>) {
  // expected-error @+1 {{'tile.load.async' op expects rows or limit, got both}}
  tile.load.async %m[%i, %i], %v rows [1, 0] limit %i : memref<8x8xf16>, !tile.view<tensor<8x8xf16>>
  return
}

// -----

// load.async C8
func.func @load_async_limit_rank(%m: memref<8x8xf16>, %i: index, %v: !tile.view<tensor<8xf16>>) {
  // expected-error @+1 {{'tile.load.async' op expects a tile of rank 2 beside 'limit', got rank 1}}
  tile.load.async %m[%i, %i], %v limit %i : memref<8x8xf16>, !tile.view<tensor<8xf16>>
  return
}

// -----

// store C5
func.func @store_add(%x: tensor<8xf16>, %m: memref<8xf16>, %i: index) {
  // expected-error @+1 {{'tile.store' op expects elements of f32 or i32 with 'add', got 'f16'}}
  tile.store %x, %m[%i] add : tensor<8xf16>, memref<8xf16>
  return
}

// -----

// store.async C5
func.func @store_async_add(%m: memref<8x8xf16>, %i: index, %v: !tile.view<tensor<8x8xf16>>) {
  // expected-error @+1 {{'tile.store.async' op expects elements of f32 or i32 with 'add', got 'f16'}}
  %d = tile.store.async %v, %m[%i, %i] add : !tile.view<tensor<8x8xf16>>, memref<8x8xf16>
  return
}

// -----

// store C2
func.func @store_fold_rank(%m: memref<8xf16>, %i: index, %x: tensor<8xf16>) {
  // expected-error @+1 {{'tile.store' op expects a memref of a rank above that of the tile (1) with fold, got 1}}
  tile.store %x, %m[%i] fold 4 : tensor<8xf16>, memref<8xf16>
  return
}

// -----

// store C4
func.func @store_fold(%m: memref<8x4xf16>, %i: index, %x: tensor<8xf16>) {
  // expected-error @+1 {{'tile.store' op expects fold to be a power of two that divides the first extent of the tile (8), got 16}}
  tile.store %x, %m[%i, %i] fold 16 : tensor<8xf16>, memref<8x4xf16>
  return
}

// -----

// load.async C6
func.func @load_async_fold_rank(%m: memref<8x8xf16>, %i: index, %v: !tile.view<tensor<8x8xf16>>) {
  // expected-error @+1 {{'tile.load.async' op expects a memref of a rank above that of the tile (2) with fold, got 2}}
  tile.load.async %m[%i, %i], %v fold 4 : memref<8x8xf16>, !tile.view<tensor<8x8xf16>>
  return
}

// -----

// load.async C6
func.func @load_async_fold(%m: memref<8x8x8xf16>, %i: index, %v: !tile.view<tensor<8x8xf16>>) {
  // expected-error @+1 {{'tile.load.async' op expects fold to be a power of two that divides the first extent of the tile (8), got 0}}
  tile.load.async %m[%i, %i, %i], %v fold 0 : memref<8x8x8xf16>, !tile.view<tensor<8x8xf16>>
  return
}

// -----

// load.async C6
func.func @load_async_fold_rows(%m: memref<8x8x8xf16>, %i: index, %v: !tile.view<tensor<8x8xf16>>) {
  // expected-error @+1 {{'tile.load.async' op expects rows or fold, got both}}
  tile.load.async %m[%i, %i, %i], %v rows [1, 0] fold 4 : memref<8x8x8xf16>, !tile.view<tensor<8x8xf16>>
  return
}

// -----

// load C5
func.func @load_pieces_rows(%m: memref<8x8xf16>) {
  // expected-error @+1 {{'tile.load' op expects pieces that divide the rows of a tile of rank 2, got 3 of 'tensor<8x8xf16>'}}
  %t = tile.load %m pieces 3 (%n) {
    tile.yield %n, %n : index, index
  } : memref<8x8xf16> -> tensor<8x8xf16>
  return
}

// -----

// load C5
func.func @load_pieces_none(%m: memref<8x8xf16>) {
  // expected-error @+1 {{'tile.load' op expects at least 1 piece, got 0}}
  %t = tile.load %m pieces 0 (%n) {
    tile.yield %n, %n : index, index
  } : memref<8x8xf16> -> tensor<8x8xf16>
  return
}

// -----

// load C5
func.func @load_pieces_fold(%m: memref<8x8x8xf16>) {
  // expected-error @+1 {{'tile.load' op expects fold or pieces, got both}}
  %t = tile.load %m fold 2 pieces 2 (%n) {
    tile.yield %n, %n, %n : index, index, index
  } : memref<8x8x8xf16> -> tensor<8x8xf16>
  return
}

// -----

// load C1
func.func @load_pieces_indices(%m: memref<8x8xf16>, %i: index) {
  // expected-error @+1 {{'tile.load' op expects the region to give the places of pieces, got 2 indices beside it}}
  %t = tile.load %m[%i, %i] pieces 2 (%n) {
    tile.yield %n, %n : index, index
  } : memref<8x8xf16> -> tensor<8x8xf16>
  return
}

// -----

// load C1
func.func @load_pieces_rank(%m: memref<8x8xf16>) {
  // expected-error @+1 {{'tile.load' op expects the region to yield one 'index' per dimension (2), got ('index')}}
  %t = tile.load %m pieces 2 (%n) {
    tile.yield %n : index
  } : memref<8x8xf16> -> tensor<8x8xf16>
  return
}

// -----

// load C6
func.func @load_pieces_code(%m: memref<8x8xf16>) {
  %t = tile.load %m pieces 2 (%n) {
    // expected-error @+1 {{'tile.load' op is not allowed where pieces lie, which scalar code without effects or regions says}}
    %row = tile.load %m[%n, %n] : memref<8x8xf16> -> tensor<8xf16>
    tile.yield %n, %n : index, index
  } : memref<8x8xf16> -> tensor<8x8xf16>
  return
}

// -----

// load C6
func.func @load_pieces_region(%m: memref<8x8xf16>) {
  // expected-error @+1 {{'tile.load' op expects a region of one block that takes the number of a piece ('index')}}
  %t = "tile.load"(%m) <{pieces = 2 : i64, operandSegmentSizes = array<i32: 1, 0, 0>}> ({
  ^bb0(%n: i32):
    "tile.yield"() : () -> ()
  }) : (memref<8x8xf16>) -> tensor<8x8xf16>
  return
}

// -----

// load C5
func.func @load_no_pieces(%m: memref<8x8xf16>, %i: index) {
  // expected-error @+1 {{'tile.load' op expects pieces with a region of their places}}
  %t = "tile.load"(%m, %i, %i) <{operandSegmentSizes = array<i32: 1, 2, 0>}> ({
  ^bb0(%n: index):
    "tile.yield"(%n, %n) : (index, index) -> ()
  }) : (memref<8x8xf16>, index, index) -> tensor<8x8xf16>
  return
}

// -----

// load.async C7
func.func @load_async_pieces_rows(%m: memref<8x8xf16>, %i: index, %v: !tile.view<tensor<8x8xf16>>) {
  // expected-error @+1 {{'tile.load.async' op expects rows or pieces, got both}}
  tile.load.async %m, %v rows [1, 0] pieces 2 (%n) {
    tile.yield %n, %n : index, index
  } : memref<8x8xf16>, !tile.view<tensor<8x8xf16>>
  return
}

// -----

// store.async C2
func.func @store_async_fold_rank(%m: memref<8x8xf16>, %i: index, %v: !tile.view<tensor<8x8xf16>>) {
  // expected-error @+1 {{'tile.store.async' op expects a memref of a rank above that of the tile (2) with fold, got 2}}
  %d = tile.store.async %v, %m[%i, %i] fold 4 : !tile.view<tensor<8x8xf16>>, memref<8x8xf16>
  return
}

// -----

// store.async C4
func.func @store_async_fold(%m: memref<8x8x8xf16>, %i: index, %v: !tile.view<tensor<8x8xf16>>) {
  // expected-error @+1 {{'tile.store.async' op expects fold to be a power of two that divides the first extent of the tile (8), got -4}}
  %d = tile.store.async %v, %m[%i, %i, %i] fold -4 : !tile.view<tensor<8x8xf16>>, memref<8x8x8xf16>
  return
}

// -----

// load.async C2
func.func @load_async_rank(%m: memref<8xf16>, %i: index, %v: !tile.view<tensor<8x8xf16>>) {
  // expected-error @+1 {{'tile.load.async' op expects the rank of the tile (2) to be at most that of the memref (1)}}
  tile.load.async %m[%i], %v : memref<8xf16>, !tile.view<tensor<8x8xf16>>
  return
}

// -----

// load.async C3
func.func @load_async_element(%m: memref<8x8xf16>, %i: index, %v: !tile.view<tensor<8x8xbf16>>) {
  // expected-error @+1 {{'tile.load.async' op expects the element type of the tile ('bf16') to be that of the memref ('f16')}}
  tile.load.async %m[%i, %i], %v : memref<8x8xf16>, !tile.view<tensor<8x8xbf16>>
  return
}

// -----

// load.async C4
func.func @load_async_side(%m: memref<8x8xf16>, %i: index, %s: !warp.slot<read, [tensor<8x8xf16>]>) {
  %v = tile.view %s[%i, %i] : !warp.slot<read, [tensor<8x8xf16>]> -> !tile.view<tensor<8x8xf16>>
  // expected-error @+1 {{expects a view of a write slot, got one of '!warp.slot<read, [tensor<8x8xf16>]>'}}
  tile.load.async %m[%i, %i], %v : memref<8x8xf16>, !tile.view<tensor<8x8xf16>>
  return
}

// -----

// store.async C1
func.func @store_async_indices(%m: memref<8x8xf16>, %i: index, %v: !tile.view<tensor<8x8xf16>>) {
  // expected-error @+1 {{'tile.store.async' op expects one index per dimension of the memref (2), got 0}}
  %d = tile.store.async %v, %m[] : !tile.view<tensor<8x8xf16>>, memref<8x8xf16>
  return
}

// -----

// store.async C2
func.func @store_async_rank(%m: memref<8xf16>, %i: index, %v: !tile.view<tensor<8x8xf16>>) {
  // expected-error @+1 {{'tile.store.async' op expects the rank of the tile (2) to be at most that of the memref (1)}}
  %d = tile.store.async %v, %m[%i] : !tile.view<tensor<8x8xf16>>, memref<8xf16>
  return
}

// -----

// store.async C3
func.func @store_async_element(%m: memref<8x8xf32>, %i: index, %v: !tile.view<tensor<8x8xf16>>) {
  // expected-error @+1 {{'tile.store.async' op expects the element type of the tile ('f16') to be that of the memref ('f32')}}
  %d = tile.store.async %v, %m[%i, %i] : !tile.view<tensor<8x8xf16>>, memref<8x8xf32>
  return
}

// -----

// tile.dot

// C1
func.func @dot_rank(%a: tensor<64xf16>, %b: tensor<8x64xf16>, %c: tensor<64x8xf32>) {
  // expected-error @+1 {{expects lhs of rank 2, got 1}}
  %0 = tile.dot %a, %b, %c lhs mk rhs nk : tensor<64xf16>, tensor<8x64xf16> -> tensor<64x8xf32>
  return
}

// -----

// C1
func.func @dot_acc_rank(%a: tensor<64x64xf16>, %b: tensor<8x64xf16>, %c: tensor<64xf32>) {
  // expected-error @+1 {{expects acc of rank 2, got 1}}
  %0 = tile.dot %a, %b, %c lhs mk rhs nk : tensor<64x64xf16>, tensor<8x64xf16> -> tensor<64xf32>
  return
}

// -----

// C2: the orders decide which dimension is K.
func.func @dot_k(%a: tensor<64x16xf16>, %b: tensor<8x16xf16>, %c: tensor<64x8xf32>) {
  %0 = tile.dot %a, %b, %c lhs mk rhs nk : tensor<64x16xf16>, tensor<8x16xf16> -> tensor<64x8xf32>
  // expected-error @+1 {{expects K of lhs (16) to equal K of rhs (8)}}
  %1 = tile.dot %a, %b, %c lhs mk rhs kn : tensor<64x16xf16>, tensor<8x16xf16> -> tensor<64x8xf32>
  return
}

// -----

// C2
func.func @dot_km(%a: tensor<64x16xf16>, %b: tensor<8x16xf16>, %c: tensor<64x8xf32>) {
  // expected-error @+1 {{expects K of lhs (64) to equal K of rhs (16)}}
  %1 = tile.dot %a, %b, %c lhs km rhs nk : tensor<64x16xf16>, tensor<8x16xf16> -> tensor<64x8xf32>
  return
}

// -----

// C3
func.func @dot_acc(%a: tensor<64x16xf16>, %b: tensor<8x16xf16>, %c: tensor<64x16xf32>) {
  // expected-error @+1 {{expects an accumulator of 64x8, got 64x16}}
  %0 = tile.dot %a, %b, %c lhs mk rhs nk : tensor<64x16xf16>, tensor<8x16xf16> -> tensor<64x16xf32>
  return
}

// -----

// C4
func.func @dot_element(%a: tensor<64x16xf16>, %b: tensor<8x16xbf16>, %c: tensor<64x8xf32>) {
  // expected-error @+1 {{expects lhs and rhs of one element type, got 'f16' and 'bf16'}}
  %0 = tile.dot %a, %b, %c lhs mk rhs nk : tensor<64x16xf16>, tensor<8x16xbf16> -> tensor<64x8xf32>
  return
}

// -----

// C5
func.func @dot_float_sums(%a: tensor<64x16xi8>, %c: tensor<64x64xf32>) {
  // expected-error @+1 {{expects an accumulator for products of 'i8', got one of 'f32'}}
  %0 = tile.dot %a, %a, %c lhs mk rhs nk : tensor<64x16xi8>, tensor<64x16xi8> -> tensor<64x64xf32>
  return
}

// -----

// C5
func.func @dot_narrow_sums(%a: tensor<64x16xi8>, %c: tensor<64x64xi8>) {
  // expected-error @+1 {{expects an accumulator for products of 'i8', got one of 'i8'}}
  %0 = tile.dot %a, %a, %c lhs mk rhs nk : tensor<64x16xi8>, tensor<64x16xi8> -> tensor<64x64xi8>
  return
}

// -----

// C5
func.func @dot_integer_sums(%a: tensor<64x16xf16>, %c: tensor<64x64xi32>) {
  // expected-error @+1 {{expects an accumulator for products of 'f16', got one of 'i32'}}
  %0 = tile.dot %a, %a, %c lhs mk rhs nk : tensor<64x16xf16>, tensor<64x16xf16> -> tensor<64x64xi32>
  return
}

// -----

func.func @dot_result(%a: tensor<64x16xf16>, %b: tensor<8x16xf16>, %c: tensor<64x8xf32>) {
  // expected-error @+1 {{failed to verify that all of {acc, result} have same type}}
  %0 = "tile.dot"(%a, %b, %c) <{lhsOrder = 0 : i32, rhsOrder = 1 : i32}> : (tensor<64x16xf16>, tensor<8x16xf16>, tensor<64x8xf32>) -> tensor<64x8xf16>
  return
}

// -----

func.func @dot_order(%a: tensor<64x16xf16>, %c: tensor<64x64xf32>) {
  // expected-error @+1 {{expected string or keyword containing one of the following enum values for attribute 'lhsOrder' [mk, km]}}
  %0 = tile.dot %a, %a, %c lhs nk rhs nk : tensor<64x16xf16>, tensor<64x16xf16> -> tensor<64x64xf32>
  return
}

// -----

// tile.dot.async

// C1
func.func @dot_async_rank(%a: tensor<64x16xf16>, %b: !tile.view<tensor<16xf16>>, %c: tensor<64x8xf32>) {
  // expected-error @+1 {{'tile.dot.async' op expects rhs of rank 2, got 1}}
  %0, %d = tile.dot.async %a, %b, %c lhs mk rhs nk : tensor<64x16xf16>, !tile.view<tensor<16xf16>>, tensor<64x8xf32> -> !tile.pending<tensor<64x8xf32>>
  return
}

// -----

// C2
func.func @dot_async_k(%a: tensor<64x16xf16>, %b: !tile.view<tensor<8x32xf16>>, %c: tensor<64x8xf32>) {
  // expected-error @+1 {{'tile.dot.async' op expects K of lhs (16) to equal K of rhs (32)}}
  %0, %d = tile.dot.async %a, %b, %c lhs mk rhs nk : tensor<64x16xf16>, !tile.view<tensor<8x32xf16>>, tensor<64x8xf32> -> !tile.pending<tensor<64x8xf32>>
  return
}

// -----

// C3
func.func @dot_async_acc(%a: tensor<64x16xf16>, %b: !tile.view<tensor<8x16xf16>>, %c: !tile.pending<tensor<32x8xf32>>) {
  // expected-error @+1 {{'tile.dot.async' op expects an accumulator of 64x8, got 32x8}}
  %0, %d = tile.dot.async %a, %b, %c lhs mk rhs nk : tensor<64x16xf16>, !tile.view<tensor<8x16xf16>>, !tile.pending<tensor<32x8xf32>> -> !tile.pending<tensor<32x8xf32>>
  return
}

// -----

// C4
func.func @dot_async_element(%a: tensor<64x16xbf16>, %b: !tile.view<tensor<8x16xf16>>, %c: tensor<64x8xf32>) {
  // expected-error @+1 {{'tile.dot.async' op expects lhs and rhs of one element type, got 'bf16' and 'f16'}}
  %0, %d = tile.dot.async %a, %b, %c lhs mk rhs nk : tensor<64x16xbf16>, !tile.view<tensor<8x16xf16>>, tensor<64x8xf32> -> !tile.pending<tensor<64x8xf32>>
  return
}

// -----

// C5
func.func @dot_async_sums(%a: tensor<64x32xi8>, %b: !tile.view<tensor<8x32xi8>>, %c: tensor<64x8xf32>) {
  // expected-error @+1 {{'tile.dot.async' op expects an accumulator for products of 'i8', got one of 'f32'}}
  %0, %d = tile.dot.async %a, %b, %c lhs mk rhs nk : tensor<64x32xi8>, !tile.view<tensor<8x32xi8>>, tensor<64x8xf32> -> !tile.pending<tensor<64x8xf32>>
  return
}

// -----

// C5
func.func @dot_async_result(%a: tensor<64x16xf16>, %b: !tile.view<tensor<8x16xf16>>, %c: tensor<64x8xf32>) {
  // expected-error @+1 {{expects a pending result of the accumulator's tile, got '!tile.pending<tensor<64x8xf16>>'}}
  %0, %d = tile.dot.async %a, %b, %c lhs mk rhs nk : tensor<64x16xf16>, !tile.view<tensor<8x16xf16>>, tensor<64x8xf32> -> !tile.pending<tensor<64x8xf16>>
  return
}

// -----

// tile.pend C1
func.func @pend(%x: tensor<64x8xf32>) {
  // expected-error @+1 {{expects a pending result of the operand's tile, got '!tile.pending<tensor<64x16xf32>>'}}
  %0 = tile.pend %x : tensor<64x8xf32> -> !tile.pending<tensor<64x16xf32>>
  return
}

// -----

// tile.await

func.func @await(%x: !tile.pending<tensor<64x8xf32>>) {
  // expected-error @+2 {{inferred type(s) 'tensor<64x8xf32>' are incompatible with return type(s) of operation 'tensor<64x8xf16>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "tile.await"(%x) : (!tile.pending<tensor<64x8xf32>>) -> tensor<64x8xf16>
  return
}

// -----

func.func @await_tile(%x: tensor<64x8xf32>) {
  // expected-error @+1 {{expected '<'}}
  %0 = tile.await %x : tensor<64x8xf32>
  return
}

// -----

// A pending product is linear.
func.func @await_twice(%m: memref<64x8xf32>) {
  warp.specialize {
    warp.group @math warps 4 (%g) {
      %z = arith.constant dense<0.0> : tensor<64x8xf32>
      // expected-error @+1 {{linear value of type '!tile.pending<tensor<64x8xf32>>' is consumed more than once}}
      %p = tile.pend %z : tensor<64x8xf32> -> !tile.pending<tensor<64x8xf32>>
      %a = tile.await %p : !tile.pending<tensor<64x8xf32>>
      // expected-note @+1 {{also consumed here}}
      %b = tile.await %p : !tile.pending<tensor<64x8xf32>>
    }
  }
  return
}

// -----

// tile.reduce

// C1
func.func @reduce_dim(%x: tensor<64x8xf32>) {
  // expected-error @+1 {{expects dim (2) less than the rank of the operand (2)}}
  %0 = tile.reduce add %x dim 2 : tensor<64x8xf32> -> tensor<64xf32>
  return
}

// -----

// C1
func.func @reduce_negative(%x: tensor<64x8xf32>) {
  // expected-error @+1 {{expects dim (-1) less than the rank of the operand (2)}}
  %0 = tile.reduce add %x dim -1 : tensor<64x8xf32> -> tensor<64xf32>
  return
}

// -----

// C2
func.func @reduce_shape(%x: tensor<64x8xf32>) {
  // expected-error @+1 {{expects a result of shape [64], got [8]}}
  %0 = tile.reduce add %x dim 1 : tensor<64x8xf32> -> tensor<8xf32>
  return
}

// -----

// C2
func.func @reduce_modulo(%x: tensor<64x8xf32>) {
  // expected-error @+1 {{expects modulo (3) to divide the extent (8)}}
  %0 = tile.reduce add %x dim 1 modulo 3 : tensor<64x8xf32> -> tensor<64x3xf32>
  return
}

// -----

// C2
func.func @reduce_modulo_shape(%x: tensor<64x8xf32>) {
  // expected-error @+1 {{expects a result of shape [64, 4], got [64]}}
  %0 = tile.reduce add %x dim 1 modulo 4 : tensor<64x8xf32> -> tensor<64xf32>
  return
}

// -----

// C3
func.func @reduce_init(%x: tensor<64x8xf32>, %y: tensor<8xf32>) {
  // expected-error @+1 {{expects init of the result's type, got 'tensor<8xf32>'}}
  %0 = tile.reduce max %x init %y dim 1 : tensor<64x8xf32>, tensor<8xf32> -> tensor<64xf32>
  return
}

// -----

// C4
func.func @reduce_integer(%x: tensor<64x8xi32>) {
  // expected-error @+1 {{expects operand and result of one float element type, got 'i32' and 'i32'}}
  %0 = tile.reduce add %x dim 1 : tensor<64x8xi32> -> tensor<64xi32>
  return
}

// -----

// C4
func.func @reduce_element(%x: tensor<64x8xf16>) {
  // expected-error @+1 {{expects operand and result of one float element type, got 'f16' and 'f32'}}
  %0 = tile.reduce add %x dim 1 : tensor<64x8xf16> -> tensor<64xf32>
  return
}

// -----

func.func @reduce_kind(%x: tensor<64x8xf32>) {
  // expected-error @+1 {{expected string or keyword containing one of the following enum values for attribute 'kind' [add, max]}}
  %0 = tile.reduce min %x dim 1 : tensor<64x8xf32> -> tensor<64xf32>
  return
}

// -----

// tile.broadcast

// C1
func.func @broadcast_rank(%x: tensor<64x8xf32>) {
  // expected-error @+1 {{expects an operand of rank 1 and a result of rank 2, got 2 and 2}}
  %0 = tile.broadcast %x dim 1 : tensor<64x8xf32> -> tensor<64x8xf32>
  return
}

// -----

// C2
func.func @broadcast_shape(%x: tensor<64xf32>) {
  // expected-error @+1 {{expects the result without dimension 0 to have extent 64, got [64, 8]}}
  %0 = tile.broadcast %x dim 0 : tensor<64xf32> -> tensor<64x8xf32>
  return
}

// -----

// C2
func.func @broadcast_dim(%x: tensor<64xf32>) {
  // expected-error @+1 {{expects the result without dimension 2 to have extent 64, got [64, 8]}}
  %0 = tile.broadcast %x dim 2 : tensor<64xf32> -> tensor<64x8xf32>
  return
}

// -----

// C3
func.func @broadcast_element(%x: tensor<64xf32>) {
  // expected-error @+1 {{expects operand and result of one element type, got 'f32' and 'f16'}}
  %0 = tile.broadcast %x dim 1 : tensor<64xf32> -> tensor<64x8xf16>
  return
}

// -----

// tile.coord

// C1
func.func @coord_dim(%i: index) {
  // expected-error @+1 {{expects dim (1) less than the rank of the result (1)}}
  %0 = tile.coord dim 1 offset %i : tensor<8xindex>
  return
}

// -----

// C2
func.func @coord_element(%i: index) {
  // expected-error @+1 {{expects elements of type index, got 'i32'}}
  %0 = tile.coord dim 0 offset %i : tensor<8xi32>
  return
}

// -----

// C3
func.func @coord_offset() {
  %i = arith.constant -1 : index
  // expected-error @+1 {{expects an offset of at least 0, got -1}}
  %0 = tile.coord dim 0 offset %i : tensor<8xindex>
  return
}

// -----

// tile.where

// C1
func.func @where_condition(%c: tensor<64xi8>, %x: tensor<64xf32>) {
  // expected-error @+1 {{expects a condition of i1, got 'i8'}}
  %0 = tile.where %c else %x : tensor<64xi8>, tensor<64xf32> {
    tile.yield %x : tensor<64xf32>
  }
  return
}

// -----

// C1
func.func @where_prefix(%c: tensor<8xi1>, %x: tensor<64x8xf32>) {
  // expected-error @+1 {{expects the shape of the condition [8] to be a prefix of the shape of the result [64, 8]}}
  %0 = tile.where %c else %x : tensor<8xi1>, tensor<64x8xf32> {
    tile.yield %x : tensor<64x8xf32>
  }
  return
}

// -----

// C2
func.func @where_yield(%c: tensor<64xi1>, %x: tensor<64xf32>, %y: tensor<64xf16>) {
  // expected-error @+1 {{expects the region to yield values of the types of the results ('tensor<64xf32>')}}
  %0 = tile.where %c else %x : tensor<64xi1>, tensor<64xf32> {
    tile.yield %y : tensor<64xf16>
  }
  return
}

// -----

// C2
func.func @where_yields(%c: tensor<64xi1>, %x: tensor<64xf32>) {
  // expected-error @+1 {{expects the region to yield values of the types of the results ('tensor<64xf32>')}}
  %0 = tile.where %c else %x : tensor<64xi1>, tensor<64xf32> {
    tile.yield %x, %x : tensor<64xf32>, tensor<64xf32>
  }
  return
}

// -----

// C1 holds for every result.
func.func @where_second(%c: tensor<64xi1>, %x: tensor<64x8xf32>, %y: tensor<8xf32>) {
  // expected-error @+1 {{expects the shape of the condition [64] to be a prefix of the shape of the result [8]}}
  %0:2 = tile.where %c else %x, %y : tensor<64xi1>, tensor<64x8xf32>, tensor<8xf32> {
    tile.yield %x, %y : tensor<64x8xf32>, tensor<8xf32>
  }
  return
}

// -----

// C3
func.func @where_body(%c: tensor<64xi1>, %x: tensor<64x8xf32>) {
  %0 = tile.where %c else %x : tensor<64xi1>, tensor<64x8xf32> {
    // expected-error @+1 {{is not allowed in 'tile.where', which holds elementwise operations only}}
    %r = tile.reduce add %x dim 1 : tensor<64x8xf32> -> tensor<64xf32>
    %y = tile.broadcast %r dim 1 : tensor<64xf32> -> tensor<64x8xf32>
    tile.yield %y : tensor<64x8xf32>
  }
  return
}

// -----

func.func @where_else(%c: tensor<64xi1>, %x: tensor<64xf16>) {
  // expected-error @+1 {{failed to verify that results have the types of what they are otherwise}}
  %0 = "tile.where"(%c, %x) ({
    tile.yield %x : tensor<64xf16>
  }) : (tensor<64xi1>, tensor<64xf16>) -> tensor<64xf32>
  return
}

// -----

func.func @where_arguments(%c: tensor<64xi1>, %x: tensor<64xf16>) {
  // expected-error @+1 {{region should have no arguments}}
  %0 = "tile.where"(%c, %x) ({
  ^bb0(%y: tensor<64xf16>):
    tile.yield %y : tensor<64xf16>
  }) : (tensor<64xi1>, tensor<64xf16>) -> tensor<64xf16>
  return
}

// -----

// tile.any_possible C1
func.func @any_possible(%m: tensor<64xi8>) {
  // expected-error @+1 {{expects a mask of i1, got 'i8'}}
  %0 = tile.any_possible %m : tensor<64xi8>
  return
}

// -----

// tile.view

// C1
func.func @view_field(%s: !warp.slot<read, [tensor<8x8xf16>]>, %i: index) {
  // expected-error @+1 {{expects field (1) to name a tensor of the payload}}
  %v = tile.view %s[%i, %i] field 1 : !warp.slot<read, [tensor<8x8xf16>]> -> !tile.view<tensor<8x8xf16>>
  return
}

// -----

// C1
func.func @view_negative(%s: !warp.slot<read, [tensor<8x8xf16>]>, %i: index) {
  // expected-error @+1 {{expects field (-1) to name a tensor of the payload}}
  %v = tile.view %s[%i, %i] field -1 : !warp.slot<read, [tensor<8x8xf16>]> -> !tile.view<tensor<8x8xf16>>
  return
}

// -----

// C1
func.func @view_scalar(%s: !warp.slot<read, [i32]>, %i: index) {
  // expected-error @+1 {{expects field (0) to name a tensor of the payload}}
  %v = tile.view %s[%i, %i] : !warp.slot<read, [i32]> -> !tile.view<tensor<8x8xf16>>
  return
}

// -----

// C2
func.func @view_offsets(%s: !warp.slot<read, [tensor<8x8xf16>]>, %i: index) {
  // expected-error @+1 {{expects one offset per dimension of the entry (2), got 1}}
  %v = tile.view %s[%i] : !warp.slot<read, [tensor<8x8xf16>]> -> !tile.view<tensor<8x8xf16>>
  return
}

// -----

// C2
func.func @view_rank(%s: !warp.slot<read, [tensor<8x8xf16>]>, %i: index) {
  // expected-error @+1 {{expects a window of the rank of the entry (2), got 1}}
  %v = tile.view %s[%i, %i] : !warp.slot<read, [tensor<8x8xf16>]> -> !tile.view<tensor<8xf16>>
  return
}

// -----

// C2
func.func @view_window(%s: !warp.slot<read, [tensor<8x8xf16>]>, %i: index) {
  // expected-error @+1 {{expects a window no larger than the entry [8, 8], got [8, 16]}}
  %v = tile.view %s[%i, %i] : !warp.slot<read, [tensor<8x8xf16>]> -> !tile.view<tensor<8x16xf16>>
  return
}

// -----

// C2, in bytes
func.func @view_bytes(%s: !warp.slot<read, [tensor<8x8xf16>]>, %i: index) {
  // expected-error @+1 {{expects a window no larger than the entry [8, 4], got [8, 8]}}
  %v = tile.view %s[%i, %i] : !warp.slot<read, [tensor<8x8xf16>]> -> !tile.view<tensor<8x8xf32>>
  return
}

// -----

// C3
func.func @view_narrower(%s: !warp.slot<read, [tensor<8x8xf16>]>, %i: index) {
  // expected-error @+1 {{expects element type and encoding of the entry, or elements of a multiple of its bits in rank 2, got 'tensor<8x8xf8E5M2>' in 'tensor<8x8xf16>'}}
  %v = tile.view %s[%i, %i] : !warp.slot<read, [tensor<8x8xf16>]> -> !tile.view<tensor<8x8xf8E5M2>>
  return
}

// -----

// C3
func.func @view_line(%s: !warp.slot<read, [tensor<8xf16>]>, %i: index) {
  // expected-error @+1 {{expects element type and encoding of the entry, or elements of a multiple of its bits in rank 2, got 'tensor<4xf32>' in 'tensor<8xf16>'}}
  %v = tile.view %s[%i] : !warp.slot<read, [tensor<8xf16>]> -> !tile.view<tensor<4xf32>>
  return
}

// -----

// C3
func.func @view_encoding(%s: !warp.slot<read, [tensor<8x64xf16, #tile.smem<128>>]>, %i: index) {
  // expected-error @+1 {{expects element type and encoding of the entry, or elements of a multiple of its bits in rank 2, got 'tensor<8x64xf16>' in 'tensor<8x64xf16, #tile.smem<128>>'}}
  %v = tile.view %s[%i, %i] : !warp.slot<read, [tensor<8x64xf16, #tile.smem<128>>]> -> !tile.view<tensor<8x64xf16>>
  return
}

// -----

// C4
func.func @view_after_release(%s: !warp.slot<read, [tensor<8x8xf16>]>, %i: index) {
  %v = tile.view %s[%i, %i] : !warp.slot<read, [tensor<8x8xf16>]> -> !tile.view<tensor<8x8xf16>>
  // expected-note @+1 {{the slot ends here}}
  warp.release %s : !warp.slot<read, [tensor<8x8xf16>]>
  // expected-error @+1 {{uses a view of a slot that is no longer held}}
  %x = tile.read %v : !tile.view<tensor<8x8xf16>> -> tensor<8x8xf16>
  return
}

// -----

// C4: also from inside a branch.
func.func @view_after_publish(%s: !warp.slot<write, [tensor<8x8xf16>]>, %x: tensor<8x8xf16>, %i: index, %c: i1) {
  %v = tile.view %s[%i, %i] : !warp.slot<write, [tensor<8x8xf16>]> -> !tile.view<tensor<8x8xf16>>
  // expected-note @+1 {{the slot ends here}}
  warp.publish %s : !warp.slot<write, [tensor<8x8xf16>]>
  scf.if %c {
    // expected-error @+1 {{uses a view of a slot that is no longer held}}
    tile.write %x, %v : tensor<8x8xf16>, !tile.view<tensor<8x8xf16>>
  }
  return
}

// -----

// tile.read C1
func.func @read(%v: !tile.view<tensor<8x8xf16>>) {
  // expected-error @+1 {{expects view and value of one shape and element type, got 'tensor<8x8xf16>' and 'tensor<8x8xf32>'}}
  %x = tile.read %v : !tile.view<tensor<8x8xf16>> -> tensor<8x8xf32>
  return
}

// -----

// tile.write C1
func.func @write(%v: !tile.view<tensor<8x8xf16>>, %x: tensor<8xf16>) {
  // expected-error @+1 {{expects view and value of one shape and element type, got 'tensor<8x8xf16>' and 'tensor<8xf16>'}}
  tile.write %x, %v : tensor<8xf16>, !tile.view<tensor<8x8xf16>>
  return
}

// -----

// tile.post C1
func.func @post(%v: !tile.view<tensor<2xi32>>, %n: index) {
  // expected-error @+1 {{expects a view of one i32, got 'tensor<2xi32>'}}
  tile.post %n, %v : !tile.view<tensor<2xi32>>
  return
}

// -----

// tile.receive C1
func.func @receive(%v: !tile.view<tensor<1xf32>>) {
  // expected-error @+1 {{expects a view of one i32, got 'tensor<1xf32>'}}
  %n = tile.receive %v : !tile.view<tensor<1xf32>>
  return
}

// -----

// tile.relabel C1
func.func @relabel_dim(%x: tensor<64x32xf32>) {
  // expected-error @+1 {{expects dim (2) less than the rank of the operand (2)}}
  %r = tile.relabel %x dim 2 bits [1, 0] : tensor<64x32xf32> -> tensor<64x32xf32>
  return
}

// -----

// tile.relabel C2
func.func @relabel_bits(%x: tensor<64x32xf32>) {
  // expected-error @+1 {{expects bits to be a permutation of 0 to 2, got [0, 2, 2]}}
  %r = tile.relabel %x dim 1 bits [0, 2, 2] : tensor<64x32xf32> -> tensor<64x32xf32>
  return
}

// -----

// tile.relabel C3
func.func @relabel_extent(%x: tensor<64x24xf32>) {
  // expected-error @+1 {{expects an extent that is a multiple of 2^4, got 24}}
  %r = tile.relabel %x dim 1 bits [0, 3, 1, 2] : tensor<64x24xf32> -> tensor<64x24xf32>
  return
}

// -----

// tile.relabel C4
func.func @relabel_type(%x: tensor<64x32xf32>) {
  // expected-error @+1 {{expects operand and result of one shape and element type, got 'tensor<64x32xf32>' and 'tensor<64x32xf16>'}}
  %r = tile.relabel %x dim 1 bits [1, 0] : tensor<64x32xf32> -> tensor<64x32xf16>
  return
}

// -----

// tile.transpose C1
func.func @transpose_shape(%x: tensor<64x32xf32>) {
  // expected-error @+1 {{expects an operand of rank 2 and a result of its transposed shape and its element type, got 'tensor<64x32xf32>' and 'tensor<64x32xf32>'}}
  %r = tile.transpose %x : tensor<64x32xf32> -> tensor<64x32xf32>
  return
}

// -----

// tile.unpack C1
func.func @unpack_operand(%x: tensor<64x32xi16>) {
  // expected-error @+1 {{expects an operand of rank 2 and i8, got 'tensor<64x32xi16>'}}
  %r = tile.unpack %x : tensor<64x32xi16> -> tensor<64x64xf16>
  return
}

// -----

// tile.unpack C2
func.func @unpack_result(%x: tensor<64x32xi8>) {
  // expected-error @+1 {{expects a result of f16 or bf16 with twice the columns of the operand, got 'tensor<64x32xi8>' and 'tensor<64x64xf32>'}}
  %r = tile.unpack %x : tensor<64x32xi8> -> tensor<64x64xf32>
  return
}

// -----

// #tile.operand_a C1
// expected-error @+1 {{#tile.operand_a expects 8 or 16 bits, got 32}}
func.func @operand_bits(%x: tensor<64x32xf32, #tile.operand_a<32>>)

// -----

// #tile.operand_a C2
// expected-error @+1 {{#tile.operand_a<8> expects rows that are a power-of-two multiple of 64 and columns that are a multiple of 32, got [64, 48]}}
func.func @operand_columns(%x: tensor<64x48xf8E4M3FN, #tile.operand_a<8>>)

// -----

// #tile.transposing C1
// expected-error @+1 {{#tile.transposing expects elements of 8 or 16 bits, rows that are a multiple of 32 and columns that are a multiple of 16, got [16, 64] of 'f8E4M3FN'}}
func.func @transposing_rows(%x: tensor<16x64xf8E4M3FN, #tile.transposing>)

// -----

// #tile.transposing C1
// expected-error @+1 {{#tile.transposing expects elements of 8 or 16 bits, rows that are a multiple of 32 and columns that are a multiple of 16, got [32, 64] of 'f32'}}
func.func @transposing_type(%x: tensor<32x64xf32, #tile.transposing>)

// -----

// #tile.relabeled C1
// expected-error @+1 {{#tile.relabeled expects dim 0 or 1, got 2}}
func.func @relabeled_dim(%x: tensor<64x32xf32, #tile.relabeled<2, [1, 0], #tile.acc>>)

// -----

// #tile.relabeled C1
// expected-error @+1 {{#tile.relabeled expects the layout of a tile, got #tile.smem<128>}}
func.func @relabeled_parent(%x: tensor<64x32xf32, #tile.relabeled<1, [1, 0], #tile.smem<128>>>)

// -----

// #tile.relabeled C2
// expected-error @+1 {{#tile.relabeled expects a permutation of bits, got [1, 1]}}
func.func @relabeled_bits(%x: tensor<64x32xf32, #tile.relabeled<1, [1, 1], #tile.acc>>)

// -----

// #tile.relabeled C3
// expected-error @+1 {{does not exist for a tile of shape [64, 24]}}
func.func @relabeled_shape(%x: tensor<64x24xf32, #tile.relabeled<1, [0, 3, 1, 2], #tile.acc>>)

// -----

// #tile.transposed C1
// expected-error @+1 {{#tile.transposed expects the layout of a tile, got #tile.smem<128>}}
func.func @transposed_parent(%x: tensor<64x32xf32, #tile.transposed<#tile.smem<128>>>)

// -----

// #tile.transposed C1
// expected-error @+1 {{#tile.transposed<#tile.acc> does not exist for a tile of shape [64, 24]}}
func.func @transposed_shape(%x: tensor<64x24xf32, #tile.transposed<#tile.acc>>)

// -----

// #tile.relabeled C2: more bits than a coordinate has.
// expected-error @+1 {{#tile.relabeled expects a permutation of bits}}
func.func @relabeled_many(%x: tensor<64x32xf32, #tile.relabeled<1, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69], #tile.acc>>)

// -----

// #tile.relabeled C3: elements without a width.
// expected-error @+1 {{does not exist for a tile of shape [64, 24]}}
func.func @relabeled_element(%x: tensor<64x24xcomplex<f32>, #tile.relabeled<1, [0, 3, 1, 2], #tile.acc>>)

// -----

// ordered C1
func.func @ordered_element(%a: memref<?x64xf16>, %p: memref<?x2xi32>, %i: index) {
  // expected-error @+1 {{expects an array of f32, got 'memref<?x64xf16>'}}
  %0 = tile.ordered %a by %p[%i] at %i : memref<?x64xf16>, memref<?x2xi32>
  return
}

// -----

// ordered C1, the progress
func.func @ordered_progress(%a: memref<?x64xf32>, %p: memref<?x2xi64>, %i: index) {
  // expected-error @+1 {{expects progress of i32, got 'memref<?x2xi64>'}}
  %0 = tile.ordered %a by %p[%i] at %i : memref<?x64xf32>, memref<?x2xi64>
  return
}

// -----

// ordered C2
func.func @ordered_indices(%a: memref<?x64xf32>, %p: memref<?x2xi32>, %i: index) {
  // expected-error @+1 {{expects one index per dimension of the progress but the last (1), at least one, got 2}}
  %0 = tile.ordered %a by %p[%i, %i] at %i : memref<?x64xf32>, memref<?x2xi32>
  return
}

// -----

// ordered C2, no index
func.func @ordered_number(%a: memref<?x64xf32>, %p: memref<2xi32>, %i: index) {
  // expected-error @+1 {{expects one index per dimension of the progress but the last (0), at least one, got 0}}
  %0 = tile.ordered %a by %p[] at %i : memref<?x64xf32>, memref<2xi32>
  return
}

// -----

// ordered C3
func.func @ordered_store(%a: memref<?x64xf32>, %p: memref<?x2xi32>, %x: tensor<64x64xf32>, %i: index) {
  // expected-error @+1 {{expects to be the target of stores that add}}
  %0 = tile.ordered %a by %p[%i] at %i : memref<?x64xf32>, memref<?x2xi32>
  // expected-note @+1 {{is used here}}
  tile.store %x, %0[%i, %i] : tensor<64x64xf32>, memref<?x64xf32>
  return
}

// -----

// ordered C3, another operation
func.func @ordered_load(%a: memref<?x64xf32>, %p: memref<?x2xi32>, %i: index) {
  // expected-error @+1 {{expects to be the target of stores that add}}
  %0 = tile.ordered %a by %p[%i] at %i : memref<?x64xf32>, memref<?x2xi32>
  // expected-note @+1 {{is used here}}
  %1 = tile.load %0[%i, %i] : memref<?x64xf32> -> tensor<64x64xf32>
  return
}

// -----

// end_ordered C1
func.func @end_ordered_progress(%p: memref<?x2xf32>, %i: index) {
  // expected-error @+1 {{expects progress of i32, got 'memref<?x2xf32>'}}
  tile.end_ordered %p[%i] : memref<?x2xf32>
  return
}

// -----

// end_ordered C2
func.func @end_ordered_indices(%p: memref<?x?x2xi32>, %i: index) {
  // expected-error @+1 {{expects one index per dimension of the progress but the last (2), at least one, got 1}}
  tile.end_ordered %p[%i] : memref<?x?x2xi32>
  return
}

// -----

// clear_flag C1
func.func @clear_indices(%f: memref<?x?xi32>, %i: index) {
  // expected-error @+1 {{expects one index per dimension of the memref (2), got 1}}
  tile.clear_flag %f[%i] : memref<?x?xi32>
  return
}

// -----

// clear_flag C2
func.func @clear_type(%f: memref<?xi64>, %i: index) {
  // expected-error @+1 {{expects flags of i32, got 'memref<?xi64>'}}
  tile.clear_flag %f[%i] : memref<?xi64>
  return
}

// -----

// set_flag C1
func.func @set_indices(%f: memref<?xi32>, %i: index) {
  // expected-error @+1 {{expects one index per dimension of the memref (1), got 2}}
  tile.set_flag %f[%i, %i] : memref<?xi32>
  return
}

// -----

// set_flag C2
func.func @set_type(%f: memref<?xf32>, %i: index) {
  // expected-error @+1 {{expects flags of i32, got 'memref<?xf32>'}}
  tile.set_flag %f[%i] : memref<?xf32>
  return
}

// -----

// await_flags C1
func.func @await_indices(%f: memref<?x?xi32>, %i: index) {
  // expected-error @+1 {{expects one index per dimension of the memref but the first (1), got 2}}
  tile.await_flags %f[%i, %i] : memref<?x?xi32>
  return
}

// -----

// await_flags C2
func.func @await_type(%f: memref<?xi1>) {
  // expected-error @+1 {{expects flags of i32, got 'memref<?xi1>'}}
  tile.await_flags %f[] : memref<?xi1>
  return
}
