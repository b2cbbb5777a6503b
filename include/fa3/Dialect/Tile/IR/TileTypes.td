//===- TileTypes.td - types and attributes of tile ---------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_TILE_TYPES
#define FA3_TILE_TYPES

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"
include "fa3/Dialect/Warp/IR/WarpInterfaces.td"
include "fa3/Dialect/Tile/IR/TileBase.td"
include "fa3/Dialect/Tile/IR/TileEnums.td"
include "fa3/Dialect/Tile/IR/TileInterfaces.td"

//===----------------------------------------------------------------------===//
// Enums
//===----------------------------------------------------------------------===//


//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

class Tile_Type<string name, string mnem, list<Trait> traits = []>
    : TypeDef<Tile_Dialect, name, traits> {
  let mnemonic = mnem;
}

def Tile_ViewType : Tile_Type<"View", "view"> {
  let summary = "a window into a slot of a ring: memory, not a value";
  let description = [{
    Borrowed from a slot by `tile.view`; valid until the slot is published or
    released. Example: `!tile.view<tensor<64x128xf16>>`.

    C1. the tensor has the shape and elements of a tile.
  }];
  let parameters = (ins "::mlir::RankedTensorType":$tile);
  let builders = [TypeBuilderWithInferredContext<(ins "::mlir::RankedTensorType":$tile), [{
    return $_get(tile.getContext(), tile);
  }]>];
  let assemblyFormat = "`<` $tile `>`";
  let genVerifyDecl = 1;
}

def Tile_PendingType : Tile_Type<"Pending", "pending",
    [DeclareTypeInterfaceMethods<Warp_LinearTypeInterface>]> {
  let summary = "a tile whose product is still in flight";
  let description = [{
    Linear: either awaited once, or passed on once as the accumulator of a
    further product. Nothing else can read it, so registers in flight cannot be
    touched. Example: `!tile.pending<tensor<64x80xf32>>`.

    C1. the tensor is a tile.
  }];
  let parameters = (ins "::mlir::RankedTensorType":$tile);
  let builders = [TypeBuilderWithInferredContext<(ins "::mlir::RankedTensorType":$tile), [{
    return $_get(tile.getContext(), tile);
  }]>];
  let assemblyFormat = "`<` $tile `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

class Tile_Attr<string name, string mnem, list<Trait> traits = []>
    : AttrDef<Tile_Dialect, name, traits> {
  let mnemonic = mnem;
}

def Tile_AccAttr : Tile_Attr<"Acc", "acc", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>,
    DeclareAttrInterfaceMethods<Tile_LayoutAttrInterface>]> {
  let summary = "layout of the accumulator of wgmma m64nN";
  let description = [{
    For 16-bit elements it is also the layout of the A operand of the next
    product. Example: `tensor<64x80xf32, #tile.acc>`.

    C1. rows are a power-of-two multiple of 64, columns a multiple of 8.
  }];
}

def Tile_SliceAttr : Tile_Attr<"Slice", "slice", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>,
    DeclareAttrInterfaceMethods<Tile_LayoutAttrInterface>]> {
  let summary = "layout of what is left of a tile without one dimension";
  let description = [{
    The statistics of rows are `#tile.slice<1, #tile.acc>`, those of columns
    `#tile.slice<0, #tile.acc>`.

    C1. dim is 0 or 1, the parent is a register layout.
    C2. the tile has rank 1 and the extent of some tile of the parent's layout.
  }];
  let parameters = (ins "int64_t":$dim, "::mlir::Attribute":$parent);
  let assemblyFormat = "`<` $dim `,` $parent `>`";
  let genVerifyDecl = 1;
}

def Tile_OperandAAttr : Tile_Attr<"OperandA", "operand_a", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>,
    DeclareAttrInterfaceMethods<Tile_LayoutAttrInterface>]> {
  let summary = "layout of the left operand of wgmma in registers";
  let description = [{
    For elements of `bits` bits when the product reads them; they may be wider
    before. With 16 bits it is `#tile.acc`. Example:
    `tensor<64x96xf8E4M3FN, #tile.operand_a<8>>`.

    C1. bits is 8 or 16.
    C2. rows are a power-of-two multiple of 64, columns a multiple of 32 with 8
        bits, of 16 with 16.
  }];
  let parameters = (ins "int64_t":$bits);
  let assemblyFormat = "`<` $bits `>`";
  let genVerifyDecl = 1;
}

