// Two groups take turns, as ping-pong schedules do: a turn is a token, and the
// one of the first group is there from the start. Each adds up its half of the
// rows of every block of x, in its turn.
!first = !warp.ring<1, [!warp.token], initial = 1>
!second = !warp.ring<1, [!warp.token]>
!x = memref<?x?xf32>
!tile = tensor<64x16xf32>
gpu.module @kernels {
  gpu.func @turns(%x: !x, %sum: !x, %blocks: index) kernel {
    %ofA = warp.ring : !first
    %ofB = warp.ring : !second
    warp.specialize {
      warp.group @a warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c16 = arith.constant 16 : index
        %zero = arith.constant dense<0.0> : !tile
        %take = warp.cursor read %ofA : !first
        %pass = warp.cursor write %ofB : !second
        %end:3 = scf.for %i = %c0 to %blocks step %c1 iter_args(%t = %take, %p = %pass, %acc = %zero) -> (!warp.cursor<read>, !warp.cursor<write>, !tile) {
          %column = arith.muli %i, %c16 : index
          %turn, %t1 = warp.acquire %ofA[%t] : !first, !warp.cursor<read>
          %part = tile.load %x[%c0, %column] : !x -> !tile
          %next = arith.addf %acc, %part : !tile
          warp.release %turn : !warp.slot<read, [!warp.token]>
          %other, %p1 = warp.acquire %ofB[%p] : !second, !warp.cursor<write>
          warp.publish %other : !warp.slot<write, [!warp.token]>
          scf.yield %t1, %p1, %next : !warp.cursor<read>, !warp.cursor<write>, !tile
        }
        tile.store %end#2, %sum[%c0, %c0] : !tile, !x
      }
      warp.group @b warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c16 = arith.constant 16 : index
        %c64 = arith.constant 64 : index
        %zero = arith.constant dense<0.0> : !tile
        %take = warp.cursor read %ofB : !second
        %pass = warp.cursor write %ofA : !first
        %end:3 = scf.for %i = %c0 to %blocks step %c1 iter_args(%t = %take, %p = %pass, %acc = %zero) -> (!warp.cursor<read>, !warp.cursor<write>, !tile) {
          %column = arith.muli %i, %c16 : index
          %turn, %t1 = warp.acquire %ofB[%t] : !second, !warp.cursor<read>
          %part = tile.load %x[%c64, %column] : !x -> !tile
          %next = arith.addf %acc, %part : !tile
          warp.release %turn : !warp.slot<read, [!warp.token]>
          %other, %p1 = warp.acquire %ofA[%p] : !first, !warp.cursor<write>
          warp.publish %other : !warp.slot<write, [!warp.token]>
          scf.yield %t1, %p1, %next : !warp.cursor<read>, !warp.cursor<write>, !tile
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
