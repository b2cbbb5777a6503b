// MLIR takes a lane of no operand; LLVM does not.
module attributes {gpu.container_module} {
  func.func @host() { return }

  gpu.module @kernels {
    llvm.func @lanes(%p: !llvm.ptr<1>) attributes {nvvm.kernel} {
      %x = llvm.load %p : !llvm.ptr<1> -> vector<4xi32>
      %y = llvm.shufflevector %x, %x [257, 0, 0, 0] : vector<4xi32>
      llvm.store %y, %p : vector<4xi32>, !llvm.ptr<1>
      llvm.return
    }
  }
}
