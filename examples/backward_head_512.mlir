// Gradients of a global layer of a model with head dim 512 (head_512.mlir): kernels
// of dv, dk and dq, the columns of each in two warp groups.
func.func @backward_head_512(
    %q: tensor<?x8x?x512xbf16> {tile.name = "q"},
    %k: tensor<?x4x?x512xbf16> {tile.name = "k"},
    %v: tensor<?x4x?x512xbf16> {tile.name = "v"},
    %o: tensor<?x8x?x512xbf16> {tile.name = "o"},
    %lse: tensor<?x8x?xf32> {tile.name = "lse"},
    %do: tensor<?x8x?x512xbf16> {tile.name = "do"})
    -> (tensor<?x8x?x512xbf16> {tile.name = "dq"},
        tensor<?x4x?x512xbf16> {tile.name = "dk"},
        tensor<?x4x?x512xbf16> {tile.name = "dv"}) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do mods [#attention.causal]
    : (tensor<?x8x?x512xbf16>, tensor<?x4x?x512xbf16>, tensor<?x4x?x512xbf16>,
       tensor<?x8x?x512xbf16>, tensor<?x8x?xf32>, tensor<?x8x?x512xbf16>)
    -> (tensor<?x8x?x512xbf16>, tensor<?x4x?x512xbf16>, tensor<?x4x?x512xbf16>)
  return %dq, %dk, %dv
    : tensor<?x8x?x512xbf16>, tensor<?x4x?x512xbf16>, tensor<?x4x?x512xbf16>
}
