//===- SequencesOp.cpp - attention.sequences and attention.blocks ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Syntax and constraints of what attention is told of sequences and of visible
// blocks.
//===----------------------------------------------------------------------===//

#include "ScalarRegions.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fa3::attention;

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

ParseResult fa3::attention::parseIndexCode(OpAsmParser &parser, Region &region,
                                           StringRef keyword, unsigned count) {
  SmallVector<Type> types(count, parser.getBuilder().getIndexType());
  return parseOptionalRegion(parser, region, types, keyword);
}

void fa3::attention::printIndexCode(OpAsmPrinter &printer, Operation *,
                                    Region &region, StringRef keyword,
                                    unsigned) {
  printRegion(printer, keyword, region);
}

ParseResult fa3::attention::parseSizes(OpAsmParser &parser,
                                       DenseI64ArrayAttr &sizes) {
  SmallVector<int64_t> numbers;
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, [&] {
        return parser.parseInteger(numbers.emplace_back());
      }))
    return failure();
  sizes = parser.getBuilder().getDenseI64ArrayAttr(numbers);
  return success();
}

void fa3::attention::printSizes(OpAsmPrinter &printer, Operation *,
                                DenseI64ArrayAttr sizes) {
  printer << '[';
  llvm::interleaveComma(sizes.asArrayRef(), printer);
  printer << ']';
}

ParseResult fa3::attention::parseValueOf(
    OpAsmParser &parser, StringRef keyword,
    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operand) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  return parser.parseOperand(operand.emplace_back());
}

void fa3::attention::printDescriptions(OpAsmPrinter &printer,
                                       ScoredOpInterface op) {
  if (op.getSequences())
    printer << " sequences " << op.getSequences();
  if (op.getBlocks())
    printer << " blocks " << op.getBlocks();
}

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

LogicalResult SequencesOp::verifyRegions() {
  Type index = IndexType::get(getContext());
  if (failed(verifyScalarRegion(*this, /*aux=*/std::nullopt, getLengths(),
                                "lengths", index, {index, index})))
    return failure();
  for (auto [region, name] :
       {std::pair(&getPlaceQ(), "place_q"), {&getPlaceK(), "place_k"}})
    if (failed(verifyScalarRegion(*this, /*aux=*/std::nullopt, *region, name,
                                  {index, index, index}, {})))
      return failure();
  return success();
}

LogicalResult BlocksOp::verify() {
  if (getSizes().size() != 2)
    return emitOpError("expects two sizes, queries and keys of a block, got ")
           << getSizes().size();
  if (failed(verifySizesOfBlocks(*this, {getSizes()[0], getSizes()[1]})))
    return failure();
  if (getByQuery().empty() && getByKey().empty())
    return emitOpError("expects lists 'by_query' or 'by_key', got neither");
  return success();
}

LogicalResult BlocksOp::verifyRegions() {
  Type index = IndexType::get(getContext());
  SmallVector<Type> four(4, index);
  for (auto [region, name] :
       {std::pair(&getByQuery(), "by_query"), {&getByKey(), "by_key"}})
    if (failed(verifyScalarRegion(*this, /*aux=*/std::nullopt, *region, name,
                                  four, four)))
      return failure();
  return success();
}

LogicalResult fa3::attention::verifyReads(Operation *op, ValueRange aux,
                                          Region &region, StringRef name) {
  for (Operation &inner : region.getOps()) {
    bool isTensor = isa<tensor::ExtractOp, tensor::DimOp>(inner);
    if (isTensor ? llvm::is_contained(aux, inner.getOperand(0))
                 : !readsMemory(inner) || isMemoryOf(inner.getOperand(0), aux))
      continue;
    InFlightDiagnostic diagnostic = inner.emitOpError("in '")
                                    << name << "' reads "
                                    << (isTensor ? "a tensor" : "memory")
                                    << " that is not an auxiliary operand";
    diagnostic.attachNote(op->getLoc()) << "this takes what it computes";
    return diagnostic;
  }
  return success();
}

LogicalResult fa3::attention::verifyDescriptions(ScoredOpInterface op) {
  if (op.getSequences() && !op.getSequences().getDefiningOp<SequencesOp>())
    return op->emitOpError("expects sequences that are the result of "
                           "'attention.sequences'");
  if (op.getBlocks() && !op.getBlocks().getDefiningOp<BlocksOp>())
    return op->emitOpError("expects blocks that are the result of "
                           "'attention.blocks'");
  for (auto [region, name] : {std::pair(op.findLengths(), "lengths"),
                              {op.findPlace(Sequence::query), "place_q"},
                              {op.findPlace(Sequence::key), "place_k"},
                              {op.findList(Sequence::query), "by_query"},
                              {op.findList(Sequence::key), "by_key"}})
    if (region && failed(verifyReads(op, op.getAux(), *region, name)))
      return failure();
  return success();
}
