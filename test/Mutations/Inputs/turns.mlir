// Two groups take turns, as ping-pong schedules do: a turn is a token, and the
// one of the first group is there from the start. Each adds up its half of the
// rows of every block of x, in its turn.
!first = !flow.ring<1, [!flow.token], initial = 1>
!second = !flow.ring<1, [!flow.token]>
!x = memref<?x?xf32>
!tile = tensor<64x16xf32>
gpu.module @kernels {
  gpu.func @turns(%x: !x, %sum: !x, %blocks: index) kernel {
    %ofA = flow.ring : !first
    %ofB = flow.ring : !second
    flow.specialize {
      flow.group @a warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c16 = arith.constant 16 : index
        %zero = arith.constant dense<0.0> : !tile
        %take = flow.cursor read %ofA : !first
        %pass = flow.cursor write %ofB : !second
        %end:3 = scf.for %i = %c0 to %blocks step %c1 iter_args(%t = %take, %p = %pass, %acc = %zero) -> (!flow.cursor<read>, !flow.cursor<write>, !tile) {
          %column = arith.muli %i, %c16 : index
          %turn, %t1 = flow.acquire %ofA[%t] : !first, !flow.cursor<read>
          %part = tile.load %x[%c0, %column] : !x -> !tile
          %next = arith.addf %acc, %part : !tile
          flow.release %turn : !flow.slot<read, [!flow.token]>
          %other, %p1 = flow.acquire %ofB[%p] : !second, !flow.cursor<write>
          flow.publish %other : !flow.slot<write, [!flow.token]>
          scf.yield %t1, %p1, %next : !flow.cursor<read>, !flow.cursor<write>, !tile
        }
        tile.store %end#2, %sum[%c0, %c0] : !tile, !x
      }
      flow.group @b warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c16 = arith.constant 16 : index
        %c64 = arith.constant 64 : index
        %zero = arith.constant dense<0.0> : !tile
        %take = flow.cursor read %ofB : !second
        %pass = flow.cursor write %ofA : !first
        %end:3 = scf.for %i = %c0 to %blocks step %c1 iter_args(%t = %take, %p = %pass, %acc = %zero) -> (!flow.cursor<read>, !flow.cursor<write>, !tile) {
          %column = arith.muli %i, %c16 : index
          %turn, %t1 = flow.acquire %ofB[%t] : !second, !flow.cursor<read>
          %part = tile.load %x[%c64, %column] : !x -> !tile
          %next = arith.addf %acc, %part : !tile
          flow.release %turn : !flow.slot<read, [!flow.token]>
          %other, %p1 = flow.acquire %ofA[%p] : !first, !flow.cursor<write>
          flow.publish %other : !flow.slot<write, [!flow.token]>
          scf.yield %t1, %p1, %next : !flow.cursor<read>, !flow.cursor<write>, !tile
        }
        tile.store %end#2, %sum[%c64, %c0] : !tile, !x
      }
    }
    gpu.return
  }
}

func.func @turns(%x: !x {tile.name = "x", tile.dims = ["rows", "n"]}, %sum: !x {tile.name = "sum", tile.dims = ["rows", "columns"]}) {
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %n = memref.dim %x, %c1 : !x
  %blocks = arith.ceildivsi %n, %c16 : index
  tile.launch @kernels::@turns blocks %c1 args(%x, %sum, %blocks : !x, !x, index)
  return
}
