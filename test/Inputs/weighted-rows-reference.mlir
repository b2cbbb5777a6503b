// y = ((a b^T) * w) b, sums in f64, the weighted product rounded to bf16.
!a = memref<?x64xbf16, strided<[?, 1]>>
!w = memref<?xf32, strided<[1]>>
func.func @weighted_rows(%a: !a {tile.name = "a", tile.dims = ["m", "k"]},
                         %b: !a {tile.name = "b", tile.dims = ["n", "k"]},
                         %w: !w {tile.name = "w", tile.dims = ["n"]},
                         %y: !a {tile.name = "y", tile.dims = ["m", "k"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f64
  %m = memref.dim %a, %c0 : !a
  %n = memref.dim %b, %c0 : !a
  %row = memref.alloc(%n) : memref<?xf64>
  scf.for %i = %c0 to %m step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %s = scf.for %l = %c0 to %c64 step %c1 iter_args(%sum = %zero) -> (f64) {
        %x = memref.load %a[%i, %l] : !a
        %z = memref.load %b[%j, %l] : !a
        %x64 = arith.extf %x : bf16 to f64
        %z64 = arith.extf %z : bf16 to f64
        %p = arith.mulf %x64, %z64 : f64
        %t = arith.addf %sum, %p : f64
        scf.yield %t : f64
      }
      %u = memref.load %w[%j] : !w
      %u64 = arith.extf %u : f32 to f64
      %weighted = arith.mulf %s, %u64 : f64
      %rounded = arith.truncf %weighted : f64 to bf16
      %wide = arith.extf %rounded : bf16 to f64
      memref.store %wide, %row[%j] : memref<?xf64>
    }
    scf.for %e = %c0 to %c64 step %c1 {
      %o = scf.for %j = %c0 to %n step %c1 iter_args(%sum = %zero) -> (f64) {
        %p = memref.load %row[%j] : memref<?xf64>
        %z = memref.load %b[%j, %e] : !a
        %z64 = arith.extf %z : bf16 to f64
        %x = arith.mulf %p, %z64 : f64
        %t = arith.addf %sum, %x : f64
        scf.yield %t : f64
      }
      %out = arith.truncf %o : f64 to bf16
      memref.store %out, %y[%i, %e] : !a
    }
  }
  return
}
