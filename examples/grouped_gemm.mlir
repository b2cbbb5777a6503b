// A product for every group of rows, as a layer of experts has them: C = A x B^T
// in fp16 with fp32 accumulation, where B is that of the group. Which tiles there
// are stands in memory: entry e of the list of work has rows `row[e]` up to
// `end[e]`, at most 128, of group `group[e]`, and `count[0]` entries are there.
// Only the kernel knows how many: a CTA on every SM claims one after the other.
// Entries should come with the longest first; here all take the same time.
!a = memref<?x?xf16, strided<[?, 1]>>
!b = memref<?x?x?xf16, strided<[?, ?, 1]>>
!n = memref<?xi32>

func.func @grouped_gemm(%a: !a {tile.name = "a", tile.dims = ["m", "k"]},
                        %b: !b {tile.name = "b", tile.dims = ["groups", "n", "k"]},
                        %group: !n {tile.name = "group", tile.dims = ["entries"]},
                        %row: !n {tile.name = "row", tile.dims = ["entries"]},
                        %end: !n {tile.name = "end", tile.dims = ["entries"]},
                        %count: !n {tile.name = "count", tile.dims = ["one"]},
                        %c: !a {tile.name = "c", tile.dims = ["m", "n"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = memref.dim %count, %c0 : !n
  %isThere = arith.cmpi sge, %one, %c1 : index
  cf.assert %isThere, "there is no count"
  %rows = memref.dim %a, %c0 : !a
  %rowsOfC = memref.dim %c, %c0 : !a
  %same = arith.cmpi eq, %rows, %rowsOfC : index
  cf.assert %same, "a and c differ in rows"
  tile.launch @kernels::@grouped_gemm args(%a, %b, %group, %row, %end, %count, %c : !a, !b, !n, !n, !n, !n, !a)
  return
}

gpu.module @kernels {
  gpu.func @grouped_gemm(%a: !a, %b: !b, %groups: !n, %rows: !n, %ends: !n, %counts: !n, %c: !a) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bm = arith.constant 128 : index
    %bn = arith.constant 64 : index
    %m = memref.dim %a, %c0 : !a
    %k = memref.dim %a, %c1 : !a
    %n = memref.dim %b, %c1 : !b
    %room = memref.dim %groups, %c0 : !n
    %nt = arith.ceildivsi %n, %bn : index
    %kt = arith.ceildivsi %k, %bn : index
    // Whatever memory holds, nothing is read behind the list, or written behind
    // the rows.
    %count32 = tile.scalar_load %counts[%c0] : !n
    %counted = arith.index_cast %count32 : i32 to index
    %count = arith.minsi %counted, %room : index
    tile.grid (%j, %e) in (%nt, %count) {
      %g32 = tile.scalar_load %groups[%e] : !n
      %row32 = tile.scalar_load %rows[%e] : !n
      %end32 = tile.scalar_load %ends[%e] : !n
      %g = arith.index_cast %g32 : i32 to index
      %i0 = arith.index_cast %row32 : i32 to index
      %end = arith.index_cast %end32 : i32 to index
      %j0 = arith.muli %j, %bn : index
      %zero = arith.constant dense<0.0> : tensor<128x64xf32>
      %acc = scf.for %t = %c0 to %kt step %c1 iter_args(%sum = %zero) -> (tensor<128x64xf32>) {
        %k0 = arith.muli %t, %bn : index
        %x = tile.load %a[%i0, %k0] : !a -> tensor<128x64xf16>
        %y = tile.load %b[%g, %j0, %k0] : !b -> tensor<64x64xf16>
        %next = tile.dot %x, %y, %sum lhs mk rhs nk : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
        scf.yield %next : tensor<128x64xf32>
      }
      %out = arith.truncf %acc : tensor<128x64xf32> to tensor<128x64xf16>
      tile.store %out, %c[%i0, %j0] below %end : tensor<128x64xf16>, !a
    }
    gpu.return
  }
}
