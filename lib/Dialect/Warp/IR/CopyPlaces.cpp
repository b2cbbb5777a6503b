//===- CopyPlaces.cpp - regions that say where pieces of a copy are -------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Warp/IR/CopyPlaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fa3;

ParseResult warp::parsePlaces(OpAsmParser &parser, PlaceRegions &places,
                              Type number) {
  OpAsmParser::Argument argument;
  if (parser.parseLParen() || parser.parseArgument(argument) ||
      parser.parseRParen())
    return failure();
  argument.type = number;
  places.push_back(std::make_unique<Region>());
  return parser.parseRegion(*places.back(), argument);
}

void warp::printPlaces(OpAsmPrinter &printer, RegionRange places) {
  printer << '(';
  Region *region = places.empty() ? nullptr : places.front();
  if (region && !region->empty() && region->getNumArguments() != 0)
    printer.printRegionArgument(region->getArgument(0), {}, /*omitType=*/true);
  printer << ") ";
  if (region)
    printer.printRegion(*region, /*printEntryBlockArgs=*/false);
}

LogicalResult warp::verifyPlaces(Operation *op, MutableArrayRef<Region> places,
                                 std::optional<int64_t> pieces,
                                 size_t numIndices, size_t rank, Type number) {
  if (!pieces) {
    if (!places.empty())
      return op->emitOpError("expects pieces with a region of their places");
    return success();
  }
  if (*pieces < 1)
    return op->emitOpError("expects at least 1 piece, got ") << *pieces;
  if (numIndices != 0)
    return op->emitOpError("expects the region to give the places of pieces, "
                           "got ")
           << numIndices << " indices beside it";
  if (places.size() != 1 || !places.front().hasOneBlock() ||
      places.front().getNumArguments() != 1 ||
      places.front().getArgument(0).getType() != number)
    return op->emitOpError("expects a region of one block that takes the "
                           "number of a piece (")
           << number << ")";
  Block &block = places.front().front();
  for (Operation &inner : block.without_terminator())
    if (!isMemoryEffectFree(&inner) || inner.getNumRegions() != 0 ||
        !llvm::all_of(inner.getResultTypes(),
                      [](Type type) { return type.isIntOrIndexOrFloat(); }))
      return inner.emitOpError("is not allowed where pieces lie, which scalar "
                               "code without effects or regions says");
  TypeRange yielded = block.getTerminator()->getOperandTypes();
  if (yielded.size() != rank ||
      !llvm::all_of(yielded, [&](Type type) { return type == number; }))
    return op->emitOpError("expects the region to yield one ")
           << number << " per dimension (" << rank << "), got (" << yielded
           << ")";
  return success();
}
