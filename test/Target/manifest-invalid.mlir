// RUN: %python %S/Inputs/verify.py %s %S/Inputs/kernels.mlir %t

// What a manifest cannot say about a host function.

// expected-error @below {{argument 0 has elements of type 'i7', which a manifest does not know}}
func.func @elements(%a: memref<?xi7>, %n: index) {
  hopper.launch @m::@none blocks %n threads 32 smem 0 args()
  return
}
// -----
// expected-error @below {{argument 0 expects identifiers in 'tile.dims', got ''}}
func.func @dims(%a: memref<?x?xf32> {tile.dims = ["n", ""]}, %n: index) {
  hopper.launch @m::@none blocks %n threads 32 smem 0 args()
  return
}
// -----
// expected-error @below {{argument 0 expects strides, got 'memref<?x?xf32, affine_map<(d0, d1) -> (d0 floordiv 2, d1)>>'}}
func.func @strides(%a: memref<?x?xf32, affine_map<(i, j) -> (i floordiv 2, j)>>, %n: index) {
  hopper.launch @m::@none blocks %n threads 32 smem 0 args()
  return
}
// -----
// expected-error @below {{argument 1 expects an identifier as its name, got '2n'}}
func.func @name(%a: index, %n: index {tile.name = "2n"}) {
  hopper.launch @m::@none blocks %n threads 32 smem 0 args()
  return
}
// -----
// expected-error @below {{argument 0 expects an identifier as its name, got 'device'}}
func.func @reserved(%n: index {tile.name = "device"}) {
  hopper.launch @m::@none blocks %n threads 32 smem 0 args()
  return
}
// -----
// expected-error @below {{argument 1 has the name of another one, 'n'}}
func.func @taken(%a: index {tile.name = "n"}, %n: index {tile.name = "n"}) {
  hopper.launch @m::@none blocks %n threads 32 smem 0 args()
  return
}
// -----
// expected-error @below {{argument 0 expects a memref or a scalar of f32, i32, i64 or index, got 'f64'}}
func.func @scalar(%a: f64, %n: index) {
  hopper.launch @m::@none blocks %n threads 32 smem 0 args()
  return
}
// -----
func.func @unmarked(%a: memref<?xf32>, %n: index) {
  %p = hopper.address %a : memref<?xf32>
  // expected-error @below {{expects argument 0 of its kernel to have 'hopper.access' (see convert-hopper-to-nvvm)}}
  hopper.launch @m::@unmarked blocks %n threads 32 smem 0 args(%p : !llvm.ptr<1>)
  return
}
// -----
func.func @computed(%a: f32, %n: index) {
  %b = arith.addf %a, %a : f32
  // expected-error @below {{expects operand 0 of type f32 to be an argument of the host function}}
  hopper.launch @m::@f32 blocks %n threads 32 smem 0 args(%b : f32)
  return
}
// -----
func.func @wide(%n: index) {
  %x = arith.constant 1.0 : f64
  // expected-error @below {{operand 0 of type 'f64' has no place in a manifest}}
  hopper.launch @m::@f64 blocks %n threads 32 smem 0 args(%x : f64)
  return
}
// -----
// expected-error @below {{expects straight-line code, got 2 blocks}}
func.func @blocks(%n: index) {
  hopper.launch @m::@none blocks %n threads 32 smem 0 args()
  cf.br ^end
^end:
  return
}
// -----
func.func @result(%n: index) -> index {
  hopper.launch @m::@none blocks %n threads 32 smem 0 args()
  // expected-error @below {{expects a host function without results}}
  return %n : index
}
// -----
func.func @effect(%a: memref<?xf32>, %n: index, %x: f32) {
  hopper.launch @m::@none blocks %n threads 32 smem 0 args()
  // expected-error @below {{has no place in a manifest}}
  memref.store %x, %a[%n] : memref<?xf32>
  return
}
// -----
// expected-error @unknown {{has several host functions, choose one}}
module {
func.func @one(%n: index) {
  hopper.launch @m::@none blocks %n threads 32 smem 0 args()
  return
}
func.func @two(%n: index) {
  hopper.launch @m::@none blocks %n threads 32 smem 0 args()
  return
}
gpu.module @m {
  llvm.func @none() attributes {nvvm.kernel} {
    llvm.return
  }
}
}
// -----
// Formulas.
func.func @view(%a: memref<?x?xf32, strided<[?, 1]>>, %n: index) {
  // expected-error @below {{is no view that a manifest can describe (memref.transpose, memref.cast, memref.expand_shape into parts of which the first alone is dynamic)}}
  %b = memref.subview %a[0, 0] [4, 4] [1, 1] : memref<?x?xf32, strided<[?, 1]>> to memref<4x4xf32, strided<[?, 1]>>
  %p = hopper.address %b : memref<4x4xf32, strided<[?, 1]>>
  hopper.launch @m::@pointer blocks %n threads 32 smem 0 args(%p : !llvm.ptr<1>)
  return
}
// -----
func.func @sign(%n: index, %m: index) {
  // expected-error @below {{has no formula: operand 0 may be negative}}
  %b = arith.divsi %n, %m : index
  hopper.launch @m::@none blocks %b threads 32 smem 0 args()
  return
}
// -----
func.func @unsigned(%n: index, %m: index) {
  // expected-error @below {{has no formula: operand 0 may be negative}}
  %b = arith.cmpi ult, %n, %m : index
  cf.assert %b, "n and m"
  hopper.launch @m::@none blocks %n threads 32 smem 0 args()
  return
}
// -----
func.func @float(%x: f32, %n: index) {
  // expected-error @below {{has no formula: f32 scalars have no arithmetic}}
  %y = arith.addf %x, %x : f32
  %b = arith.cmpf olt, %x, %y : f32
  cf.assert %b, "x"
  hopper.launch @m::@none blocks %n threads 32 smem 0 args()
  return
}
// -----
func.func @unordered(%x: f32, %n: index) {
  // expected-error @below {{has no formula: it is true for a NaN}}
  %b = arith.cmpf ult, %x, %x : f32
  cf.assert %b, "x"
  hopper.launch @m::@none blocks %n threads 32 smem 0 args()
  return
}
// -----
func.func @base(%a: memref<?xf32>, %n: index) {
  %base, %offset, %size, %stride = memref.extract_strided_metadata %a : memref<?xf32> -> memref<f32>, index, index, index
  // expected-error @below {{is no view that a manifest can describe}}
  %b = memref.reinterpret_cast %base to offset: [0], sizes: [4], strides: [1] : memref<f32> to memref<4xf32, strided<[1]>>
  %p = hopper.address %b : memref<4xf32, strided<[1]>>
  hopper.launch @m::@pointer blocks %n threads 32 smem 0 args(%p : !llvm.ptr<1>)
  return
}
// -----
func.func @dim(%a: memref<?x?xf32>, %n: index) {
  // expected-error @below {{has no formula: its index is no constant}}
  %b = memref.dim %a, %n : memref<?x?xf32>
  hopper.launch @m::@none blocks %b threads 32 smem 0 args()
  return
}
// -----
func.func @bits(%n: index, %m: index) {
  // expected-error @below {{has no formula on 'index'}}
  %b = arith.andi %n, %m : index
  hopper.launch @m::@none blocks %b threads 32 smem 0 args()
  return
}
// -----
func.func @shift(%n: index, %m: index) {
  // expected-error @below {{has no formula in a manifest}}
  %b = arith.shli %n, %m : index
  hopper.launch @m::@none blocks %b threads 32 smem 0 args()
  return
}
// -----
func.func @workspace_type(%n: index) {
  // expected-error @below {{has elements of type 'i4', which a manifest does not know}}
  %w = memref.alloc(%n) : memref<?xi4>
  hopper.launch @m::@none blocks %n threads 32 smem 0 args()
  return
}
// -----
func.func @workspace_name(%n: index) {
  // expected-error @below {{expects an identifier as the name of a workspace, got 'a b'}}
  %w = memref.alloc(%n) {tile.name = "a b"} : memref<?xf32>
  hopper.launch @m::@none blocks %n threads 32 smem 0 args()
  return
}
// -----
func.func @workspace_layout(%n: index) {
  // expected-error @below {{has no place in a manifest: workspaces are contiguous}}
  %w = memref.alloc(%n) : memref<?x8xf32, strided<[16, 1]>>
  hopper.launch @m::@none blocks %n threads 32 smem 0 args()
  return
}
// -----
func.func @choice_with_results(%n: index) {
  %c = arith.cmpi eq, %n, %n : index
  // expected-error @below {{has no place in a manifest: expects no results}}
  %m = scf.if %c -> index {
    scf.yield %n : index
  } else {
    scf.yield %n : index
  }
  hopper.launch @m::@none blocks %m threads 32 smem 0 args()
  return
}
// -----
func.func @float_choice(%n: index, %x: f32) {
  // expected-error @below {{has no formula: it is true for a NaN}}
  %c = arith.cmpf une, %x, %x : f32
  scf.if %c {
    hopper.launch @m::@none blocks %n threads 32 smem 0 args()
  }
  return
}
