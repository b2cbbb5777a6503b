// C[s] = A x B^T over the blocks of k of segment s, element by element.
!a = memref<?x?xf16, strided<[?, 1]>>
!c = memref<?x?x?xf32, strided<[?, ?, 1]>>
func.func @ragged(%a: !a {tile.name = "a", tile.dims = ["m", "k"]}, %b: !a {tile.name = "b", tile.dims = ["n", "k"]},
                  %starts: memref<?xi32> {tile.name = "starts", tile.dims = ["s1"]}, %c: !c {tile.name = "c", tile.dims = ["s", "m", "n"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %m = memref.dim %a, %c0 : !a
  %n = memref.dim %b, %c0 : !a
  %s = memref.dim %c, %c0 : !c
  scf.for %g = %c0 to %s step %c1 {
    %g1 = arith.addi %g, %c1 : index
    %first32 = memref.load %starts[%g] : memref<?xi32>
    %end32 = memref.load %starts[%g1] : memref<?xi32>
    %firstBlock = arith.index_cast %first32 : i32 to index
    %endBlock = arith.index_cast %end32 : i32 to index
    %first = arith.muli %firstBlock, %c64 : index
    %end = arith.muli %endBlock, %c64 : index
    scf.for %i = %c0 to %m step %c1 {
      scf.for %j = %c0 to %n step %c1 {
        %sum = scf.for %l = %first to %end step %c1 iter_args(%p = %zero) -> (f32) {
          %x = memref.load %a[%i, %l] : !a
          %y = memref.load %b[%j, %l] : !a
          %x32 = arith.extf %x : f16 to f32
          %y32 = arith.extf %y : f16 to f32
          %xy = arith.mulf %x32, %y32 : f32
          %t = arith.addf %p, %xy : f32
          scf.yield %t : f32
        }
        memref.store %sum, %c[%g, %i, %j] : !c
      }
    }
  }
  return
}
