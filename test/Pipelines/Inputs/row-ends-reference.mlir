// C = A x B^T for the rows of every segment, element by element.
!a = memref<?x?xf16, strided<[?, 1]>>
!b = memref<?x?x?xf16, strided<[?, ?, 1]>>
func.func @segments(%a: !a {tile.name = "a", tile.dims = ["m", "k"]}, %b: !b {tile.name = "b", tile.dims = ["s", "n", "k"]},
                    %ends: memref<?xi32> {tile.name = "ends", tile.dims = ["s1"]}, %c: !a {tile.name = "c", tile.dims = ["m", "n"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %k = memref.dim %a, %c1 : !a
  %s = memref.dim %b, %c0 : !b
  %n = memref.dim %b, %c1 : !b
  scf.for %g = %c0 to %s step %c1 {
    %g1 = arith.addi %g, %c1 : index
    %first32 = memref.load %ends[%g] : memref<?xi32>
    %end32 = memref.load %ends[%g1] : memref<?xi32>
    %first = arith.index_cast %first32 : i32 to index
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
