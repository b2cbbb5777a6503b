// Gradients of attention within documents, with the blocks that hold a visible
// pair listed by the caller, as FlexAttention's BlockMask has them: the blocks of
// keys of each block of queries, and the blocks of queries of each block of keys.
// Of the first lists the mask is looked at, of the full ones all pairs are visible.
// Blocks in neither are not loaded.
func.func @backward_listed(
    %q: tensor<?x8x?x64xbf16> {tile.name = "q"},
    %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
    %v: tensor<?x2x?x64xbf16> {tile.name = "v"},
    %o: tensor<?x8x?x64xbf16> {tile.name = "o"},
    %lse: tensor<?x8x?xf32> {tile.name = "lse"},
    %do: tensor<?x8x?x64xbf16> {tile.name = "do"},
    %documents: tensor<1x?xi32> {tile.name = "documents"},
    %count: tensor<1x1x?xi32> {tile.name = "count"},
    %index: tensor<1x1x?x?xi32> {tile.name = "index"},
    %full_count: tensor<1x1x?xi32> {tile.name = "full_count"},
    %full_index: tensor<1x1x?x?xi32> {tile.name = "full_index"},
    %q_count: tensor<1x1x?xi32> {tile.name = "q_count"},
    %q_index: tensor<1x1x?x?xi32> {tile.name = "q_index"},
    %full_q_count: tensor<1x1x?xi32> {tile.name = "full_q_count"},
    %full_q_index: tensor<1x1x?x?xi32> {tile.name = "full_q_index"})
    -> (tensor<?x8x?x64xbf16> {tile.name = "dq"},
        tensor<?x2x?x64xbf16> {tile.name = "dk"},
        tensor<?x2x?x64xbf16> {tile.name = "dv"}) {
  %dq, %dk, %dv = attention.backward %q, %k, %v, %o, %lse, %do
    aux(%documents, %count, %index, %full_count, %full_index,
        %q_count, %q_index, %full_q_count, %full_q_index
        : tensor<1x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>,
          tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<1x1x?xi32>,
          tensor<1x1x?x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>)
    mods [#attention.document<aux = 0>,
          #attention.blocks<count = 1, index = 2, full_count = 3, full_index = 4,
                            queries = 128, keys = 128>,
          #attention.blocks<count = 5, index = 6, full_count = 7, full_index = 8,
                            queries = 128, keys = 128, by = key>]
    : (tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>,
       tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>, tensor<?x8x?x64xbf16>)
    -> (tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>)
  return %dq, %dk, %dv
    : tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>
}
