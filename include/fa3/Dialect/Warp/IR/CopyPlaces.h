//===- CopyPlaces.h - where pieces of a copy are ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Copies in pieces have a region that takes the number of a piece and yields
// its indices. It is written "(%n) { .. }"; tile and hopper share text and
// checks.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_WARP_IR_COPYPLACES_H
#define FA3_DIALECT_WARP_IR_COPYPLACES_H

#include "mlir/IR/OpImplementation.h"

namespace fa3::warp {

/// The regions of a copy: none, or one.
using PlaceRegions = llvm::SmallVectorImpl<std::unique_ptr<mlir::Region>>;

/// Parses "(%n) { .. }" with an argument of the given type.
mlir::ParseResult parsePlaces(mlir::OpAsmParser &parser, PlaceRegions &places,
                              mlir::Type number);
void printPlaces(mlir::OpAsmPrinter &printer, mlir::RegionRange places);

/// Checks that a copy has indices, or pieces and their region, which takes a
/// number and yields `rank` values of its type, computed by scalar code without
/// effects or regions. Errors are at `op`, or at an operation of the region.
mlir::LogicalResult verifyPlaces(mlir::Operation *op,
                                 llvm::MutableArrayRef<mlir::Region> places,
                                 std::optional<int64_t> pieces,
                                 size_t numIndices, size_t rank,
                                 mlir::Type number);

} // namespace fa3::warp

#endif // FA3_DIALECT_WARP_IR_COPYPLACES_H
