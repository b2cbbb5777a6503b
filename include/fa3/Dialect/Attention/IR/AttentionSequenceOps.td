//===- AttentionSequenceOps.td - sequences and lists -------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What attention is told of sequences and of visible blocks, as values. Included
// by AttentionOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef FA3_ATTENTION_SEQUENCE_OPS
#define FA3_ATTENTION_SEQUENCE_OPS

def Attention_Sequences : TypeDef<Attention_Dialect, "Sequences"> {
  let mnemonic = "sequences";
  let summary = "lengths and places of sequences";
  let description = [{
    What `attention.sequences` gives. Attention and `attention.append` take it
    from there and from nowhere else: it is code, not data.
  }];
}

def Attention_Blocks : TypeDef<Attention_Dialect, "Blocks"> {
  let mnemonic = "blocks";
  let summary = "lists of visible blocks";
  let description = [{
    What `attention.blocks` gives. Attention takes it from there and from
    nowhere else: it is code, not data.
  }];
}

def Attention_SequencesOp : Attention_Op<"sequences", [
    RecursiveMemoryEffects, RecursivelySpeculatable, SingleBlock]> {
  let summary = "lengths and places of the sequences of a batch";
  let description = [{
    Sequences of a batch may have lengths of their own, and lie anywhere in
    memory. `lengths` takes (index b) and yields the queries and keys of a
    sequence; a number below 0 counts as 0. `place_q` takes (index b, h, i) and
    yields the indices of a query in q and o, all but the last, and in lse;
    `place_k` takes (index b, key head h, j) and yields those of a key in k and
    v, or in a cache. Without them a sequence has the extents of q and k, and is
    at (b, h, i). Of a sequence the first `max_q` queries are computed: without
    it, and without `place_q`, as many as q has room for.

    The code holds integers as `mask_mod` of `attention.forward` does. It may
    read tensors that are auxiliary operands of all that take the sequences, and
    `attention.length`: the queries and keys that their q and k have room for.

    One value serves a forward, its backward and the appends to its cache;
    `attention.append` looks at `place_k` alone. `mods` of an operation edit
    what the code yields for that operation.

    Example:
    ```mlir
    %s = attention.sequences max_q %n
      lengths (%b) {
        %sq = attention.length query
        %x = tensor.extract %used[%b] : tensor<?xi32>
        %sk = arith.index_cast %x : i32 to index
        attention.yield %sq, %sk : index, index
      }
    %o = attention.forward %q, %k, %v aux(%used : tensor<?xi32>) sequences %s
      : (tensor<2x32x?x128xbf16>, tensor<2x8x?x128xbf16>, tensor<2x8x?x128xbf16>)
      -> tensor<2x32x?x128xbf16>
    ```

    C1. lengths has the argument (index) and yields (index, index).
    C2. a place has arguments (index, index, index) and yields indices, at
        least two; the last but one is the head that it takes.
    C3. the regions hold what those of `attention.forward` may (C9, C10 and C22
        there); tensors that they read are a matter of what takes the sequences.
  }];
  let arguments = (ins Optional<Index>:$maxQ);
  let results = (outs Attention_Sequences:$result);
  let regions = (region MaxSizedRegion<1>:$lengths, MaxSizedRegion<1>:$placeQ,
                        MaxSizedRegion<1>:$placeK);
  let assemblyFormat = [{
    (`max_q` $maxQ^)? attr-dict `` custom<IndexCode>($lengths, "\"lengths\"", "1")
    `` custom<IndexCode>($placeQ, "\"place_q\"", "3")
    `` custom<IndexCode>($placeK, "\"place_k\"", "3")
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Region &getPlace(Sequence sequence) {
      return sequence == Sequence::query ? getPlaceQ() : getPlaceK();
    }
    /// Whether it says nothing.
    bool isEmpty() {
      return !getMaxQ() && getLengths().empty() && getPlaceQ().empty() &&
             getPlaceK().empty();
    }
  }];
}

def Attention_BlocksOp : Attention_Op<"blocks", [
    RecursiveMemoryEffects, RecursivelySpeculatable, SingleBlock]> {
  let summary = "which blocks of keys a block of queries may see";
  let description = [{
    Lists of blocks of `sizes[1]` keys for each block of `sizes[0]` queries.
    `by_query` takes (index b, h, block of queries, t) and yields four indices:
    how many blocks `mask_mod` has to look at and entry t of their list, and how
    many are visible as a whole and entry t of theirs. Keys of other blocks are
    not visible. What the lists promise, and nobody checks: entries ascend, no
    block is in both lists, and of a block in the second `mask_mod` keeps all
    keys that there are. A number of entries below 0 counts as 0, more than there
    are blocks as that, and a number that is no block's in the first list as
    none. Lists that break the promise give wrong results; whatever they hold,
    nothing outside the operands is read.

    `by_key` says the same the other way round, for gradients: it takes (index
    b, h, block of keys, t), where h is a query head, and yields how many blocks
    of queries `mask_mod` has to look at beside this block of keys and entry t
    of their list, and how many see it as a whole and entry t of theirs. It
    promises what `by_query` does, and that a pair of blocks which is in a list
    of one is in that list of the other.

    The code holds what that of `attention.sequences` does. One value serves a
    forward, which looks at `by_query` alone, and its backward.

    Example:
    ```mlir
    %l = attention.blocks [128, 128]
      by_query (%b, %h, %m, %t) {
        %c1 = arith.constant 1 : index
        attention.yield %c1, %m, %m, %t : index, index, index, index
      }
    %o = attention.forward %q, %k, %v blocks %l mods [#attention.causal]
      : (tensor<2x32x?x128xbf16>, tensor<2x8x?x128xbf16>, tensor<2x8x?x128xbf16>)
      -> tensor<2x32x?x128xbf16>
    ```

    C1. there are two sizes: queries are a positive multiple of 64, keys of 16,
        both at most 2^20.
    C2. there is `by_query`, `by_key` or both.
    C3. they have arguments (index, index, index, index) and yield four indices.
    C4. they hold what regions of `attention.forward` may (C9, C10 and C22
        there); tensors that they read are a matter of what takes the lists.
  }];
  let arguments = (ins DenseI64ArrayAttr:$sizes);
  let results = (outs Attention_Blocks:$result);
  let regions = (region MaxSizedRegion<1>:$byQuery, MaxSizedRegion<1>:$byKey);
  let assemblyFormat = [{
    custom<Sizes>($sizes) attr-dict `` custom<IndexCode>($byQuery, "\"by_query\"", "4")
    `` custom<IndexCode>($byKey, "\"by_key\"", "4")
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Region &getList(Sequence by) {
      return by == Sequence::query ? getByQuery() : getByKey();
    }
  }];
}

#endif // FA3_ATTENTION_SEQUENCE_OPS
