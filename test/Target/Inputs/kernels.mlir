gpu.module @m {
  llvm.func @none() attributes {nvvm.kernel} {
    llvm.return
  }
  llvm.func @f32(%x: f32) attributes {nvvm.kernel} {
    llvm.return
  }
  llvm.func @i32(%x: i32) attributes {nvvm.kernel} {
    llvm.return
  }
  llvm.func @f64(%x: f64) attributes {nvvm.kernel} {
    llvm.return
  }
  llvm.func @pointer(%x: !llvm.ptr<1> {hopper.access = "read"}) attributes {nvvm.kernel} {
    llvm.return
  }
  llvm.func @unmarked(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
    llvm.return
  }
}
