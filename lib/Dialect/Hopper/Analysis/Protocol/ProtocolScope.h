//===- ProtocolScope.h - parts of a protocol shown apart --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Leaving barriers and memory out of an exploration takes waits and orders
// away, so what is right without them is right with them. Rings are explored
// one by one instead of in all positions relative to each other. See
// docs/Protocol.md, "Parts".
//
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_PROTOCOLSCOPE_H
#define FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_PROTOCOLSCOPE_H

#include "ProtocolModel.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace fa3::hopper {

/// What an exploration looks at.
struct ProtocolScope {
  enum class Kind {
    All,       ///< everything at once
    Part,      ///< some arrays of mbarriers, and the memory they guard
    Registers, ///< products and the registers they use, of one group
    Turns      ///< named barriers at which replicas take turns
  } kind = Kind::All;
  llvm::BitVector arrays; ///< of a part, by number in the model
  llvm::SmallPtrSet<mlir::Operation *, 4> buffers; ///< of a part
  /// Products or bulk stores of the part's buffers need to be followed.
  bool hasProducts = false, hasCopies = false;

  bool hasArray(const ProtocolModel &model, mlir::Value barrier) const {
    return kind == Kind::All ||
           (kind == Kind::Part && arrays.test(model.barrierOf.lookup(barrier)));
  }
  bool hasBuffer(mlir::Value buffer) const {
    return kind == Kind::All ||
           (kind == Kind::Part && buffers.contains(buffer.getDefiningOp()));
  }
  /// Whether fragments and products are matched with the waits that name them.
  bool hasRegisters() const {
    return kind == Kind::All || kind == Kind::Registers;
  }
};

/// Parts that together hold all arrays and buffers of a kernel; memory that
/// overlaps is in one part. How good they are decides only whether the proof
/// succeeds.
std::vector<ProtocolScope> partition(const ProtocolModel &model);

} // namespace fa3::hopper

#endif // FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_PROTOCOLSCOPE_H
