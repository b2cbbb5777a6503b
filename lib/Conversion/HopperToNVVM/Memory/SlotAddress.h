//===- SlotAddress.h - addresses within a slot of a buffer ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_HOPPERTONVVM_MEMORY_SLOTADDRESS_H
#define FA3_LIB_CONVERSION_HOPPERTONVVM_MEMORY_SLOTADDRESS_H

#include "../Patterns.h"

namespace fa3 {

/// Swizzled addresses within one slot of a buffer. A row starts at a multiple
/// of the swizzle width and only the 16-byte chunks within a row of a block are
/// permuted, so an address is (start of the row) + (chunk ^ bits of the row).
class SlotAddress {
public:
  SlotAddress(mlir::OpBuilder &builder, mlir::Location loc,
              hopper::BufferType type, mlir::Value buffer, mlir::Value index)
      : ints(builder, loc), type(type) {
    base = ints.add(buffer, ints.mul(index, type.getSlotBytes()));
  }

  /// Start of a row in the first block.
  mlir::Value getRow(mlir::Value row) {
    return ints.add(base, ints.mul(row, type.getSwizzle()));
  }
  int64_t getRowOffset(int64_t row) const { return row * type.getSwizzle(); }
  int64_t getBlockColumns() const { return type.getBlockColumns(); }
  /// What the chunks of a row are XORed with, as a byte offset.
  mlir::Value getMask(mlir::Value row) {
    // Address bits 7 and up, which the row decides.
    mlir::Value bits = ints.shiftRight(ints.mul(row, type.getSwizzle()), 7);
    return ints.mul(ints.bitAnd(bits, type.getSwizzle() / 16 - 1), 16);
  }
  /// Byte offset of the block of a column, and of the column within it.
  int64_t getBlock(int64_t column) const {
    return column / type.getBlockColumns() * type.getBlockBytes();
  }
  int64_t getInBlock(int64_t column) const {
    return column % type.getBlockColumns() * type.getElementBytes();
  }
  mlir::Value getBlock(mlir::Value column) {
    return ints.mul(ints.div(column, type.getBlockColumns()),
                    type.getBlockBytes());
  }
  mlir::Value getInBlock(mlir::Value column) {
    return ints.mul(ints.rem(column, type.getBlockColumns()),
                    type.getElementBytes());
  }

private:
  IntegerBuilder ints;
  hopper::BufferType type;
  mlir::Value base;
};

} // namespace fa3

#endif // FA3_LIB_CONVERSION_HOPPERTONVVM_MEMORY_SLOTADDRESS_H
