// Elements of A x B^T, summed by code of their row and column, and by their
// difference.
!a = memref<?x?xf16, strided<[?, 1]>>
!o = memref<?xf32>
func.func @sums(%a: !a {tile.name = "a", tile.dims = ["m", "k"]}, %b: !a {tile.name = "b", tile.dims = ["n", "k"]},
                %by_code: !o {tile.name = "by_code", tile.dims = ["s"]}, %by_diagonal: !o {tile.name = "by_diagonal", tile.dims = ["t"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c50 = arith.constant 50 : index
  %zero = arith.constant 0.0 : f32
  %m = memref.dim %a, %c0 : !a
  %k = memref.dim %a, %c1 : !a
  %n = memref.dim %b, %c0 : !a
  %s = memref.dim %by_code, %c0 : !o
  %t = memref.dim %by_diagonal, %c0 : !o
  scf.for %i = %c0 to %s step %c1 {
    memref.store %zero, %by_code[%i] : !o
  }
  scf.for %i = %c0 to %t step %c1 {
    memref.store %zero, %by_diagonal[%i] : !o
  }
  scf.for %i = %c0 to %m step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %x = scf.for %l = %c0 to %k step %c1 iter_args(%p = %zero) -> (f32) {
        %u = memref.load %a[%i, %l] : !a
        %v = memref.load %b[%j, %l] : !a
        %u32 = arith.extf %u : f16 to f32
        %v32 = arith.extf %v : f16 to f32
        %uv = arith.mulf %u32, %v32 : f32
        %next = arith.addf %p, %uv : f32
        scf.yield %next : f32
      }
      %triple = arith.muli %i, %c3 : index
      %mixed = arith.addi %triple, %j : index
      %code = arith.remui %mixed, %s : index
      %of_code = memref.load %by_code[%code] : !o
      %next_code = arith.addf %of_code, %x : f32
      memref.store %next_code, %by_code[%code] : !o
      %difference = arith.subi %i, %j : index
      %diagonal = arith.addi %difference, %c50 : index
      %is_inside = arith.cmpi ult, %diagonal, %t : index
      scf.if %is_inside {
        %of_diagonal = memref.load %by_diagonal[%diagonal] : !o
        %next_diagonal = arith.addf %of_diagonal, %x : f32
        memref.store %next_diagonal, %by_diagonal[%diagonal] : !o
      }
    }
  }
  return
}
