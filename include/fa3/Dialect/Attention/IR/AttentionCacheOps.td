//===- AttentionCacheOps.td - rows of a cache of keys ------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Included by AttentionOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef FA3_ATTENTION_CACHE_OPS
#define FA3_ATTENTION_CACHE_OPS

def Attention_RotaryOp : Attention_Op<"rotary", [
    Pure, AllTypesMatch<["source", "result"]>, AllTypesMatch<["cos", "sin"]>]> {
  let summary = "rotary position embedding";
  let description = [{
    Turns pairs of elements of every row by an angle of the row's position (RoPE,
    arXiv 2104.09864). Row t of sequence b has position p = first[b] + t; with r
    columns of `cos` and `sin`, pair i of the first 2 r elements is
    ```
    x = (source[i], source[i + r])          y = (source[2 i], source[2 i + 1]) with `interleaved`
    result = (x0 * cos[p, i] - x1 * sin[p, i], x1 * cos[p, i] + x0 * sin[p, i])
    ```
    in f32, every operation rounded and the result once more to the element type.
    Elements from 2 r on stay as they are, bit for bit. A position outside of the
    tables takes their nearest row.

    Example:
    ```mlir
    %y = attention.rotary %x, %cos, %sin at %first layout bshd
      : tensor<?x?x32x128xbf16>, tensor<?x64xf32>, tensor<?xi32>
    ```

    C1. the source has rank 4 and elements of f16 or bf16; its last extent is a
        static multiple of 8 up to 256.
    C2. cos and sin have rank 2 and elements of f32, f16 or bf16; their last
        extent is a static multiple of 8, at most half that of the source.
    C3. first has rank 1, elements of i32 and the batch extent of the source.
    C4. static extents are at most 2^30.
  }];
  let arguments = (ins AnyRankedTensor:$source, AnyRankedTensor:$cos,
                       AnyRankedTensor:$sin, AnyRankedTensor:$first,
                       UnitAttr:$interleaved,
                       DefaultValuedAttr<Attention_Layout, "::fa3::attention::Layout::bhsd">:$layout);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source `,` $cos `,` $sin `at` $first (`interleaved` $interleaved^)? (`layout` $layout^)?
    attr-dict `:` type($source) `,` type($cos) `,` type($first)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Pairs of elements that are turned.
    int64_t getPairs() {
      return ::llvm::cast<::mlir::RankedTensorType>(getCos().getType()).getDimSize(1);
    }
  }];
}

def Attention_AppendOp : Attention_Op<"append", [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "puts new keys or values into a cache";
  let description = [{
    Row t of sequence b becomes key j = first[b] + t of the sequence. `place_k` of
    `sequences`, which may be those of the attention that reads the cache, says
    where that key is in the cache; without it a key is at (b, head, j). `mods`
    fill it in: those that say where keys are, as for `attention.forward`
    (`#attention.batch_index`, `#attention.leftpad`, `#attention.paged`). A
    key below 0, or whose place is not inside of the cache, is dropped: nothing
    outside of the cache is written whatever the arrays hold. Where two new keys
    have one place, one of them is there.

    A cache of 8-bit floats holds numbers in units of `scales` (batch, head, 1),
    which attention takes with it; a static extent of 1 is shared. An element x
    becomes the number nearest to x / scale in f32, ties to even, and beyond the
    largest number that one; of a NaN, a NaN. A kernel's quotient may be two units
    in the last place off.

    The result is the cache, in the same memory: the caller's array is written,
    other rows of it stay as they are. Who reads the cache reads the result. So
    the operation reads and writes the cache and has no other effect; it stays
    where nobody uses its result.

    Example:
    ```mlir
    %k1 = attention.append %new, %k at %first aux(%table : tensor<?x?xi32>) layout bshd
        mods [#attention.paged<table = 0>]
      : tensor<?x?x8x128xbf16>, tensor<?x64x8x128xbf16>, tensor<?xi32>
    ```

    C1. the source has rank 4; the cache, too, or one dimension for each index of
        the place and the last one.
    C2. source and cache have one last extent, a static multiple of 8 up to 256,
        and one element type, f16 or bf16; or the cache has f8E4M3FN or f8E5M2, and
        the last extent is a multiple of 16.
    C3. they agree in heads, and without a place in the batch extent.
    C4. first has rank 1, elements of i32 and the batch extent of the source.
    C5. sequences are the result of `attention.sequences`.
    C6. their place_k reads auxiliary operands and no other tensors, and holds no
        `attention.length`.
    C7. mods say where keys are, each fit for its operands, at most 64.
    C8. static extents are at most 2^30.
    C9. scales come with a cache of 8 bits, have rank 3 and f32, and the extents of
        batch and heads, or 1, and 1.
  }];
  let arguments = (ins AnyRankedTensor:$source, AnyRankedTensor:$cache,
                       AnyRankedTensor:$first, Variadic<AnyRankedTensor>:$aux,
                       Optional<AnyRankedTensor>:$scales,
                       Optional<Attention_Sequences>:$sequences,
                       DefaultValuedAttr<Attention_Layout, "::fa3::attention::Layout::bhsd">:$layout,
                       OptionalAttr<ArrayAttr>:$mods);
  let results = (outs AnyRankedTensor:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Code that says where a key is, null for none.
    ::mlir::Region *findPlace();
    /// Edits what the place yields. Nothing changes when `build` gives back what
    /// it was given.
    void appendPlace(PlaceBuilder build);
    /// Positions of the dimensions in a tensor of this layout.
    static int64_t getHeadAxis(Layout layout, int64_t rank) {
      return rank - (layout == Layout::bhsd ? 3 : 2);
    }
    static int64_t getRowAxis(Layout layout, int64_t rank) {
      return rank - (layout == Layout::bhsd ? 2 : 3);
    }
  }];
}

#endif // FA3_ATTENTION_CACHE_OPS
