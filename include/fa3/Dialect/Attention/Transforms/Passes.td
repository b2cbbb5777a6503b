//===- Passes.td - passes on the attention dialect ---------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_ATTENTION_PASSES
#define FA3_ATTENTION_PASSES

include "mlir/Pass/PassBase.td"
include "fa3/Options/Options.td"

def Outline : Pass<"attention-outline", "::mlir::ModuleOp"> {
  let summary = "attention anywhere in a program -> functions of attention and calls";
  let description = [{
    Every `attention.forward`, `backward`, `merge`, `quantize`, `rotary` and `append` becomes a
    private function that holds nothing else, with its operands as arguments,
    and an `attention.call` in its place. Equal ones, up to where they are, share a
    function and so a kernel. Scalars that regions use become arguments, constants
    go inside. Quantizations and rotations whose results only one attention of their
    block uses go with it. A call of `attention.append` has the cache as `outs`, with
    `updates`: bufferization sees whether it may be written in place.

    The rest of the program may be anything: control flow, functions that call
    each other, operations of dialects that are not registered. It stays as it is
    but for what orders dimensions: transpositions of q, k, v and o
    (`linalg.transpose`, or a `linalg.generic` that does nothing else) become `views`
    of the call, also where slices, casts, and expanded or collapsed shapes are
    between them and attention. A transposition that moves the last dimension stays,
    since elements are contiguous.

    A function that consists of attention on its arguments, and that nothing calls,
    stays as it is: the later passes take it (attention-to-tile).

    Fails at attention in an operation with symbols of its own, such as
    `gpu.module`, or in `gpu.launch`, and at scalars other than f32, i32, i64 and
    index.

    [Notes](PassNotes.md#attention-outline) say more.

    Example:
    ```mlir
    func.func @layer(%x: tensor<2x?x32x128xbf16>, ..) {
      %q = linalg.transpose ins(%x : ..) outs(%0 : ..) permutation = [0, 2, 1, 3]
      %o = attention.forward %q, %k, %v : ..
    // becomes
      %o = attention.call @layer_attention(%x, %k, %v : ..) outs(%1 : ..) views [[0, 2, 1, 3], [], [], []] -> ..
    }
    func.func private @layer_attention(%q: tensor<2x32x?x128xbf16>, ..) -> .. {
      %o = attention.forward %q, %k, %v : ..
      return %o : ..
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numOutlined", "outlined", "operations of attention that became calls">,
    Statistic<"numFunctions", "functions", "functions made">];
}

def ExpandMods : Pass<"attention-expand-mods"> {
  let summary = "mods of attention -> code in its regions";
  let description = [{
    Asks every attribute of `mods` for its code (ModAttrInterface) and removes
    the attribute. Scores are edited by the mods in order, then by the `score_mod`
    region; a key is visible if all mods and the `mask_mod` region keep it. What the
    regions of lengths and places yield is edited by the mods in order. The
    result is what a user would write by hand; nothing after this pass knows the
    names of modifications.

    Fails if mods would edit scores beside a `score_grad`, which is not the
    derivative of the edited score.

    Example:
    ```mlir
    %o = attention.forward %q, %k, %v mods [#attention.causal] : ...
    // becomes
    %o = attention.forward %q, %k, %v : ...
      mask_mod (%b, %h, %i, %j) {
        %sk = attention.length key
        %sq = attention.length query
        %offset = arith.subi %sk, %sq : index
        %last = arith.addi %i, %offset : index
        %keep = arith.cmpi sle, %j, %last : index
        attention.yield %keep : i1
      }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numMods", "mods-expanded", "modifications turned into code">];
}

def DeriveBlocks : Pass<"attention-derive-blocks", "::mlir::ModuleOp"> {
  let summary = "mask of attention.forward -> lists of the blocks that it lets see";
  let description = [{
    Gives attention with a `mask_mod` lists of blocks (`attention.blocks`), made by
    `attention.list_blocks` from the code of the mask: for every block of keys
    whether any and whether all pairs are visible. Attention then loads no block
    that the mask hides and runs no mask code for those that it shows as a whole,
    whatever the mask depends on.

    With `block-lists=call` the lists are made in front of attention, in memory of
    the call. With `apart` a function NAME with attention gets four more arguments
    in their place, `count`, `index`, `full_count` and `full_index`, and a function
    `NAME_blocks` beside it makes them: layers and calls that share a mask and its
    lengths share its lists. It takes the lengths (`queries`, `keys`), `batch` and
    `heads` if the mask looks at these, and what the mask reads.

    With `auto` attention gets lists in the way of `call` where both lengths are
    known and at least 2048, and the mask is of a kind that no analysis of
    inequalities decides: it reads memory by query or key, or divides one of them by
    a number of the launch. `call` and `apart` are demands: attention that cannot
    have lists is an error that says why. It cannot without a mask, where sequences
    have lengths or places of their own, where keys are divided (`splits`), and where
    it has lists.

    Lists are of blocks of `queries` x `keys`; the tile is chosen to divide them.

    Example:
    ```mlir
    %o = attention.forward %q, %k, %v aux(%document : tensor<1x4096xi32>) : ..
      mask_mod (%b, %h, %i, %j) { .. }
    // becomes
    %lists:4 = attention.list_blocks [128, 128] (%c1, %c1, %c4096, %c4096) aux(%document : ..) : ..
      mask_mod (%b, %h, %i, %j) { .. }
    %blocks = attention.blocks [128, 128]
      by_query (%b, %h, %m, %t) { .. }
    %o = attention.forward %q, %k, %v aux(%document, %lists#0, %lists#1, %lists#2, %lists#3 : ..)
      blocks %blocks : ..
      mask_mod (%b, %h, %i, %j) { .. }
    ```
  }];
  let options = [
    Option_BlockLists,
    Option<"queries", "queries", "int64_t", "128",
           "queries of a block, a multiple of 64">,
    Option<"keys", "keys", "int64_t", "128",
           "keys of a block, a multiple of 16">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numDerived", "derived", "attention that got lists">];
}

def DeriveGradient : Pass<"attention-derive-gradient"> {
  let summary = "code of attention.backward -> its derivative in score_grad";
  let description = [{
    Every `attention.backward` with a `score_mod` region and without `score_grad`
    gets one, by reverse mode: the code of `score_mod` is repeated, and behind it
    every operation whose operands depend on the score adds to the gradients of
    these (GradientOpInterface). The derivative is whole before the gradient of the
    score is multiplied with it, so that one number for each pair waits for that.
    Code that does not depend on the score costs nothing:
    for ALiBi and bias `score_grad` yields the gradient as it came. A constant
    factor with the flag `reassoc` is multiplied once, at the end, and not at all
    if the factors cancel, as those of a soft cap do.

    Where a function has no derivative it is torch's: each of two equal numbers of
    a maximum has a half. Conditions and integers have none.

    For every number of `grad_aux` the region yields one more: the gradient of
    the element that it reads of this auxiliary operand, in f32.

    Fails at an operation between score and result whose derivative nobody has
    stated; a `score_grad` written by hand takes its place. `epilogue` gets an
    `epilogue_grad` in the same way.

    Example:
    ```mlir
      score_mod (%s, %b, %h, %i, %j) {
        %t = math.tanh %s : f32
        attention.yield %t : f32
      }
    // gets
      score_grad (%s, %g, %b, %h, %i, %j) {
        %t = math.tanh %s : f32
        %square = arith.mulf %t, %t : f32
        %rest = arith.subf %one, %square : f32
        %d = arith.mulf %g, %rest : f32
        attention.yield %d : f32
      }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
  let statistics = [
    Statistic<"numDerived", "derived", "score regions that were derived">];
}

def Differentiate : Pass<"attention-differentiate", "::mlir::ModuleOp"> {
  let summary = "functions with attention.forward -> functions with their gradients beside them";
  let description = [{
    Every function with an `attention.forward`, or those that `functions` names,
    gets another one behind it with its name and `suffix`: `attention.backward`
    with the same masks, score code, scale and layout. That takes the arguments
    of the first function, then o and lse, then the gradient of o (with `dlse`
    that of lse, too), and returns those of q, k and v and, with `grad-aux`, of
    auxiliary operands. An operand in several roles has a gradient for each. The
    first function returns lse from then on, if it did not, since its gradients
    need it, and with an `epilogue` o as it was without it, `plain`. Names of arguments stay, those of gradients have a `d` in front.

    `attention-derive-gradient` finds the derivative of score code afterwards, as
    part of the lowering.

    Fails on functions that compute more than attention on their arguments, that
    return something else, or that something refers to and that do not return
    lse; and on what `attention.backward` does not have: 8-bit operands, lengths
    and places of sequences, sinks, `max_q`, `transposed_v`. `splits` are an
    order of sums and mean nothing to gradients.

    Example, `grad-aux=0`:
    ```mlir
    func.func @fwd(%q: !q, %k: !k, %v: !k, %bias: !b) -> (!q) {
      %o = attention.forward %q, %k, %v aux(%bias : !b) mods [#attention.bias<aux = 0>] : ..
      return %o
    }
    // becomes
    func.func @fwd(%q: !q, %k: !k, %v: !k, %bias: !b) -> (!q, !lse) {
      %o, %lse = attention.forward %q, %k, %v aux(%bias : !b) mods [#attention.bias<aux = 0>] : ..
      return %o, %lse
    }
    func.func @fwd_backward(%q: !q, %k: !k, %v: !k, %bias: !b, %o: !q, %lse: !lse, %do: !q) -> (!q, !k, !k, !b) {
      %dq, %dk, %dv, %dbias = attention.backward %q, %k, %v, %o, %lse, %do aux(%bias : !b) grad_aux [0]
        mods [#attention.bias<aux = 0>] : ..
      return %dq, %dk, %dv, %dbias
    }
    ```
  }];
  let options = [
    ListOption<"functions", "functions", "std::string",
               "names of the functions; all with attention.forward if none is given">,
    Option<"suffix", "suffix", "std::string", "\"_backward\"",
           "what a name of gradients ends in">,
    ListOption<"gradAux", "grad-aux", "int64_t",
               "numbers of the auxiliary operands that get gradients">,
    Option<"dlse", "dlse", "bool", "false",
           "take the gradient with respect to lse">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"numDifferentiated", "differentiated", "functions with gradients">];
}

def Quantize : Pass<"attention-quantize", "::mlir::ModuleOp"> {
  let summary = "16-bit attention -> attention.quantize of its operands and 8-bit attention";
  let description = [{
    Every `attention.forward` on f16 or bf16 gets its q, k and v through
    `attention.quantize` and their scales; o keeps its type, softmax and sums
    are in f32 as before. Operations on 8-bit operands stay as they are.

    `scales` says who shares a scale: `tensor` all of an operand, `head` a head
    of a batch, `block` blocks of rows (`block-rows`: of q, k and v), `token`
    every row of q and k, and the heads of v, for whose rows the hardware has no
    place to apply a scale. One operand in two roles, k that is also v, is
    quantized for each.

    `qk-format=i8` makes q and k integers, whose products have exact sums (as in
    SageAttention, arXiv 2410.02367); v and the weights stay 8-bit floats.
    Rotated elements are of one magnitude, and integers then err less than
    floats do (docs/Float8.md).

    `q-terms=2` makes each element of q a sum of two 8-bit floats, so that q has
    about the digits of bf16; k and v have one number an element as before. The
    first product then is two.

    With `gradients` every `attention.backward` without 8-bit copies gets those
    of its q, k, v and do, for the two of its products that contract head dims.
    Their scales are for whole sequences, so `scales` is `tensor` or `head`
    then; `hadamard` rotates v and do as well, whose products do not change.
    lse should be that of the 8-bit forward.

    Fails on head dims that 8-bit products do not have (multiples of 16) and,
    with `hadamard`, on head dims other than 1, 12 or 20 times a power of two,
    on attention that does not lie directly in a function, on several in one
    that differ in head dim or element type, and on functions that something
    refers to.

    [Notes](PassNotes.md#attention-quantize) say more.

    Example, `scales=block hadamard`:
    ```mlir
    func.func @fwd(%q: tensor<2x8x?x64xf16>, ..) {
      %o = attention.forward %q, %k, %v : ..
    // becomes
    func.func @fwd(%q: tensor<2x8x?x64xf16>, .., %r: tensor<64xf16> {tile.name = "signs"}) {
      %q8, %qs = attention.quantize %q rotate %r : tensor<64xf16> rows 128 : ..
      %k8, %ks = attention.quantize %k rotate %r : tensor<64xf16> rows 128 : ..
      %v8, %vs = attention.quantize %v rows 128 : ..
      %o = attention.forward %q8, %k8, %v8 scales(%qs, %ks, %vs : ..) rows [128, 128, 128] : ..
    ```
  }];
  let options = [
    Option<"format", "format", "std::string", "\"f8E4M3FN\"",
           "element type of the operands: f8E4M3FN or f8E5M2">,
    Option<"qkFormat", "qk-format", "std::string", "\"\"",
           "element type of q and k, if not `format`: i8">,
    Option<"qTerms", "q-terms", "uint64_t", "1",
           "8-bit floats whose sum is an element of q: 1 or 2">,
    Option<"scales", "scales", "std::string", "\"head\"",
           "who shares a scale: tensor, head, block or token">,
    ListOption<"blockRows", "block-rows", "int64_t",
               "rows of q, k and v that share a scale, one number for all or "
               "three (default 128)">,
    Option<"hadamard", "hadamard", "bool", "false",
           "rotate q and k by a Hadamard matrix; its signs are a further argument">,
    Option<"gradients", "gradients", "bool", "false",
           "give gradients 8-bit copies of q, k, v and do, too">
  ];
  let statistics = [
    Statistic<"numQuantized", "quantized", "attention operations rewritten"> ];
}

def ToReference : Pass<"attention-to-reference", "::mlir::ModuleOp"> {
  let summary = "functions with attention on tensors -> host functions that compute it by definition";
  let description = [{
    Input: functions of one block on tensors with one `attention.forward` or
    `attention.backward`, whose mods are expanded, whose tensor operands are arguments of the function, or
    results of `attention.quantize` of arguments, and whose results it returns;
    or with operations that make operands alone (`attention.quantize`,
    `attention.list_blocks`) or merge results (`attention.merge`). Other functions stay. Output: functions on strided
    memrefs (see fa3/Dialect/Attention/Contract/HostFunction.h) that hold the
    launch contract's checks as `cf.assert` and plain `scf.for` loops: a row of
    scores, its softmax, the weighted sum of values; for gradients their formula,
    with differences of scores in place of `score_grad`. No tiles, no online
    softmax. Fails with a diagnostic on functions of any other form.

    With `precision=f64` everything is computed in f64, except that the `score_mod`
    region takes and yields f32; outputs are rounded once through f32. With
    `precision=low` it is computed as a framework without fused attention would
    in the element type: scaled keys, scores, edited scores and softmax are each
    rounded to it, sums are in f32. The distance between the two measures what
    rounding to the element type costs, and bounds the error allowed to a fused
    kernel.

    `wide-output` stores o and gradients as f32, for comparisons finer than the element type.

    With `slices` the function takes two further index arguments, `first` and
    `last`, computes only these of the batch * heads attention heads (number
    batch * heads + head) and returns how many there are, so that a driver can
    share the work among threads; of gradients a group of heads that share keys
    is one, and all heads are if they share an element of an auxiliary operand
    with a gradient. All checks are made even if the range is empty.
  }];
  let options = [
    Option<"precision", "precision", "::fa3::attention::Precision",
           "::fa3::attention::Precision::f64", "precision of the computation",
           [{::llvm::cl::values(
               clEnumValN(::fa3::attention::Precision::f64, "f64",
                          "all in f64"),
               clEnumValN(::fa3::attention::Precision::low, "low",
                          "intermediate tensors in the element type"))}]>,
    Option<"wideOutput", "wide-output", "bool", "false",
           "store o as f32 instead of the element type">,
    Option<"slices", "slices", "bool", "false",
           "compute a range of heads given by two further arguments">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif // FA3_ATTENTION_PASSES
