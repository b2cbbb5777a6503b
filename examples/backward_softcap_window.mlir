// Gradients of a local layer in the manner of Gemma 2 (softcap_window.mlir):
// scores capped at 50, a causal window of 4096 keys, 8 query and 4 key heads of
// 256 elements, held as (batch, sequence, head, element). The derivative of the
// soft cap is derived by the compiler.

func.func @backward_softcap_window(
    %q: tensor<?x?x8x256xbf16> {tile.name = "q"},
    %k: tensor<?x?x4x256xbf16> {tile.name = "k"},
    %v: tensor<?x?x4x256xbf16> {tile.name = "v"},
    %o: tensor<?x?x8x256xbf16> {tile.name = "o"},
    %lse: tensor<?x8x?xf32> {tile.name = "lse"},
    %do: tensor<?x?x8x256xbf16> {tile.name = "do"},
    %scale: f32 {tile.name = "scale"})
    -> (tensor<?x?x8x256xbf16> {tile.name = "dq"},
        tensor<?x?x4x256xbf16> {tile.name = "dk"},
        tensor<?x?x4x256xbf16> {tile.name = "dv"}) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do scale %scale layout bshd
    mods [#attention.softcap<50.0>, #attention.window<left = 4095, right = 0>]
    : (tensor<?x?x8x256xbf16>, tensor<?x?x4x256xbf16>, tensor<?x?x4x256xbf16>,
       tensor<?x?x8x256xbf16>, tensor<?x8x?xf32>, tensor<?x?x8x256xbf16>)
    -> (tensor<?x?x8x256xbf16>, tensor<?x?x4x256xbf16>, tensor<?x?x4x256xbf16>)
  return %dq, %dk, %dv
    : tensor<?x?x8x256xbf16>, tensor<?x?x4x256xbf16>, tensor<?x?x4x256xbf16>
}
