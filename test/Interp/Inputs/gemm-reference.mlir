// C = A * B in f32, element by element.
func.func @gemm(%a: memref<?x?xf16> {tile.name = "a", tile.dims = ["m", "k"]},
                %b: memref<?x?xf16, strided<[?, ?]>> {tile.name = "b", tile.dims = ["k", "n"]},
                %c: memref<?x?xf32> {tile.name = "c", tile.dims = ["m", "n"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %m = memref.dim %a, %c0 : memref<?x?xf16>
  %k = memref.dim %a, %c1 : memref<?x?xf16>
  %n = memref.dim %b, %c1 : memref<?x?xf16, strided<[?, ?]>>
  scf.for %i = %c0 to %m step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %sum = scf.for %l = %c0 to %k step %c1 iter_args(%s = %zero) -> (f32) {
        %x = memref.load %a[%i, %l] : memref<?x?xf16>
        %y = memref.load %b[%l, %j] : memref<?x?xf16, strided<[?, ?]>>
        %x32 = arith.extf %x : f16 to f32
        %y32 = arith.extf %y : f16 to f32
        %p = arith.mulf %x32, %y32 : f32
        %t = arith.addf %s, %p : f32
        scf.yield %t : f32
      }
      memref.store %sum, %c[%i, %j] : memref<?x?xf32>
    }
  }
  return
}
