// Documents again, with the blocks that hold a visible key listed by the caller
// (FlexAttention's BlockMask): of the first list the mask is looked at, of the
// second all keys are visible. Blocks in neither are not loaded.
func.func @listed_blocks(%q: tensor<?x2x?x64xbf16> {tile.name = "q"},
                         %k: tensor<?x2x?x64xbf16> {tile.name = "k"},
                         %v: tensor<?x2x?x64xbf16> {tile.name = "v"},
                         %documents: tensor<1x?xi32> {tile.name = "documents"},
                         %count: tensor<1x1x?xi32> {tile.name = "count"},
                         %index: tensor<1x1x?x?xi32> {tile.name = "index"},
                         %full_count: tensor<1x1x?xi32> {tile.name = "full_count"},
                         %full_index: tensor<1x1x?x?xi32> {tile.name = "full_index"})
    -> (tensor<?x2x?x64xbf16> {tile.name = "o"}) {
  %o = attention.forward %q, %k, %v
    aux(%documents, %count, %index, %full_count, %full_index
        : tensor<1x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>,
          tensor<1x1x?xi32>, tensor<1x1x?x?xi32>)
    mods [#attention.document<aux = 0>,
          #attention.blocks<count = 1, index = 2, full_count = 3, full_index = 4,
                            queries = 128, keys = 64>]
    : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
  return %o : tensor<?x2x?x64xbf16>
}
