// C = (A x B^T) x V, the inner product rounded to bf16, sums in f64.
!ab = memref<?x96xbf16, strided<[?, 1]>>
!vc = memref<?x64xbf16, strided<[?, 1]>>
func.func @chain(%a: !ab {tile.name = "a", tile.dims = ["m", "d"]},
                 %b: !ab {tile.name = "b", tile.dims = ["n", "d"]},
                 %v: !vc {tile.name = "v", tile.dims = ["n", "e"]},
                 %c: !vc {tile.name = "c", tile.dims = ["m", "e"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c96 = arith.constant 96 : index
  %zero = arith.constant 0.0 : f64
  %m = memref.dim %a, %c0 : !ab
  %n = memref.dim %b, %c0 : !ab
  %row = memref.alloc(%n) : memref<?xf64>
  scf.for %i = %c0 to %m step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %s = scf.for %l = %c0 to %c96 step %c1 iter_args(%sum = %zero) -> (f64) {
        %x = memref.load %a[%i, %l] : !ab
        %y = memref.load %b[%j, %l] : !ab
        %x64 = arith.extf %x : bf16 to f64
        %y64 = arith.extf %y : bf16 to f64
        %p = arith.mulf %x64, %y64 : f64
        %t = arith.addf %sum, %p : f64
        scf.yield %t : f64
      }
      %rounded = arith.truncf %s : f64 to bf16
      %wide = arith.extf %rounded : bf16 to f64
      memref.store %wide, %row[%j] : memref<?xf64>
    }
    scf.for %e = %c0 to %c64 step %c1 {
      %o = scf.for %j = %c0 to %n step %c1 iter_args(%sum = %zero) -> (f64) {
        %p = memref.load %row[%j] : memref<?xf64>
        %z = memref.load %v[%j, %e] : !vc
        %z64 = arith.extf %z : bf16 to f64
        %x = arith.mulf %p, %z64 : f64
        %t = arith.addf %sum, %x : f64
        scf.yield %t : f64
      }
      %out = arith.truncf %o : f64 to bf16
      memref.store %out, %c[%i, %e] : !vc
    }
  }
  return
}
