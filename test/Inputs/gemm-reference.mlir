// C = A x B^T in f32, element by element.
!a = memref<?x?xf16, strided<[?, 1]>>
func.func @gemm(%a: !a {tile.name = "a", tile.dims = ["m", "k"]},
                %b: !a {tile.name = "b", tile.dims = ["n", "k"]},
                %c: !a {tile.name = "c", tile.dims = ["m", "n"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %m = memref.dim %a, %c0 : !a
  %k = memref.dim %a, %c1 : !a
  %n = memref.dim %b, %c0 : !a
  scf.for %i = %c0 to %m step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %sum = scf.for %l = %c0 to %k step %c1 iter_args(%s = %zero) -> (f32) {
        %x = memref.load %a[%i, %l] : !a
        %y = memref.load %b[%j, %l] : !a
        %x32 = arith.extf %x : f16 to f32
        %y32 = arith.extf %y : f16 to f32
        %p = arith.mulf %x32, %y32 : f32
        %t = arith.addf %s, %p : f32
        scf.yield %t : f32
      }
      %out = arith.truncf %sum : f32 to f16
      memref.store %out, %c[%i, %j] : !a
    }
  }
  return
}
