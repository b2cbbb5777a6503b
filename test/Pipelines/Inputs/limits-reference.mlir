// The product of the columns of a and the rows of b of every segment, element by element.
!a = memref<?x?xf16, strided<[?, 1]>>
!b = memref<?x64xf16, strided<[?, 1]>>
!c = memref<?x?x64xf32, strided<[?, ?, 1]>>
func.func @segments(%a: !a {tile.name = "a", tile.dims = ["m", "k"]}, %b: !b {tile.name = "b", tile.dims = ["r", "n"]},
                    %ends: memref<?xi32> {tile.name = "ends", tile.dims = ["s1"]}, %c: !c {tile.name = "c", tile.dims = ["s", "m", "n"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %m = memref.dim %a, %c0 : !a
  %k = memref.dim %a, %c1 : !a
  %s = memref.dim %c, %c0 : !c
  scf.for %g = %c0 to %s step %c1 {
    %g1 = arith.addi %g, %c1 : index
    %first32 = memref.load %ends[%g] : memref<?xi32>
    %end32 = memref.load %ends[%g1] : memref<?xi32>
    %first = arith.index_cast %first32 : i32 to index
    %end = arith.index_cast %end32 : i32 to index
    %length = arith.subi %end, %first : index
    %count = arith.minsi %length, %k : index
    scf.for %i = %c0 to %m step %c1 {
      scf.for %j = %c0 to %c64 step %c1 {
        %sum = scf.for %l = %c0 to %count step %c1 iter_args(%p = %zero) -> (f32) {
          %row = arith.addi %first, %l : index
          %x = memref.load %a[%i, %l] : !a
          %y = memref.load %b[%row, %j] : !b
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