def Tile_TransposingAttr : Tile_Attr<"Transposing", "transposing", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>,
    DeclareAttrInterfaceMethods<Tile_LayoutAttrInterface>]> {
  let summary = "layout of a tile on its way from rows to columns";
  let description = [{
    Two warps read 8-bit elements by `ldmatrix.trans` in it; transposed, and
    with the former rows relabeled, `stmatrix` writes them. Bytes that are
    unpacked have it too, and the 16-bit elements that they become. Example:
    `tensor<32x64xf8E4M3FN, #tile.transposing>`.

    C1. elements have 8 or 16 bits, rows are a multiple of 32, columns one of 16.
  }];
}

def Tile_RelabeledAttr : Tile_Attr<"Relabeled", "relabeled", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>,
    DeclareAttrInterfaceMethods<Tile_LayoutAttrInterface>]> {
  let summary = "layout of a tile after tile.relabel of one of layout parent";
  let description = [{
    Every register keeps its element. `#tile.relabeled<1, [0, 3, 1, 2], #tile.acc>`.

    C1. dim is 0 or 1, the parent is a register layout.
    C2. bits is a permutation of 0 to its size - 1.
    C3. the parent's layout exists for the tile and can be relabeled.
  }];
  let parameters = (ins "int64_t":$dim, ArrayRefParameter<"int64_t">:$bits,
                        "::mlir::Attribute":$parent);
  let assemblyFormat = "`<` $dim `,` `[` $bits `]` `,` $parent `>`";
  let genVerifyDecl = 1;
}

def Tile_TransposedAttr : Tile_Attr<"Transposed", "transposed", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>,
    DeclareAttrInterfaceMethods<Tile_LayoutAttrInterface>]> {
  let summary = "layout of a tile after tile.transpose of one of layout parent";
  let description = [{
    Every register keeps its element. `#tile.transposed<#tile.transposing>`.

    C1. the parent is a register layout that exists for the transposed tile.
  }];
  let parameters = (ins "::mlir::Attribute":$parent);
  let assemblyFormat = "`<` $parent `>`";
  let genVerifyDecl = 1;
}

def Tile_SmemAttr : Tile_Attr<"Smem", "smem", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>,
    DeclareAttrInterfaceMethods<Warp_StorageAttrInterface>]> {
  let summary = "layout of a tile in shared memory";
  let description = [{
    Blocks of `swizzle` bytes of columns; a block holds all rows, one after
    another, its 16-byte chunks permuted as TMA's swizzle mode of that width
    does. Columns beyond the tile's pad the last block and are zero. A tile of
    rank 1 is the first of eight rows, with anything in the columns that pad it.
    Example: `tensor<80x128xf16, #tile.smem<128>>`.

    C1. swizzle is 32, 64 or 128.
    C2. the tile has rank 1, or rank 2 and rows a multiple of 8, and elements of
        8, 16 or 32 bits.
  }];
  let parameters = (ins "int64_t":$swizzle);
  let assemblyFormat = "`<` $swizzle `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Columns of one block.
    int64_t getBlockColumns(::mlir::Type elementType) const;
    /// Columns after padding to whole blocks.
    int64_t getPaddedColumns(int64_t columns, ::mlir::Type elementType) const;
  }];
}

def Tile_SlottingAttr : Tile_Attr<"Slotting", "slotting"> {
  let summary = "stage and position of an operation in a software pipeline";
  let description = [{
    In step t the pipelined loop performs the operations of stage s for
    iteration t - s, in the order of their positions (see
    fa3/Scheduling/PipelineProblem.h). `#tile.slotting<stage = 1, order = 4>`.
  }];
  let parameters = (ins "int64_t":$stage, "int64_t":$order);
  let assemblyFormat = "`<` `stage` `=` $stage `,` `order` `=` $order `>`";
}

#endif // FA3_TILE_TYPES
