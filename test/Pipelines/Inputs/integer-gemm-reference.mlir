// C = A x B^T of integers, element by element.
!a = memref<?x?xi8, strided<[?, 1]>>
!c = memref<?x?xi32, strided<[?, 1]>>
func.func @gemm(%a: !a {tile.name = "a", tile.dims = ["m", "k"]},
                %b: !a {tile.name = "b", tile.dims = ["n", "k"]},
                %c: !c {tile.name = "c", tile.dims = ["m", "n"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %m = memref.dim %a, %c0 : !a
  %k = memref.dim %a, %c1 : !a
  %n = memref.dim %b, %c0 : !a
  scf.for %i = %c0 to %m step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %sum = scf.for %l = %c0 to %k step %c1 iter_args(%s = %zero) -> (i32) {
        %x = memref.load %a[%i, %l] : !a
        %y = memref.load %b[%j, %l] : !a
        %x32 = arith.extsi %x : i8 to i32
        %y32 = arith.extsi %y : i8 to i32
        %p = arith.muli %x32, %y32 : i32
        %t = arith.addi %s, %p : i32
        scf.yield %t : i32
      }
      memref.store %sum, %c[%i, %j] : !c
    }
  }
  return
}
