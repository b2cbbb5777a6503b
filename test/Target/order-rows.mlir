// Two rows in one vector: each has an exchange between lanes and two exponentials
// behind it. One row after the other, the first row's exponentials come before
// the second row's exchange; as it is written, both exchanges come first.

// RUN: fa3-translate --mlir-to-llvmir --no-manifest --opt=rows %s -o - | FileCheck %s --check-prefix=ROWS
// RUN: fa3-translate --mlir-to-llvmir --no-manifest --opt=none %s -o - | FileCheck %s --check-prefix=NONE

// ROWS-LABEL: define {{.*}} @rows(
// ROWS: shfl.sync.bfly
// ROWS: call {{.*}}float @llvm.exp2.f32
// ROWS: call {{.*}}float @llvm.exp2.f32
// ROWS: shfl.sync.bfly
// ROWS: call {{.*}}float @llvm.exp2.f32
// ROWS: call {{.*}}float @llvm.exp2.f32

// NONE-LABEL: define {{.*}} @rows(
// NONE: shfl.sync.bfly
// NONE: shfl.sync.bfly
// NONE: call <4 x float> @llvm.exp2.v4f32

// Remainders of coordinates: none is derived from another one, which would have
// to stay alive. Those by a power of two are no products.
// ROWS-LABEL: define {{.*}} @remainders(
// ROWS-COUNT-4: freeze i32
// ROWS: srem i32 {{.*}}, 40
// ROWS-LABEL: define {{.*}} @powers(
// ROWS-NOT: freeze
// ROWS: srem i32 {{.*}}, 32

// Numbers made of vectors of coordinates: left alone.
// ROWS-LABEL: define {{.*}} @numbers(
// ROWS: sitofp <4 x i32>

module attributes {gpu.container_module} {
  func.func @host() { return }
  gpu.module @kernels {
    llvm.func @rows(%p: !llvm.ptr<1>) attributes {nvvm.kernel} {
      %all = llvm.mlir.constant(-1 : i32) : i32
      %one = llvm.mlir.constant(1 : i32) : i32
      %mask = llvm.mlir.constant(31 : i32) : i32
      %i0 = llvm.mlir.constant(0 : i32) : i32
      %i2 = llvm.mlir.constant(2 : i32) : i32
      %x = llvm.load %p : !llvm.ptr<1> -> vector<4xf32>
      %a = llvm.extractelement %x[%i0 : i32] : vector<4xf32>
      %b = llvm.extractelement %x[%i2 : i32] : vector<4xf32>
      %ma = nvvm.shfl.sync bfly %all, %a, %one, %mask : f32 -> f32
      %mb = nvvm.shfl.sync bfly %all, %b, %one, %mask : f32 -> f32
      %u = llvm.mlir.poison : vector<2xf32>
      %v = llvm.insertelement %ma, %u[%i0 : i32] : vector<2xf32>
      %w = llvm.insertelement %mb, %v[%one : i32] : vector<2xf32>
      %m = llvm.shufflevector %w, %w [0, 0, 1, 1] : vector<2xf32>
      %d = llvm.fsub %x, %m : vector<4xf32>
      %e = llvm.intr.exp2(%d) : (vector<4xf32>) -> vector<4xf32>
      llvm.store %e, %p : vector<4xf32>, !llvm.ptr<1>
      llvm.return
    }
    llvm.func @remainders(%p: !llvm.ptr<1>, %x: i32) attributes {nvvm.kernel} {
      %zero = llvm.mlir.constant(0 : i32) : i32
      %columns = llvm.mlir.constant(dense<[0, 1, 8, 9]> : vector<4xi32>) : vector<4xi32>
      %by = llvm.mlir.constant(dense<40> : vector<4xi32>) : vector<4xi32>
      %u = llvm.mlir.poison : vector<4xi32>
      %v = llvm.insertelement %x, %u[%zero : i32] : vector<4xi32>
      %first = llvm.shufflevector %v, %u [0, 0, 0, 0] : vector<4xi32>
      %j = llvm.add %first, %columns : vector<4xi32>
      %r = llvm.srem %j, %by : vector<4xi32>
      llvm.store %r, %p : vector<4xi32>, !llvm.ptr<1>
      llvm.return
    }
    llvm.func @powers(%p: !llvm.ptr<1>, %x: i32) attributes {nvvm.kernel} {
      %zero = llvm.mlir.constant(0 : i32) : i32
      %columns = llvm.mlir.constant(dense<[0, 1, 8, 9]> : vector<4xi32>) : vector<4xi32>
      %by = llvm.mlir.constant(dense<32> : vector<4xi32>) : vector<4xi32>
      %u = llvm.mlir.poison : vector<4xi32>
      %v = llvm.insertelement %x, %u[%zero : i32] : vector<4xi32>
      %first = llvm.shufflevector %v, %u [0, 0, 0, 0] : vector<4xi32>
      %j = llvm.add %first, %columns : vector<4xi32>
      %r = llvm.srem %j, %by : vector<4xi32>
      llvm.store %r, %p : vector<4xi32>, !llvm.ptr<1>
      llvm.return
    }
    llvm.func @numbers(%p: !llvm.ptr<1>) attributes {nvvm.kernel} {
      %x = llvm.load %p : !llvm.ptr<1> -> vector<4xi32>
      %f = llvm.sitofp %x : vector<4xi32> to vector<4xf32>
      llvm.store %f, %p : vector<4xf32>, !llvm.ptr<1>
      llvm.return
    }
  }
}
