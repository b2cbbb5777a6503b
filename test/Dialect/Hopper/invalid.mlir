// RUN: fa3-opt %s -split-input-file -verify-diagnostics

// Types.

// barrier C1
// expected-error @+1 {{!hopper.barrier expects a count (0) and arrivals (1) of at least 1}}
func.func private @barrier(!hopper.barrier<0, 1>)

// -----

// barrier C1
// expected-error @+1 {{!hopper.barrier expects a count (1) and arrivals (-1) of at least 1}}
func.func private @arrivals(!hopper.barrier<1, -1>)

// -----

// barrier C1
// expected-error @+1 {{!hopper.barrier expects at most 1048575 arrivals, got 1048576}}
func.func private @many_arrivals(!hopper.barrier<1, 1048576>)

// -----

// expected-error @+1 {{expected ','}}
func.func private @barrier_syntax(!hopper.barrier<1>)

// -----

// buffer C1
// expected-error @+1 {{!hopper.buffer expects at least 1 slot, got 0}}
func.func private @slots(!hopper.buffer<0, tensor<8x64xf16>, 128>)

// -----

// buffer C2
// expected-error @+1 {{!hopper.buffer expects a swizzle of 32, 64 or 128 bytes, got 0}}
func.func private @buffer_swizzle(!hopper.buffer<1, tensor<8x64xf16>, 0>)

// -----

// buffer C3
// expected-error @+1 {{!hopper.buffer expects a tile of rank 2 with elements of 8, 16 or 32 bits, rows that are a multiple of 8 and columns that fill whole blocks of 128 bytes, got 'tensor<8x72xf16>'}}
func.func private @buffer_columns(!hopper.buffer<1, tensor<8x72xf16>, 128>)

// -----

// buffer C3
// expected-error @+1 {{got 'tensor<12x64xf16>'}}
func.func private @buffer_rows(!hopper.buffer<1, tensor<12x64xf16>, 128>)

// -----

// buffer C3
// expected-error @+1 {{got 'tensor<8x0xf16>'}}
func.func private @buffer_empty(!hopper.buffer<1, tensor<8x0xf16>, 128>)

// -----

// buffer C3
// expected-error @+1 {{got 'tensor<64xf16>'}}
func.func private @buffer_rank(!hopper.buffer<1, tensor<64xf16>, 128>)

// -----

// buffer C3
// expected-error @+1 {{got 'tensor<?x64xf16>'}}
func.func private @buffer_dynamic(!hopper.buffer<1, tensor<?x64xf16>, 128>)

// -----

// buffer C3
// expected-error @+1 {{got 'tensor<8x1024xi1>'}}
func.func private @buffer_bits(!hopper.buffer<1, tensor<8x1024xi1>, 128>)

// -----

// buffer C3
// expected-error @+1 {{got 'tensor<8x64xindex>'}}
func.func private @buffer_index(!hopper.buffer<1, tensor<8x64xindex>, 128>)

// -----

// expected-error @+2 {{invalid kind of type specified: expected builtin.tensor, but found 'f16'}}
// expected-error @+1 {{failed to parse Hopper_BufferType parameter 'tile'}}
func.func private @buffer_syntax(!hopper.buffer<1, f16, 128>)

// -----

// tensormap C1
// expected-error @+1 {{!hopper.tensormap expects 1 to 5 dimensions, got 6}}
func.func private @map_rank(!hopper.tensormap<[1, 1, 1, 1, 8, 64], f16, 128>)

// -----

// tensormap C1
// expected-error @+1 {{!hopper.tensormap expects box extents between 1 and 256, got 257}}
func.func private @map_extent(!hopper.tensormap<[257, 64], f16, 128>)

// -----

// tensormap C1
// expected-error @+1 {{!hopper.tensormap expects box extents between 1 and 256, got 0}}
func.func private @map_no_extent(!hopper.tensormap<[0, 64], f16, 128>)

// -----

// tensormap C2
// expected-error @+1 {{!hopper.tensormap expects a swizzle of 32, 64 or 128 bytes, got 256}}
func.func private @map_swizzle(!hopper.tensormap<[8, 64], f16, 256>)

// -----

// tensormap C3
// expected-error @+1 {{!hopper.tensormap expects elements of 8, 16 or 32 bits, got 'index'}}
func.func private @map_element(!hopper.tensormap<[8, 64], index, 128>)

// -----

// tensormap C3
// expected-error @+1 {{!hopper.tensormap expects a last dimension of a multiple of 16 bytes up to 64, got 128}}
func.func private @map_wide(!hopper.tensormap<[8, 64], f16, 64>)

// -----

// tensormap C3
// expected-error @+1 {{!hopper.tensormap expects a last dimension of a multiple of 16 bytes up to 128, got 8}}
func.func private @map_narrow(!hopper.tensormap<[8, 4], f16, 128>)

// -----

// expected-error @+1 {{expected '['}}
func.func private @map_syntax(!hopper.tensormap<8, f16, 128>)

// -----

// desc C1
// expected-error @+1 {{!hopper.desc expects rows that are a positive multiple of 8, got 12}}
func.func private @desc_rows(!hopper.desc<12, f16, 128, k>)

// -----

// desc C2
// expected-error @+1 {{!hopper.desc expects a swizzle of 32, 64 or 128 bytes, got 16}}
func.func private @desc_swizzle(!hopper.desc<8, f16, 16, k>)

// -----

// desc C2
// expected-error @+1 {{!hopper.desc expects elements of 8, 16 or 32 bits, got 'i512'}}
func.func private @desc_element(!hopper.desc<8, i512, 128, k>)

// -----

// expected-error @+2 {{expected one of [k, mn] for dimension of a wgmma operand that is contiguous in shared memory, got: n}}
// expected-error @+1 {{failed to parse Hopper_DescType parameter 'major'}}
func.func private @desc_major(!hopper.desc<8, f16, 128, n>)

// -----

// expected-error @+2 {{invalid kind of type specified: expected builtin.vector, but found 'f32'}}
// expected-error @+1 {{failed to parse Hopper_InflightType parameter 'fragment'}}
func.func private @inflight(!hopper.inflight<f32>)

// -----

// expected-error @+1 {{unknown  type `mbarrier` in dialect `hopper`}}
func.func private @unknown(!hopper.mbarrier)

// -----

// Fragments.

