//===- HopperTypes.td - types and attributes of hopper -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_HOPPER_TYPES
#define FA3_HOPPER_TYPES

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "fa3/Dialect/Warp/IR/WarpInterfaces.td"
include "fa3/Dialect/Hopper/IR/HopperBase.td"
include "fa3/Dialect/Hopper/IR/HopperEnums.td"


class Hopper_Type<string name, string mnem, list<Trait> traits = []>
    : TypeDef<Hopper_Dialect, name, traits> {
  let mnemonic = mnem;
}

def Hopper_BarrierType : Hopper_Type<"Barrier", "barrier"> {
  let summary = "array of mbarriers in shared memory";
  let description = [{
    `count` mbarriers of 8 bytes; a phase completes after `arrivals` arrivals
    and all expected transaction bytes. `!hopper.barrier<2, 3>`.

    C1. count and arrivals are at least 1, arrivals at most 2^20 - 1.
  }];
  let parameters = (ins "int64_t":$count, "int64_t":$arrivals);
  let assemblyFormat = "`<` $count `,` $arrivals `>`";
  let genVerifyDecl = 1;
}

def Hopper_BufferType : Hopper_Type<"Buffer", "buffer"> {
  let summary = "slots for tiles in shared memory";
  let description = [{
    `slots` tiles; each is stored as blocks of `swizzle` bytes of columns, a
    block holding all rows, with the 16-byte chunks of TMA's swizzle mode. The
    tile's columns fill whole blocks. `!hopper.buffer<2, tensor<80x128xf16>, 128>`.

    C1. slots is at least 1.
    C2. swizzle is 32, 64 or 128.
    C3. the tile has rank 2, rows a positive multiple of 8, elements of 8, 16 or
        32 bits, and columns that fill one or more blocks.
  }];
  let parameters = (ins "int64_t":$slots, "::mlir::RankedTensorType":$tile,
                        "int64_t":$swizzle);
  let assemblyFormat = "`<` $slots `,` $tile `,` $swizzle `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRows() const { return getTile().getDimSize(0); }
    int64_t getColumns() const { return getTile().getDimSize(1); }
    int64_t getElementBytes() const {
      return getTile().getElementTypeBitWidth() / 8;
    }
    /// Columns of one block, and its bytes.
    int64_t getBlockColumns() const { return getSwizzle() / getElementBytes(); }
    int64_t getBlockBytes() const { return getRows() * getSwizzle(); }
    int64_t getSlotBytes() const {
      return getRows() * getColumns() * getElementBytes();
    }
    /// The same bytes with other elements, blocks as wide in bytes.
    BufferType withElementType(::mlir::Type element) const;
    /// Byte offset of 16-byte chunk (row, column) within a slot, swizzled.
    int64_t getByteOffset(int64_t row, int64_t column) const;
  }];
}

def Hopper_MailboxType : Hopper_Type<"Mailbox", "mailbox"> {
  let summary = "slots for one i32 each in shared memory";
  let description = [{
    `!hopper.mailbox<2>`.

    C1. slots is at least 1.
  }];
  let parameters = (ins "int64_t":$slots);
  let assemblyFormat = "`<` $slots `>`";
  let genVerifyDecl = 1;
}

def Hopper_TensorMapType : Hopper_Type<"TensorMap", "tensormap"> {
  let summary = "TMA descriptor of a global array";
  let description = [{
    `box` is the extent of one copy per dimension, outermost first.
    `!hopper.tensormap<[1, 1, 80, 64], f16, 128>`.

    C1. the box has 1 to 5 dimensions of 1 to 256 elements.
    C2. swizzle is 32, 64 or 128.
    C3. elements have 8, 16 or 32 bits; the last extent is a multiple of 16
        bytes up to the swizzle.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$box,
                        "::mlir::Type":$elementType, "int64_t":$swizzle);
  let assemblyFormat = "`<` `[` $box `]` `,` $elementType `,` $swizzle `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Rows of a box in shared memory: all dimensions but the last.
    int64_t getBoxRows() const {
      int64_t rows = 1;
      for (int64_t extent : getBox().drop_back())
        rows *= extent;
      return rows;
    }
  }];
}

def Hopper_DescType : Hopper_Type<"Desc", "desc"> {
  let summary = "wgmma matrix descriptor of a window of a buffer slot";
  let description = [{
    Start address plus the strides that follow from the rows of the slot, the
    swizzle and the contiguous dimension. `!hopper.desc<80, f16, 128, k>`.

    C1. rows is a positive multiple of 8.
    C2. swizzle is 32, 64 or 128; elements have 8, 16 or 32 bits.
  }];
  let parameters = (ins "int64_t":$rows, "::mlir::Type":$elementType,
                        "int64_t":$swizzle, "::fa3::hopper::Major":$major);
  let assemblyFormat = "`<` $rows `,` $elementType `,` $swizzle `,` $major `>`";
  let genVerifyDecl = 1;
}

def Hopper_InflightType : Hopper_Type<"Inflight", "inflight",
    [DeclareTypeInterfaceMethods<Warp_LinearTypeInterface>]> {
  let summary = "fragment that a wgmma is still writing";
  let description = [{
    Linear: `hopper.wgmma.wait` turns it into a value, or a further product
    accumulates into it. `!hopper.inflight<vector<40xf32>>`.
  }];
  let parameters = (ins "::mlir::VectorType":$fragment);
  let builders = [TypeBuilderWithInferredContext<(ins "::mlir::VectorType":$fragment), [{
    return $_get(fragment.getContext(), fragment);
  }]>];
  let assemblyFormat = "`<` $fragment `>`";
}

def Hopper_GroupType : Hopper_Type<"Group", "group"> {
  let summary = "a committed group of wgmma operations";
  let description = [{ Copyable; what waits may name. }];
}

def Hopper_FragmentAttr : AttrDef<Hopper_Dialect, "Fragment"> {
  let mnemonic = "fragment";
  let summary = "which elements of a tile a thread of a warp group holds";
  let description = [{
    Normal form of a register layout (see fa3/Layout/LinearLayout.h): for every
    bit of register, lane and warp number the offset that it adds, then odd
    repeats of registers as [dimension, stride, count].

    C1. the shape has 1 to 3 positive extents; bases and repeats fit its rank.
    C2. a warp has 5 lane bits; there are at most 3 warp bits and 1024 registers.
    C3. repeats have odd counts of at least 3; no element lies outside the shape.
  }];
  let parameters = (ins AttrOrTypeParameter<"::fa3::LinearLayout", "register layout",
                                           "const ::fa3::LinearLayout &">:$layout);
  let hasCustomAssemblyFormat = 1;
}

#endif // FA3_HOPPER_TYPES
