// A local layer in the manner of Gemma 2: scores capped at 50, a causal window
// of 4096 keys (the key itself and 4095 before it), 8 query and 4 key heads of
// 256 elements, held as (batch, sequence, head, element). The scale is given.

func.func @softcap_window(
    %q: tensor<?x?x8x256xbf16> {tile.name = "q"},
    %k: tensor<?x?x4x256xbf16> {tile.name = "k"},
    %v: tensor<?x?x4x256xbf16> {tile.name = "v"},
    %scale: f32 {tile.name = "scale"})
    -> (tensor<?x?x8x256xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v scale %scale layout bshd
    mods [#attention.softcap<50.0>, #attention.window<left = 4095, right = 0>]
    : (tensor<?x?x8x256xbf16>, tensor<?x?x4x256xbf16>, tensor<?x?x4x256xbf16>)
    -> tensor<?x?x8x256xbf16>
  return %o : tensor<?x?x8x256xbf16>
}