// C1
// expected-error @+1 {{#hopper.fragment expects a shape of rank 1 to 3, got rank 0}}
func.func private @f() attributes {a = #hopper.fragment<[], reg = [], lane = [[], [], [], [], []], warp = [], repeat = []>}

// -----

// C1
// expected-error @+1 {{#hopper.fragment expects extents between 1 and 65536, got -8}}
func.func private @f() attributes {a = #hopper.fragment<[-8], reg = [], lane = [[0], [0], [0], [0], [0]], warp = [], repeat = []>}

// -----

// C1
// expected-error @+1 {{#hopper.fragment expects bases of rank 1, got 2}}
func.func private @f() attributes {a = #hopper.fragment<[64], reg = [[0, 1]], lane = [[1], [2], [4], [8], [16]], warp = [], repeat = []>}

// -----

// C1
// expected-error @+1 {{#hopper.fragment expects repeats of the form [dimension, stride, odd count]}}
func.func private @f() attributes {a = #hopper.fragment<[64], reg = [], lane = [[0], [0], [0], [0], [0]], warp = [], repeat = [[1, 1, 3]]>}

// -----

// C1
// expected-error @+1 {{#hopper.fragment expects repeats of the form [dimension, stride, odd count]}}
func.func private @f() attributes {a = #hopper.fragment<[64], reg = [], lane = [[0], [0], [0], [0], [0]], warp = [], repeat = [[0, 1]]>}

// -----

// C2
// expected-error @+1 {{#hopper.fragment expects 5 lane bits, got 4}}
func.func private @f() attributes {a = #hopper.fragment<[64], reg = [], lane = [[1], [2], [4], [8]], warp = [], repeat = []>}

// -----

// C2
// expected-error @+1 {{#hopper.fragment expects at most 3 warp bits, got 4}}
func.func private @f() attributes {a = #hopper.fragment<[64], reg = [], lane = [[0], [0], [0], [0], [0]], warp = [[0], [0], [0], [0]], repeat = []>}

// -----

// C2
// expected-error @+1 {{#hopper.fragment expects at most 1024 registers}}
func.func private @f() attributes {a = #hopper.fragment<[64], reg = [[0], [0], [0], [0], [0], [0], [0], [0], [0]], lane = [[0], [0], [0], [0], [0]], warp = [], repeat = [[0, 0, 9223372036854775807]]>}

// -----

// C3
// expected-error @+1 {{#hopper.fragment expects repeats of the form [dimension, stride, odd count]}}
func.func private @f() attributes {a = #hopper.fragment<[64], reg = [], lane = [[0], [0], [0], [0], [0]], warp = [], repeat = [[0, 1, 4]]>}

// -----

// C3
// expected-error @+1 {{#hopper.fragment expects elements inside the shape [64]}}
func.func private @f() attributes {a = #hopper.fragment<[64], reg = [[32]], lane = [[1], [2], [4], [8], [16]], warp = [[1]], repeat = []>}

// -----

// C3
// expected-error @+1 {{#hopper.fragment expects elements inside the shape [64]}}
func.func private @f() attributes {a = #hopper.fragment<[64], reg = [], lane = [[-1], [2], [4], [8], [16]], warp = [], repeat = []>}

// -----

// expected-error @+1 {{expected 'lane'}}
func.func private @f() attributes {a = #hopper.fragment<[64], reg = [], warp = [], repeat = []>}

// -----

// expected-error @+1 {{expected integer value}}
func.func private @f() attributes {a = #hopper.fragment<[many], reg = [], lane = [], warp = [], repeat = []>}

// -----

// hopper.launch

// C1
func.func @launch(%n: index) {
  // expected-error @+1 {{expects @kernels::@fwd to name a kernel}}
  hopper.launch @kernels::@fwd blocks %n threads 128 smem 0 args()
  return
}

// -----

// C1
gpu.module @kernels {
  gpu.func @fwd() {
    gpu.return
  }
}
func.func @launch_function(%n: index) {
  // expected-error @+1 {{expects @kernels::@fwd to name a kernel}}
  hopper.launch @kernels::@fwd blocks %n threads 128 smem 0 args()
  return
}

// -----

// C2
gpu.module @kernels {
  // expected-note @+1 {{the kernel takes '(i32) -> ()'}}
  gpu.func @fwd(%x: i32) kernel {
    gpu.return
  }
}
func.func @launch_types(%n: index) {
  // expected-error @+1 {{expects operands of the kernel's argument types}}
  hopper.launch @kernels::@fwd blocks %n threads 128 smem 0 args(%n : index)
  return
}

// -----

// C2
gpu.module @kernels {
  llvm.func @fwd(i32, i32)
}
func.func @launch_count(%n: index) {
  // expected-error @+1 {{expects 2 operands, got 1}}
  hopper.launch @kernels::@fwd blocks %n threads 128 smem 0 args(%n : index)
  return
}

// -----

// C3
func.func @threads(%n: index) {
  // expected-error @+1 {{expects threads that are a multiple of 32 up to 1024, got 48}}
  hopper.launch @kernels::@fwd blocks %n threads 48 smem 0 args()
  return
}

// -----

// C3
func.func @many_threads(%n: index) {
  // expected-error @+1 {{expects threads that are a multiple of 32 up to 1024, got 1056}}
  hopper.launch @kernels::@fwd blocks %n threads 1056 smem 0 args()
  return
}

// -----

// C3
func.func @smem(%n: index) {
  // expected-error @+1 {{expects at most 232448 bytes of shared memory, got 232449}}
  hopper.launch @kernels::@fwd blocks %n threads 128 smem 232449 args()
  return
}

// -----

// C4
func.func @cost(%n: index) {
  // expected-error @+1 {{expects 'cost' to have 2 values (operations, bytes), got 3}}
  hopper.launch @kernels::@fwd blocks %n threads 128 smem 0 args() cost(%n, %n, %n)
  return
}

// -----

// hopper.tensormap.encode

// C1
func.func @encode_rank(%m: memref<8x64xf16>) {
  // expected-error @+1 {{expects a box of the memref's rank (2), got 1}}
  %0 = hopper.tensormap.encode %m : memref<8x64xf16> -> !hopper.tensormap<[64], f16, 128>
  return
}

// -----

// C1
func.func @encode_scalar(%m: memref<f16>) {
  // expected-error @+1 {{expects a box of the memref's rank (0), got 1}}
  %0 = hopper.tensormap.encode %m : memref<f16> -> !hopper.tensormap<[64], f16, 128>
  return
}

// -----

// C2
func.func @encode_element(%m: memref<8x64xf16>) {
  // expected-error @+1 {{expects the element type of the memref ('f16'), got 'bf16'}}
  %0 = hopper.tensormap.encode %m : memref<8x64xf16> -> !hopper.tensormap<[8, 64], bf16, 128>
  return
}

// -----

// C3
func.func @encode_stride(%m: memref<8x64xf16, strided<[64, 2]>>) {
  // expected-error @+1 {{expects a memref with innermost stride 1, got 'memref<8x64xf16, strided<[64, 2]>>'}}
  %0 = hopper.tensormap.encode %m : memref<8x64xf16, strided<[64, 2]>> -> !hopper.tensormap<[8, 64], f16, 128>
  return
}

// -----

// C3
func.func @encode_dynamic(%m: memref<8x64xf16, strided<[?, ?]>>) {
  // expected-error @+1 {{expects a memref with innermost stride 1}}
  %0 = hopper.tensormap.encode %m : memref<8x64xf16, strided<[?, ?]>> -> !hopper.tensormap<[8, 64], f16, 128>
  return
}

// -----

// C3: a layout that has no strides.
func.func @encode_layout(%m: memref<8x64xf16, affine_map<(i, j) -> (i mod 2, j)>>) {
  // expected-error @+1 {{expects a memref with innermost stride 1}}
  %0 = hopper.tensormap.encode %m : memref<8x64xf16, affine_map<(i, j) -> (i mod 2, j)>> -> !hopper.tensormap<[8, 64], f16, 128>
  return
}

// -----

// Shared memory and barriers.

func.func @alloc_alignment() {
  // expected-error @+1 {{expects an offset that is a multiple of 1024, got 512}}
  %0 = hopper.smem.alloc offset 512 : !hopper.buffer<1, tensor<8x64xf16>, 128>
  return
}

// -----

func.func @alloc_negative() {
  // expected-error @+1 {{expects an offset that is a multiple of 1024, got -1024}}
  %0 = hopper.smem.alloc offset -1024 : !hopper.buffer<1, tensor<8x64xf16>, 128>
  return
}

// -----

func.func @alloc_end() {
  // expected-error @+1 {{expects 1024 bytes at offset 9223372036854774784 to end within the 232448 bytes of shared memory}}
  %0 = hopper.smem.alloc offset 9223372036854774784 : !hopper.buffer<1, tensor<8x64xf16>, 128>
  return
}

// -----

func.func @fill_type(%b: !hopper.buffer<1, tensor<8x64xf16>, 128>) {
  // expected-error @+1 {{expects a floating-point value of the buffer's elements, 'f16', got 'f32'}}
  hopper.smem.fill %b, 1.0 : f32 : !hopper.buffer<1, tensor<8x64xf16>, 128>
  return
}

// -----

func.func @fill_integer(%b: !hopper.buffer<1, tensor<8x64xi16>, 128>) {
  // expected-error @+1 {{expects a floating-point value of the buffer's elements, 'i16', got 'i16'}}
  hopper.smem.fill %b, 1 : i16 : !hopper.buffer<1, tensor<8x64xi16>, 128>
  return
}

// -----

func.func @barrier_alignment() {
  // expected-error @+1 {{expects an offset that is a multiple of 8, got 4}}
  %0 = hopper.barrier.alloc offset 4 : !hopper.barrier<1, 1>
  return
}

// -----

func.func @barrier_end() {
  // expected-error @+1 {{expects 16 bytes at offset 232440 to end within the 232448 bytes of shared memory}}
  %0 = hopper.barrier.alloc offset 232440 : !hopper.barrier<2, 1>
  return
}

// -----

// expect_tx C1
func.func @no_bytes(%b: !hopper.barrier<1, 1>, %i: i32) {
  // expected-error @+1 {{expects between 1 and 1048575 bytes, got 0}}
  hopper.barrier.expect_tx %b[%i], 0 : !hopper.barrier<1, 1>
  return
}

// -----

// expect_tx C1
func.func @many_bytes(%b: !hopper.barrier<1, 1>, %i: i32) {
  // expected-error @+1 {{expects between 1 and 1048575 bytes, got 1048576}}
  hopper.barrier.expect_tx %b[%i], 1048576 : !hopper.barrier<1, 1>
  return
}

// -----

// named_barrier.arrive C1
func.func @arrive_threads(%i: i32) {
  // expected-error @+1 {{expects threads that are a positive multiple of 32 up to 1024, got 100}}
  hopper.named_barrier.arrive %i threads 100
  return
}

// -----

// named_barrier.sync C1
func.func @sync(%i: i32) {
  // expected-error @+1 {{expects threads that are a positive multiple of 32 up to 1024, got 0}}
  hopper.named_barrier.sync %i threads 0
  return
}

// -----

// named_barrier.sync C1
func.func @sync_many(%i: i32) {
  // expected-error @+1 {{expects threads that are a positive multiple of 32 up to 1024, got 2048}}
  hopper.named_barrier.sync %i threads 2048
  return
}

// -----

// setmaxnreg C1
func.func @registers() {
  // expected-error @+1 {{expects a multiple of 8 between 24 and 256, got 28}}
  hopper.setmaxnreg decrease 28
  return
}

// -----

// setmaxnreg C1
func.func @many_registers() {
  // expected-error @+1 {{expects a multiple of 8 between 24 and 256, got 264}}
  hopper.setmaxnreg increase 264
  return
}

// -----

// tma.load C1
func.func @load_coordinates(%map: !hopper.tensormap<[8, 64], f16, 128>, %buf: !hopper.buffer<1, tensor<8x64xf16>, 128>, %b: !hopper.barrier<1, 1>, %i: i32) {
  // expected-error @+1 {{'hopper.tma.load' op expects one coordinate per dimension of the box (2), got 1}}
  hopper.tma.load %map[%i] to %buf[%i, %i, %i] signal %b[%i] : !hopper.tensormap<[8, 64], f16, 128>, !hopper.buffer<1, tensor<8x64xf16>, 128>, !hopper.barrier<1, 1>
  return
}

// -----

// tma.load C3
func.func @load_pieces_rows(%map: !hopper.tensormap<[8, 64], f16, 128>, %buf: !hopper.buffer<1, tensor<16x64xf16>, 128>, %b: !hopper.barrier<1, 1>, %i: i32) {
  // expected-error @+1 {{'hopper.tma.load' op expects pieces that fit into a slot of 16x64, got 24x64}}
  hopper.tma.load %map to %buf[%i, %i, %i] signal %b[%i] pieces 3 by 1 (%n) {
    hopper.yield %n, %n : i32, i32
  } : !hopper.tensormap<[8, 64], f16, 128>, !hopper.buffer<1, tensor<16x64xf16>, 128>, !hopper.barrier<1, 1>
  return
}

// -----

// tma.load C1
func.func @load_pieces_yield(%map: !hopper.tensormap<[8, 64], f16, 128>, %buf: !hopper.buffer<1, tensor<16x64xf16>, 128>, %b: !hopper.barrier<1, 1>, %i: i32) {
  // expected-error @+1 {{'hopper.tma.load' op expects the region to yield one 'i32' per dimension (2), got ('i32')}}
  hopper.tma.load %map to %buf[%i, %i, %i] signal %b[%i] pieces 2 by 1 (%n) {
    hopper.yield %n : i32
  } : !hopper.tensormap<[8, 64], f16, 128>, !hopper.buffer<1, tensor<16x64xf16>, 128>, !hopper.barrier<1, 1>
  return
}

// -----

// tma.load C4
func.func @load_pieces_code(%map: !hopper.tensormap<[8, 64], f16, 128>, %buf: !hopper.buffer<1, tensor<16x64xf16>, 128>, %b: !hopper.barrier<1, 1>, %i: i32) {
  hopper.tma.load %map to %buf[%i, %i, %i] signal %b[%i] pieces 2 by 1 (%n) {
    // expected-error @+1 {{'hopper.fence.proxy_async' op is not allowed where pieces lie, which scalar code without effects or regions says}}
    hopper.fence.proxy_async
    hopper.yield %n, %n : i32, i32
  } : !hopper.tensormap<[8, 64], f16, 128>, !hopper.buffer<1, tensor<16x64xf16>, 128>, !hopper.barrier<1, 1>
  return
}

// -----

// tma.load C3
func.func @load_blocks(%map: !hopper.tensormap<[8, 64], f16, 128>, %buf: !hopper.buffer<1, tensor<16x64xf16>, 128>, %b: !hopper.barrier<1, 1>, %i: i32) {
  // expected-error @+1 {{'hopper.tma.load' op expects the blocks of pieces, and no others}}
  "hopper.tma.load"(%map, %i, %i, %buf, %i, %i, %i, %b, %i) <{blocks = 1 : i64}>
    : (!hopper.tensormap<[8, 64], f16, 128>, i32, i32, !hopper.buffer<1, tensor<16x64xf16>, 128>, i32, i32, i32, !hopper.barrier<1, 1>, i32) -> ()
  return
}

// -----

// tma.load C2
func.func @load_width(%map: !hopper.tensormap<[8, 32], f16, 128>, %buf: !hopper.buffer<1, tensor<8x64xf16>, 128>, %b: !hopper.barrier<1, 1>, %i: i32) {
  // expected-error @+1 {{'hopper.tma.load' op expects a box one block wide (64 columns of 'f16', swizzle 128), got '!hopper.tensormap<[8, 32], f16, 128>'}}
  hopper.tma.load %map[%i, %i] to %buf[%i, %i, %i] signal %b[%i] : !hopper.tensormap<[8, 32], f16, 128>, !hopper.buffer<1, tensor<8x64xf16>, 128>, !hopper.barrier<1, 1>
  return
}

// -----

// tma.load C2
func.func @load_swizzle(%map: !hopper.tensormap<[8, 32], f16, 64>, %buf: !hopper.buffer<1, tensor<8x64xf16>, 128>, %b: !hopper.barrier<1, 1>, %i: i32) {
  // expected-error @+1 {{'hopper.tma.load' op expects a box one block wide (64 columns of 'f16', swizzle 128), got '!hopper.tensormap<[8, 32], f16, 64>'}}
  hopper.tma.load %map[%i, %i] to %buf[%i, %i, %i] signal %b[%i] : !hopper.tensormap<[8, 32], f16, 64>, !hopper.buffer<1, tensor<8x64xf16>, 128>, !hopper.barrier<1, 1>
  return
}

// -----

// tma.store C1
func.func @store_coordinates(%map: !hopper.tensormap<[8, 64], f16, 128>, %buf: !hopper.buffer<1, tensor<8x64xf16>, 128>, %i: i32) {
  // expected-error @+1 {{'hopper.tma.store' op expects one coordinate per dimension of the box (2), got 3}}
  hopper.tma.store %buf[%i, %i, %i] to %map[%i, %i, %i] : !hopper.buffer<1, tensor<8x64xf16>, 128>, !hopper.tensormap<[8, 64], f16, 128>
  return
}

// -----

// tma.store C3
func.func @store_add_map(%map: !hopper.tensormap<[8, 64], f16, 128>, %buf: !hopper.buffer<1, tensor<8x64xf16>, 128>, %i: i32) {
  // expected-error @+1 {{'hopper.tma.store' op expects a map of f32 or i32 with 'add', got '!hopper.tensormap<[8, 64], f16, 128>'}}
  hopper.tma.store %buf[%i, %i, %i] to %map[%i, %i] add : !hopper.buffer<1, tensor<8x64xf16>, 128>, !hopper.tensormap<[8, 64], f16, 128>
  return
}

// -----

// tma.store C2
func.func @store_element(%map: !hopper.tensormap<[8, 64], f16, 128>, %buf: !hopper.buffer<1, tensor<8x64xf16>, 64>, %i: i32) {
  // expected-error @+1 {{'hopper.tma.store' op expects a box one block wide (32 columns of 'f16', swizzle 64), got '!hopper.tensormap<[8, 64], f16, 128>'}}
  hopper.tma.store %buf[%i, %i, %i] to %map[%i, %i] : !hopper.buffer<1, tensor<8x64xf16>, 64>, !hopper.tensormap<[8, 64], f16, 128>
  return
}

// -----

// tma.wait_read C1
func.func @wait_read() {
  // expected-error @+1 {{expects at least 0 pending groups, got -1}}
  hopper.tma.wait_read pending -1
  return
}

// -----

// hopper.desc C1
func.func @desc(%b: !hopper.buffer<1, tensor<80x64xf16>, 128>, %i: i32) {
  // expected-error @+1 {{expects a descriptor of 80 rows of 'f16', swizzle 128, got '!hopper.desc<64, f16, 128, k>'}}
  %0 = hopper.desc %b[%i, %i, %i] : !hopper.buffer<1, tensor<80x64xf16>, 128> -> !hopper.desc<64, f16, 128, k>
  return
}

// -----

// hopper.wgmma.mma

// C1
func.func @mma_m(%d: !hopper.desc<64, f16, 128, k>) {
  // expected-error @+1 {{expects m a multiple of 64 up to 256, n a multiple of 8 up to 256 and k a multiple of 16 up to 1024, got 32, 8 and 16}}
  %0 = hopper.wgmma.mma %d, %d m 32 n 8 k 16 : !hopper.desc<64, f16, 128, k>, !hopper.desc<64, f16, 128, k> -> !hopper.inflight<vector<2xf32>>
  return
}

// -----

// C1
func.func @mma_n(%d: !hopper.desc<64, f16, 128, k>) {
  // expected-error @+1 {{got 64, 264 and 16}}
  %0 = hopper.wgmma.mma %d, %d m 64 n 264 k 16 : !hopper.desc<64, f16, 128, k>, !hopper.desc<64, f16, 128, k> -> !hopper.inflight<vector<132xf32>>
  return
}

// -----

// C1: 32 bytes are 32 elements of 8 bits.
func.func @mma_k(%d: !hopper.desc<64, f8E4M3FN, 128, k>) {
  // expected-error @+1 {{k a multiple of 32 up to 1024, got 64, 8 and 16}}
  %0 = hopper.wgmma.mma %d, %d m 64 n 8 k 16 : !hopper.desc<64, f8E4M3FN, 128, k>, !hopper.desc<64, f8E4M3FN, 128, k> -> !hopper.inflight<vector<4xf32>>
  return
}

// -----

// C1
func.func @mma_huge(%d: !hopper.desc<64, f16, 128, k>) {
  // expected-error @+1 {{got 4611686018427387904, 8 and 16}}
  %0 = hopper.wgmma.mma %d, %d m 4611686018427387904 n 8 k 16 : !hopper.desc<64, f16, 128, k>, !hopper.desc<64, f16, 128, k> -> !hopper.inflight<vector<4xf32>>
  return
}

// -----

// C1: columns of products of integers.
func.func @mma_integer_n(%d: !hopper.desc<64, i8, 128, k>) {
  // expected-error @+1 {{of i8 expects n up to 32 or a multiple of 16, got 40}}
  %0 = hopper.wgmma.mma %d, %d m 64 n 40 k 32 : !hopper.desc<64, i8, 128, k>, !hopper.desc<64, i8, 128, k> -> !hopper.inflight<vector<20xi32>>
  return
}

// -----

// C2
func.func @mma_integer_result(%d: !hopper.desc<64, i8, 128, k>) {
  // expected-error @+1 {{expects a result of 'vector<4xi32>', got '!hopper.inflight<vector<4xf32>>'}}
  %0 = hopper.wgmma.mma %d, %d m 64 n 8 k 32 : !hopper.desc<64, i8, 128, k>, !hopper.desc<64, i8, 128, k> -> !hopper.inflight<vector<4xf32>>
  return
}

// -----

// C2
func.func @mma_result(%d: !hopper.desc<64, f16, 128, k>) {
  // expected-error @+1 {{expects a result of 'vector<4xf32>', got '!hopper.inflight<vector<4xf16>>'}}
  %0 = hopper.wgmma.mma %d, %d m 64 n 8 k 16 : !hopper.desc<64, f16, 128, k>, !hopper.desc<64, f16, 128, k> -> !hopper.inflight<vector<4xf16>>
  return
}

// -----

// C2
func.func @mma_acc(%d: !hopper.desc<64, f16, 128, k>, %acc: vector<8xf32>) {
  // expected-error @+1 {{expects an accumulator of 'vector<4xf32>', got 'vector<8xf32>'}}
  %0 = hopper.wgmma.mma %d, %d acc %acc : vector<8xf32> m 64 n 8 k 16 : !hopper.desc<64, f16, 128, k>, !hopper.desc<64, f16, 128, k> -> !hopper.inflight<vector<4xf32>>
  return
}

// -----

// C2
func.func @mma_inflight(%d: !hopper.desc<64, f16, 128, k>, %acc: !hopper.inflight<vector<8xf32>>) {
  // expected-error @+1 {{expects an accumulator of 'vector<4xf32>', got 'vector<8xf32>'}}
  %0 = hopper.wgmma.mma %d, %d acc %acc : !hopper.inflight<vector<8xf32>> m 64 n 8 k 16 : !hopper.desc<64, f16, 128, k>, !hopper.desc<64, f16, 128, k> -> !hopper.inflight<vector<4xf32>>
  return
}

// -----

// C3
func.func @mma_mixed(%a: !hopper.desc<64, bf16, 128, k>, %d: !hopper.desc<64, f16, 128, k>) {
  // expected-error @+1 {{expects lhs and rhs of one element type, got 'bf16' and 'f16'}}
  %0 = hopper.wgmma.mma %a, %d m 64 n 8 k 16 : !hopper.desc<64, bf16, 128, k>, !hopper.desc<64, f16, 128, k> -> !hopper.inflight<vector<4xf32>>
  return
}

// -----

// C3
func.func @mma_fragment(%a: vector<4xf16>, %d: !hopper.desc<64, f16, 128, k>) {
  // expected-error @+1 {{expects a fragment lhs of 8 elements of the type of rhs of 8 or 16 bits, got 'vector<4xf16>'}}
  %0 = hopper.wgmma.mma %a, %d m 64 n 8 k 16 : vector<4xf16>, !hopper.desc<64, f16, 128, k> -> !hopper.inflight<vector<4xf32>>
  return
}

// -----

// C3
func.func @mma_fragment_bits(%a: vector<4xf32>, %d: !hopper.desc<64, f32, 128, k>) {
  // expected-error @+1 {{expects a fragment lhs of 4 elements of the type of rhs of 8 or 16 bits, got 'vector<4xf32>'}}
  %0 = hopper.wgmma.mma %a, %d m 64 n 8 k 8 : vector<4xf32>, !hopper.desc<64, f32, 128, k> -> !hopper.inflight<vector<4xf32>>
  return
}

// -----

// inflight.ready C1
func.func @ready(%a: vector<4xf32>) {
  // expected-error @+1 {{expects a result in flight of 'vector<4xf32>', got '!hopper.inflight<vector<8xf32>>'}}
  %0 = hopper.inflight.ready %a : vector<4xf32> -> !hopper.inflight<vector<8xf32>>
  return
}

// -----

// wgmma.wait C1
func.func @wait(%g: !hopper.group) {
  // expected-error @+1 {{expects at least -1 pending groups, got -2}}
  hopper.wgmma.wait %g pending -2
  return
}

// -----

func.func @wait_fragment(%g: !hopper.group, %x: vector<4xf32>) {
  // expected-error @+1 {{expects fragments in flight, got 'vector<4xf32>'}}
  %0 = hopper.wgmma.wait %g inflight(%x : vector<4xf32>)
  return
}

// -----

// Fragments of one thread.

#acc = #hopper.fragment<[64, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>

// coord C1
func.func @coord_dim(%i: i32) {
  // expected-error @+1 {{expects dim (2) less than the rank of the fragment's tile (2)}}
  %0 = hopper.coord dim 2 offset %i of #acc : vector<4xi32>
  return
}

// -----

#acc = #hopper.fragment<[64, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>

// coord C2
func.func @coord_element(%i: i32) {
  // expected-error @+1 {{expects a result of i32, got 'vector<4xi64>'}}
  %0 = hopper.coord dim 1 offset %i of #acc : vector<4xi64>
  return
}

// -----

#acc = #hopper.fragment<[64, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>

// coord C2
func.func @coord_registers(%i: i32) {
  // expected-error @+1 {{expects a result of 4 elements, got 'vector<8xi32>'}}
  %0 = hopper.coord dim 1 offset %i of #acc : vector<8xi32>
  return
}

// -----

#acc = #hopper.fragment<[64, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>

// fragment.reduce C1
func.func @reduce_dim(%x: vector<4xf32>) {
  // expected-error @+1 {{expects dim (-1) less than the rank of the fragment's tile (2)}}
  %0 = hopper.fragment.reduce add %x dim -1 of #acc : vector<4xf32> -> vector<2xf32>
  return
}

// -----

#acc = #hopper.fragment<[64, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>

// fragment.reduce C2
func.func @reduce_operand(%x: vector<8xf32>) {
  // expected-error @+1 {{expects an operand of 4 elements, got 'vector<8xf32>'}}
  %0 = hopper.fragment.reduce add %x dim 1 of #acc : vector<8xf32> -> vector<2xf32>
  return
}

// -----

#acc = #hopper.fragment<[64, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>

// fragment.reduce C2
func.func @reduce_result(%x: vector<4xf32>) {
  // expected-error @+1 {{expects a result of 2 elements, got 'vector<4xf32>'}}
  %0 = hopper.fragment.reduce add %x dim 1 of #acc : vector<4xf32> -> vector<4xf32>
  return
}

// -----

#acc = #hopper.fragment<[64, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>

// fragment.reduce C2: with modulo 1 the two columns of a thread become one.
func.func @reduce_modulo_result(%x: vector<4xf32>) {
  // expected-error @+1 {{expects a result of 2 elements, got 'vector<4xf32>'}}
  %0 = hopper.fragment.reduce add %x dim 1 modulo 1 of #acc : vector<4xf32> -> vector<4xf32>
  return
}

// -----

#acc = #hopper.fragment<[64, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>

// fragment.reduce C2
func.func @reduce_element(%x: vector<4xf32>) {
  // expected-error @+1 {{expects operand and result of one element type, got 'f32' and 'f16'}}
  %0 = hopper.fragment.reduce add %x dim 1 of #acc : vector<4xf32> -> vector<2xf16>
  return
}

// -----

#acc = #hopper.fragment<[64, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>

// fragment.reduce C3
func.func @reduce_modulo(%x: vector<4xf32>) {
  // expected-error @+1 {{expects modulo (0) to divide the extent (8)}}
  %0 = hopper.fragment.reduce add %x dim 1 modulo 0 of #acc : vector<4xf32> -> vector<2xf32>
  return
}

// -----

// lane.reduce C1
func.func @lane_bits(%x: vector<2xf32>) {
  // expected-error @+1 {{expects lane bits between 0 and 4, got 5}}
  %0 = hopper.lane.reduce add %x over [0, 5] : vector<2xf32>
  return
}

// -----

// vote.any C1
func.func @vote(%x: vector<2xi8>) {
  // expected-error @+1 {{expects a vector of i1, got 'vector<2xi8>'}}
  %0 = hopper.vote.any %x : vector<2xi8>
  return
}

// -----

// warp_if C1
func.func @warp_if_yield(%c: i1, %x: f32, %y: f16) {
  // expected-error @+1 {{expects the region to yield values of the types of the results ('f32')}}
  %0 = hopper.warp_if %c else %x : f32 {
    hopper.yield %y : f16
  }
  return
}

// -----

// warp_if C2
func.func @warp_if_effects(%c: i1, %x: vector<2xf32>, %i: i32) {
  %0 = hopper.warp_if %c else %x : vector<2xf32> {
    // expected-error @+1 {{is not allowed in 'hopper.warp_if', which holds arithmetic of threads and lanes only}}
    hopper.named_barrier.sync %i threads 128
    hopper.yield %x : vector<2xf32>
  }
  return
}

// -----

func.func @warp_if_arguments(%c: i1, %x: f32) {
  // expected-error @+1 {{region should have no arguments}}
  %0 = "hopper.warp_if"(%c, %x) ({
  ^bb0(%y: f32):
    hopper.yield %y : f32
  }) : (i1, f32) -> f32
  return
}

// -----

// warp_if_else C1
func.func @warp_if_else_then(%c: i1, %x: f32, %y: f16) {
  // expected-error @+1 {{expects the region to yield values of the types of the results ('f32')}}
  %0 = hopper.warp_if_else %c : f32 {
    hopper.yield %y : f16
  } else {
    hopper.yield %x : f32
  }
  return
}

// -----

func.func @warp_if_else_else(%c: i1, %x: f32, %y: f16) {
  // expected-error @+1 {{expects the region to yield values of the types of the results ('f32')}}
  %0 = hopper.warp_if_else %c : f32 {
    hopper.yield %x : f32
  } else {
    hopper.yield %y : f16
  }
  return
}

// -----

// warp_if_else C2
func.func @warp_if_else_then_effects(%c: i1, %x: vector<2xf32>, %i: i32) {
  %0 = hopper.warp_if_else %c : vector<2xf32> {
    // expected-error @+1 {{is not allowed in 'hopper.warp_if_else', which holds arithmetic of threads and lanes only}}
    hopper.named_barrier.sync %i threads 128
    hopper.yield %x : vector<2xf32>
  } else {
    hopper.yield %x : vector<2xf32>
  }
  return
}

// -----

func.func @warp_if_else_else_effects(%c: i1, %x: vector<2xf32>, %i: i32) {
  %0 = hopper.warp_if_else %c : vector<2xf32> {
    hopper.yield %x : vector<2xf32>
  } else {
    // expected-error @+1 {{is not allowed in 'hopper.warp_if_else', which holds arithmetic of threads and lanes only}}
    hopper.named_barrier.sync %i threads 128
    hopper.yield %x : vector<2xf32>
  }
  return
}

// -----

func.func @warp_if_else_arguments(%c: i1, %x: f32) {
  // expected-error @+1 {{region #0 should have no arguments}}
  %0 = "hopper.warp_if_else"(%c) ({
  ^bb0(%y: f32):
    hopper.yield %y : f32
  }, {
    hopper.yield %x : f32
  }) : (i1) -> f32
  return
}

// -----

func.func @yield(%x: f32) {
  // expected-error @+1 {{'hopper.yield' op expects parent op to be one of 'hopper.tma.load, hopper.warp_if, hopper.warp_if_else'}}
  hopper.yield %x : f32
}

// -----

#acc = #hopper.fragment<[64, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>

// fragment.load C1
func.func @load_strides(%p: !llvm.ptr<1>, %i: i32, %s: i64) {
  // expected-error @+1 {{expects as many strides as indices (2), got 1}}
  %0 = hopper.fragment.load %p[%i, %i] strides(%s) bounds(%i, %i) of #acc : vector<4xf32>
  return
}

// -----

#acc = #hopper.fragment<[64, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>

// fragment.load C1
func.func @load_bounds(%p: !llvm.ptr<1>, %i: i32, %s: i64) {
  // expected-error @+1 {{expects one bound per dimension of the tile (2) and at least as many indices, got 1 and 2}}
  %0 = hopper.fragment.load %p[%i, %i] strides(%s, %s) bounds(%i) of #acc : vector<4xf32>
  return
}

// -----

#acc = #hopper.fragment<[64, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>

// fragment.load C1
func.func @load_indices(%p: !llvm.ptr<1>, %i: i32, %s: i64) {
  // expected-error @+1 {{expects one bound per dimension of the tile (2) and at least as many indices, got 2 and 1}}
  %0 = hopper.fragment.load %p[%i] strides(%s) bounds(%i, %i) of #acc : vector<4xf32>
  return
}

// -----

#acc = #hopper.fragment<[64, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>

// fragment.load C2
func.func @load_registers(%p: !llvm.ptr<1>, %i: i32, %s: i64) {
  // expected-error @+1 {{expects a value of 4 elements, got 'vector<2x2xf32>'}}
  %0 = hopper.fragment.load %p[%i, %i] strides(%s, %s) bounds(%i, %i) of #acc : vector<2x2xf32>
  return
}

// -----

#acc = #hopper.fragment<[64, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>

func.func @load_pointer(%p: !llvm.ptr, %i: i32, %s: i64) { // expected-note {{prior use here}}
  // expected-error @+1 {{use of value '%p' expects different type than prior uses: '!llvm.ptr<1>' vs '!llvm.ptr'}}
  %0 = hopper.fragment.load %p[%i, %i] strides(%s, %s) bounds(%i, %i) of #acc : vector<4xf32>
  return
}

// -----

#acc = #hopper.fragment<[64, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>

// fragment.store C1
func.func @store_strides(%x: vector<4xf32>, %p: !llvm.ptr<1>, %i: i32, %s: i64) {
  // expected-error @+1 {{expects as many strides as indices (2), got 3}}
  hopper.fragment.store %x, %p[%i, %i] strides(%s, %s, %s) bounds(%i, %i) of #acc : vector<4xf32>
  return
}

// -----

#acc = #hopper.fragment<[64, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>

// fragment.store C3
func.func @store_add(%x: vector<4xf16>, %p: !llvm.ptr<1>, %i: i32, %s: i64) {
  // expected-error @+1 {{expects elements of f32 or i32 with 'add', got 'f16'}}
  hopper.fragment.store %x, %p[%i, %i] strides(%s, %s) bounds(%i, %i) of #acc add : vector<4xf16>
  return
}

// -----

#acc = #hopper.fragment<[64, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>

// fragment.store C2
func.func @store_registers(%x: vector<3xf32>, %p: !llvm.ptr<1>, %i: i32, %s: i64) {
  // expected-error @+1 {{expects a value of 4 elements, got 'vector<3xf32>'}}
  hopper.fragment.store %x, %p[%i, %i] strides(%s, %s) bounds(%i, %i) of #acc : vector<3xf32>
  return
}

// -----

// gather C1
func.func @gather_bounds(%p: !llvm.ptr<1>, %i: vector<4xi32>, %s: i64) {
  // expected-error @+1 {{expects as many strides and bounds as indices (1), got 1 and 0}}
  %0 = hopper.gather %p[%i : vector<4xi32>] strides(%s) bounds() : vector<4xi32>
  return
}

// -----

// gather C2
func.func @gather_vector(%p: !llvm.ptr<1>, %i: vector<4xi32>, %n: i32, %s: i64) {
  // expected-error @+1 {{expects vectors of 8 i32 as indices, got 'vector<4xi32>'}}
  %0 = hopper.gather %p[%i : vector<4xi32>] strides(%s) bounds(%n) : vector<8xi32>
  return
}

// -----

#rows = #hopper.fragment<[64], reg = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[16], [32]], repeat = []>
// diagonal.reduce C1
func.func @diagonal_rows(%p: !llvm.ptr<1>, %v: vector<4xf32>, %w: vector<4xi32>, %i: i32, %s: i64) {
  // expected-error @+1 {{expects an accumulator of 64 rows, got }}
  %0 = hopper.diagonal.reduce add %v of #rows : vector<4xf32> -> vector<1xf32>
  return
}

// -----

#acc = #hopper.fragment<[64, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>
// diagonal.reduce C2
func.func @diagonal_operand(%p: !llvm.ptr<1>, %v: vector<4xf32>, %w: vector<4xi32>, %i: i32, %s: i64) {
  %1 = vector.broadcast %i : i32 to vector<8xi32>
  // expected-error @+2 {{expects an operand of 4 elements, got 'vector<8xf32>'}}
  %2 = arith.sitofp %1 : vector<8xi32> to vector<8xf32>
  %0 = hopper.diagonal.reduce add %2 of #acc : vector<8xf32> -> vector<1xf32>
  return
}

// -----

#acc = #hopper.fragment<[64, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>
// diagonal.reduce C2, result
func.func @diagonal_result(%p: !llvm.ptr<1>, %v: vector<4xf32>, %w: vector<4xi32>, %i: i32, %s: i64) {
  // expected-error @+1 {{expects a result of 1 elements, got 'vector<2xf32>'}}
  %0 = hopper.diagonal.reduce add %v of #acc : vector<4xf32> -> vector<2xf32>
  return
}

// -----

#acc = #hopper.fragment<[64, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>
// diagonal.reduce C3
func.func @diagonal_sum(%p: !llvm.ptr<1>, %v: vector<4xf32>, %w: vector<4xi32>, %i: i32, %s: i64) {
  // expected-error @+1 {{expects elements of f32 with 'add', got 'vector<4xi32>' and 'vector<1xi32>'}}
  %0 = hopper.diagonal.reduce add %w of #acc : vector<4xi32> -> vector<1xi32>
  return
}

// -----

#acc = #hopper.fragment<[64, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>
// diagonal.reduce C3, max
func.func @diagonal_max(%p: !llvm.ptr<1>, %v: vector<4xf32>, %w: vector<4xi32>, %i: i32, %s: i64) {
  // expected-error @+1 {{expects elements of i32 with 'max', got 'vector<4xf32>' and 'vector<1xf32>'}}
  %0 = hopper.diagonal.reduce max %v of #acc : vector<4xf32> -> vector<1xf32>
  return
}

// -----

// add_exact C1
func.func @add_exact_bounds(%p: !llvm.ptr<1>, %v: vector<4xf32>, %w: vector<4xi32>, %i: i32, %s: i64) {
  // expected-error @+1 {{expects as many strides and bounds as indices (1), got 1 and 0}}
  hopper.add_exact %v, %p[%w : vector<4xi32>] strides(%s) bounds() : vector<4xf32>
  return
}

// -----

// add_exact C2
func.func @add_exact_vector(%p: !llvm.ptr<1>, %v: vector<4xf32>, %w: vector<4xi32>, %i: i32, %s: i64) {
  // expected-error @+1 {{expects vectors of 4 i32 as indices, got 'vector<4xf32>'}}
  hopper.add_exact %v, %p[%v : vector<4xf32>] strides(%s) bounds(%i) : vector<4xf32>
  return
}

// -----

// add_exact C3
func.func @add_exact_element(%p: !llvm.ptr<1>, %v: vector<4xf32>, %w: vector<4xi32>, %i: i32, %s: i64) {
  // expected-error @+1 {{expects elements of f32, got 'vector<4xi32>'}}
  hopper.add_exact %w, %p[%w : vector<4xi32>] strides(%s) bounds(%i) : vector<4xi32>
  return
}

// -----

#rows = #hopper.fragment<[64], reg = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[16], [32]], repeat = []>
// load_exact C1
func.func @load_exact_bounds(%p: !llvm.ptr<1>, %v: vector<4xf32>, %w: vector<4xi32>, %i: i32, %s: i64) {
  // expected-error @+1 {{expects as many strides as indices, at least one, and one bound, got 1, 1 and 2}}
  %0 = hopper.load_exact %p[%i] strides(%s) bounds(%i, %i) of #rows : vector<2xf32>
  return
}

// -----

#acc = #hopper.fragment<[64, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>
// load_exact C2
func.func @load_exact_rank(%p: !llvm.ptr<1>, %v: vector<4xf32>, %w: vector<4xi32>, %i: i32, %s: i64) {
  // expected-error @+1 {{expects a fragment of rank 1 and elements of f32, got rank 2 and 'vector<4xf32>'}}
  %0 = hopper.load_exact %p[%i] strides(%s) bounds(%i) of #acc : vector<4xf32>
  return
}

// -----

#rows = #hopper.fragment<[64], reg = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[16], [32]], repeat = []>
// load_exact C2, registers
func.func @load_exact_registers(%p: !llvm.ptr<1>, %v: vector<4xf32>, %w: vector<4xi32>, %i: i32, %s: i64) {
  // expected-error @+1 {{expects a result of 2 elements, got 'vector<4xf32>'}}
  %0 = hopper.load_exact %p[%i] strides(%s) bounds(%i) of #rows : vector<4xf32>
  return
}

// -----

// search C1
func.func @search(%p: !llvm.ptr<1>, %i: i32, %s: i64) {
  // expected-error @+1 {{attribute 'most' failed to satisfy constraint: 64-bit signless integer attribute whose minimum value is 1 whose maximum value is 32768}}
  %0 = hopper.search %p stride %s from %i to %i below %i step %i most 40000
  return
}

// -----

// scalar_load C1
func.func @scalar_load(%p: !llvm.ptr<1>, %i: i32, %s: i64) {
  // expected-error @+1 {{expects as many strides as indices (1), got 2}}
  %0 = hopper.scalar_load %p[%i] strides(%s, %s) : i32
  return
}

// -----

#acc = #hopper.fragment<[64, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>

// smem.store C1
func.func @smem_store(%x: vector<4xf64>, %b: !hopper.buffer<1, tensor<64x64xf16>, 128>, %i: i32) {
  // expected-error @+1 {{expects elements of 8, 16 or 32 bits, got 'vector<4xf64>'}}
  hopper.smem.store %x to %b[%i, %i, %i] of #acc : vector<4xf64>, !hopper.buffer<1, tensor<64x64xf16>, 128>
  return
}

// -----

#acc = #hopper.fragment<[64, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>

// smem.load C1
func.func @smem_load_elements(%b: !hopper.buffer<1, tensor<64x64xf16>, 128>, %i: i32) {
  // expected-error @+1 {{expects elements of the buffer's type ('f16'), got 'vector<4xf32>'}}
  %0 = hopper.smem.load %b[%i, %i, %i] of #acc : !hopper.buffer<1, tensor<64x64xf16>, 128> -> vector<4xf32>
  return
}

// -----

#acc = #hopper.fragment<[64, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>

// smem.load C1
func.func @smem_load(%b: !hopper.buffer<1, tensor<64x64xf16>, 128>, %i: i32) {
  // expected-error @+1 {{expects a value of 4 elements, got 'vector<8xf16>'}}
  %0 = hopper.smem.load %b[%i, %i, %i] of #acc : !hopper.buffer<1, tensor<64x64xf16>, 128> -> vector<8xf16>
  return
}

// -----

#folded = #hopper.fragment<[8, 8, 64], reg = [[0, 0, 1]], lane = [[0, 0, 2], [0, 0, 4], [0, 1, 0], [0, 2, 0], [0, 4, 0]], warp = [], repeat = []>

// smem.store C1
func.func @smem_store_rank(%x: vector<2xf16>, %b: !hopper.buffer<1, tensor<64x64xf16>, 128>, %i: i32) {
  // expected-error @+1 {{expects a fragment of rank 1 or 2, got 3}}
  hopper.smem.store %x to %b[%i, %i, %i] of #folded : vector<2xf16>, !hopper.buffer<1, tensor<64x64xf16>, 128>
  return
}

// -----

#folded = #hopper.fragment<[8, 8, 64], reg = [[0, 0, 1]], lane = [[0, 0, 2], [0, 0, 4], [0, 1, 0], [0, 2, 0], [0, 4, 0]], warp = [], repeat = []>

// smem.load C1
func.func @smem_load_rank(%b: !hopper.buffer<1, tensor<64x64xf16>, 128>, %i: i32) {
  // expected-error @+1 {{expects a fragment of rank 1 or 2, got 3}}
  %0 = hopper.smem.load %b[%i, %i, %i] of #folded : !hopper.buffer<1, tensor<64x64xf16>, 128> -> vector<2xf16>
  return
}

// -----

// mailbox C1
// expected-error @+1 {{!hopper.mailbox expects at least 1 slot, got 0}}
func.func @no_slots(%box: !hopper.mailbox<0>) {
  return
}

// -----

// mailbox.alloc C1
func.func @mailbox_alignment() {
  // expected-error @+1 {{expects an offset that is a multiple of 8, got 4}}
  %0 = hopper.mailbox.alloc offset 4 : !hopper.mailbox<2>
  return
}

// -----

// mailbox.alloc C1
func.func @mailbox_end() {
  // expected-error @+1 {{expects 12 bytes at offset 232440 to end within the 232448 bytes of shared memory}}
  %0 = hopper.mailbox.alloc offset 232440 : !hopper.mailbox<3>
  return
}

// -----

// claim C1
func.func @claim(%counter: !llvm.ptr<1>, %n: i32) {
  warp.specialize {
    warp.group @load warps 2 replicas 3 (%g) {
      // expected-error @+1 {{expects a group of one warp and one replica, got 2 and 3}}
      %next = hopper.claim %counter after %n of %n
    }
  }
  return
}

// -----

// record C1
func.func @record_event(%p: i32, %buffer: !llvm.ptr<1>) {
  // expected-error @+1 {{expects an event between 0 and 65535, got 65536}}
  %next = hopper.record 65536 at %p in %buffer capacity 1024
  return
}

// -----

// record C2
func.func @record_capacity(%p: i32, %buffer: !llvm.ptr<1>) {
  // expected-error @+1 {{expects a capacity that is a power of two between 2 and 16777216, got 1000}}
  %next = hopper.record 0 at %p in %buffer capacity 1000
  return
}

// -----

// progress.pass C1
func.func @progress_strides(%p: !llvm.ptr<1>, %i: i32, %s: i64) {
  // expected-error @+1 {{expects as many strides as indices, at least two, got 1 and 2}}
  hopper.progress.pass %i at %p[%i, %i] strides(%s)
  return
}

// -----

// progress.pass C1, the number of a tile and of a replica
func.func @progress_indices(%p: !llvm.ptr<1>, %i: i32, %s: i64) {
  // expected-error @+1 {{expects as many strides as indices, at least two, got 1 and 1}}
  hopper.progress.pass %i at %p[%i] strides(%s)
  return
}

// -----

// flag.clear C1
func.func @flag_clear_strides(%f: !llvm.ptr<1>, %i: i32, %s: i64) {
  // expected-error @+1 {{expects as many strides as indices (1), got 2}}
  hopper.flag.clear %f[%i] strides(%s, %s)
  return
}

// -----

// flag.clear C2
func.func @flag_clear_group(%f: !llvm.ptr<1>, %i: i32, %s: i64) {
  warp.specialize {
    warp.group @math warps 4 (%g) {
      // expected-error @+1 {{expects to stand outside of groups, where all threads of the block pass}}
      hopper.flag.clear %f[%i] strides(%s)
    }
  }
  return
}

// -----

// flag.set C1
func.func @flag_set_strides(%f: !llvm.ptr<1>, %i: i32, %s: i64) {
  // expected-error @+1 {{expects as many strides as indices (2), got 1}}
  hopper.flag.set %f[%i, %i] strides(%s)
  return
}

// -----

// flag.set C2
func.func @flag_set_group(%f: !llvm.ptr<1>, %i: i32, %s: i64) {
  warp.specialize {
    warp.group @math warps 4 (%g) {
      // expected-error @+1 {{expects to stand outside of groups, where all threads of the block pass}}
      hopper.flag.set %f[%i] strides(%s)
    }
  }
  return
}

// -----

// flag.await C1
func.func @flag_await_strides(%f: !llvm.ptr<1>, %i: i32, %s: i64) {
  // expected-error @+1 {{expects as many strides as indices (0), got 1}}
  hopper.flag.await %f[] strides(%s) count %i step %s
  return
}

// -----

// flag.await C2
func.func @flag_await_group(%f: !llvm.ptr<1>, %i: i32, %s: i64) {
  warp.specialize {
    warp.group @math warps 4 (%g) {
      // expected-error @+1 {{expects to stand outside of groups, where all threads of the block pass}}
      hopper.flag.await %f[%i] strides(%s) count %i step %s
    }
  }
  return
}
