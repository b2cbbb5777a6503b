//===- Warp.h - the warp dialect --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Groups of warps joined by bounded FIFOs; see WarpBase.td.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_WARP_IR_WARP_H
#define FA3_DIALECT_WARP_IR_WARP_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fa3::warp {

/// How an access to the memory of a slot becomes complete.
enum class Completion {
  Synchronous,  ///< generic proxy, complete when the operation returns
  Transactions, ///< TMA load: the bytes are counted on the ring's barrier
  BulkGroup,    ///< TMA store: the source is read when its bulk group retires
  MatrixGroup,  ///< wgmma: operands are read when its wgmma group retires
};

/// Resource behind the effects of acquire, publish and release.
struct StateResource : public mlir::SideEffects::Resource::Base<StateResource> {
  llvm::StringRef getName() final { return "WarpState"; }
};

/// Operations whose use of a linear value does not consume it.
template <typename ConcreteType>
class BorrowsLinear
    : public mlir::OpTrait::TraitBase<ConcreteType, BorrowsLinear> {};

} // namespace fa3::warp

#include "fa3/Dialect/Warp/IR/WarpAttrInterfaces.h.inc"
#include "fa3/Dialect/Warp/IR/WarpDialect.h.inc"
#include "fa3/Dialect/Warp/IR/WarpEnums.h.inc"
#include "fa3/Dialect/Warp/IR/WarpOpInterfaces.h.inc"
#include "fa3/Dialect/Warp/IR/WarpTypeInterfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "fa3/Dialect/Warp/IR/WarpAttributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "fa3/Dialect/Warp/IR/WarpTypes.h.inc"
#define GET_OP_CLASSES
#include "fa3/Dialect/Warp/IR/WarpOps.h.inc"

namespace fa3::warp {

/// Bytes of shared memory a payload type takes; 0 for scalars and tokens.
int64_t getPayloadBytes(mlir::Type type);

/// Checks that every linear value defined in `region` (nested regions
/// included) is consumed once on every path. Emits an error at the value.
llvm::LogicalResult verifyLinearity(mlir::Region &region);

/// The `warp.cursor` a cursor value starts from, followed backwards through
/// acquires, loops and branches; null if it cannot be followed.
CursorOp findCursorOrigin(mlir::Value cursor);

} // namespace fa3::warp

#endif // FA3_DIALECT_WARP_IR_WARP_H
