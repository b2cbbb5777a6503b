// embed.look reads an entry while the group holds it.
!ring = !warp.ring<1, [tensor<64x64xf16>]>
gpu.module @kernels {
  gpu.func @looks(%n: index) kernel {
    %r = warp.ring : !ring
    warp.specialize {
      warp.group @load warps 1 (%g) {
        %c = warp.cursor write %r : !ring
        %s, %c1 = warp.acquire %r[%c] : !ring, !warp.cursor<write>
        warp.publish %s : !warp.slot<write, [tensor<64x64xf16>]>
      }
      warp.group @math warps 4 (%g) {
        %c = warp.cursor read %r : !ring
        %c0 = arith.constant 0 : index
        %s, %c1 = warp.acquire %r[%c] : !ring, !warp.cursor<read>
        %w = tile.view %s[%c0, %c0] : !warp.slot<read, [tensor<64x64xf16>]> -> !tile.view<tensor<64x64xf16>>
        // HELD
        warp.release %s : !warp.slot<read, [tensor<64x64xf16>]>
        // HANDED
      }
    }
    gpu.return
  }
}
