//===- AttentionCallOp.td - the place of use of attention --*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_ATTENTION_CALLOP
#define FA3_ATTENTION_CALLOP

include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "fa3/Dialect/Attention/IR/AttentionBase.td"

def Attention_Array : AnyTypeOf<[AnyRankedTensor, AnyStridedMemRef]>;
def Attention_Argument : AnyTypeOf<[Attention_Array, AnySignlessInteger, Index, AnyFloat]>;
def Attention_Views : TypedArrayAttrBase<I64ArrayAttr, "permutations of dimensions">;

def Attention_CallOp : Op<Attention_Dialect, "call", [
    AttrSizedOperandSegments, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "use of a function that consists of attention";
  let description = [{
    Calls a function that `attention-outline` has made of one attention, in
    destination-passing style: results take the place of `outs`. The function may
    still be one on tensors, which returns what is written to `outs`, or the host
    function that `attention-to-tile` has made of it, which takes the memory of
    `outs` as trailing arguments. Its type changes on the way, that of the call
    does not.

    The call is on tensors, with one result for every one of `outs`, or on
    memrefs, without results. One-Shot Bufferize turns the one into the other: it
    reads what is in parentheses and writes `outs`.

    With `updates` the function changes some rows of `outs` and leaves the others, as
    `attention.append` does with a cache, so that it reads them as well. On tensors
    it takes `outs` as its last arguments, and returns nothing.

    `views` says in which order the function sees the dimensions of each operand,
    `outs` included: dimension d of its argument is dimension `views[n][d]` of
    operand n. An empty list is the order of the operand. It is a matter of strides:
    nothing is moved.

    Example, an operand and a result in the order (batch, sequence, head, element)
    of a function that has them in another one:
    ```mlir
    %o = attention.call @f(%q, %k, %v : tensor<2x?x32x128xf16>, tensor<2x8x?x128xf16>, tensor<2x8x?x128xf16>)
      outs(%init : tensor<2x?x32x128xf16>) views [[0, 2, 1, 3], [], [], [0, 2, 1, 3]]
      -> tensor<2x?x32x128xf16>
    ```

    C1. arrays are tensors, or all of them are memrefs.
    C2. there is at least one of `outs`; on tensors the results have their types, on
        memrefs there are none.
    C3. `views` has a list for every operand: an empty one, or a permutation of
        the dimensions that keeps the last one, whose elements are contiguous.
    C4. a memref that is written is no other operand.
    C5. the callee is a function of the module around the call; its arguments are
        what is in parentheses, as seen through `views`, with the same types up
        to extents that one of the two leaves open, and it returns `outs`, or it
        takes them as its last arguments; with `updates` it does that in any case.
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee,
                       Variadic<Attention_Argument>:$inputs,
                       Variadic<Attention_Array>:$inits,
                       OptionalAttr<Attention_Views>:$views,
                       UnitAttr:$updates);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $callee `(` ($inputs^ `:` type($inputs))? `)` (`updates` $updates^)? `outs` `(` $inits `:` type($inits) `)`
    (`views` $views^)? attr-dict (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let builders = [
    // One permutation for every operand; all empty is none.
    OpBuilder<(ins "::llvm::StringRef":$callee, "::mlir::ValueRange":$inputs,
                   "::mlir::ValueRange":$inits,
                   "::llvm::ArrayRef<::llvm::SmallVector<int64_t>>":$views,
                   CArg<"bool", "false">:$updates)>
  ];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitsMutable(); }
    /// The permutation of operand `number`, empty for none.
    ::llvm::SmallVector<int64_t> getView(unsigned number);
  }];
}

#endif // FA3_ATTENTION_CALLOP
