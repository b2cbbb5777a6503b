// C = A x B^T for the rows of every entry, element by element.
!a = memref<?x?xf16, strided<[?, 1]>>
!b = memref<?x?x?xf16, strided<[?, ?, 1]>>
!n = memref<?xi32>
func.func @grouped_gemm(%a: !a {tile.name = "a", tile.dims = ["m", "k"]}, %b: !b {tile.name = "b", tile.dims = ["groups", "n", "k"]},
                        %groups: !n {tile.name = "group", tile.dims = ["entries"]}, %rows: !n {tile.name = "row", tile.dims = ["entries"]},
                        %ends: !n {tile.name = "end", tile.dims = ["entries"]}, %counts: !n {tile.name = "count", tile.dims = ["one"]},
                        %c: !a {tile.name = "c", tile.dims = ["m", "n"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %k = memref.dim %a, %c1 : !a
  %n = memref.dim %b, %c1 : !b
  %count32 = memref.load %counts[%c0] : !n
  %count = arith.index_cast %count32 : i32 to index
  scf.for %e = %c0 to %count step %c1 {
    %g32 = memref.load %groups[%e] : !n
    %row32 = memref.load %rows[%e] : !n
    %end32 = memref.load %ends[%e] : !n
    %g = arith.index_cast %g32 : i32 to index
    %first = arith.index_cast %row32 : i32 to index
    %end = arith.index_cast %end32 : i32 to index
    scf.for %i = %first to %end step %c1 {
      scf.for %j = %c0 to %n step %c1 {
        %sum = scf.for %l = %c0 to %k step %c1 iter_args(%p = %zero) -> (f32) {
          %x = memref.load %a[%i, %l] : !a
          %y = memref.load %b[%g, %j, %l] : !b
          %x32 = arith.extf %x : f16 to f32
          %y32 = arith.extf %y : f16 to f32
          %xy = arith.mulf %x32, %y32 : f32
          %t = arith.addf %p, %xy : f32
          scf.yield %t : f32
        }
        %out = arith.truncf %sum : f32 to f16
        memref.store %out, %c[%i, %j] : !a
      }
    }
  }
  return
}
