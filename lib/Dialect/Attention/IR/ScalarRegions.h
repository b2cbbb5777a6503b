//===- ScalarRegions.h - regions of scalar code -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What the syntax and the constraints of forward and backward share.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_DIALECT_ATTENTION_IR_SCALARREGIONS_H
#define FA3_LIB_DIALECT_ATTENTION_IR_SCALARREGIONS_H

#include "fa3/Dialect/Attention/IR/Attention.h"

namespace fa3::attention {

/// Head dims of 16-bit operands: 512 and 64 columns beside them for keys, which
/// fit shared memory as rows of queries and keys; two sums for values.
inline constexpr int64_t kMostQueryDim = 576, kMostValueDim = 512;

/// Prints a region behind its keyword; nothing if it is empty.
void printRegion(mlir::OpAsmPrinter &printer, llvm::StringRef keyword,
                 mlir::Region &region);

/// Parses `(%a, %b, ..) { .. }`; the types are the first `types.size()` given.
mlir::ParseResult parseRegion(mlir::OpAsmParser &parser, mlir::Region &region,
                              llvm::ArrayRef<mlir::Type> types,
                              llvm::StringRef keyword);

/// Parses a keyword and the region behind it, if they are there.
mlir::ParseResult parseOptionalRegion(mlir::OpAsmParser &parser,
                                      mlir::Region &region,
                                      llvm::ArrayRef<mlir::Type> types,
                                      llvm::StringRef keyword);

/// Parses `keyword(%a, %b : types)`, if it is there; `loc` is where it would
/// be.
mlir::ParseResult parseTypedOperands(
    mlir::OpAsmParser &parser, llvm::StringRef keyword,
    llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &operands,
    llvm::SmallVectorImpl<mlir::Type> &types, llvm::SMLoc &loc);

/// Parses `layout bshd`, if it is there, to an attribute of this name.
mlir::ParseResult parseLayout(mlir::OpAsmParser &parser,
                              mlir::OperationState &result,
                              mlir::StringAttr name);

/// Parses `kept_scale 1.25`, if it is there, to an attribute of this name, and
/// prints it.
mlir::ParseResult parseKeptScale(mlir::OpAsmParser &parser,
                                 mlir::OperationState &result,
                                 mlir::StringAttr name);
void printKeptScale(mlir::OpAsmPrinter &printer, ScoredOpInterface op);

/// Parses `group 4`, if it is there, to an attribute of this name.
mlir::ParseResult parseGroup(mlir::OpAsmParser &parser,
                             mlir::OperationState &result,
                             mlir::StringAttr name);

/// C26 of forward and C30 of backward, for these numbers of heads.
mlir::LogicalResult verifyGroup(mlir::Operation *op,
                                std::optional<int64_t> group, int64_t heads,
                                int64_t keyHeads);

/// C11 and C12 of both operations, C23 of forward.
mlir::LogicalResult verifyScaleAndMods(ScoredOpInterface op);

/// C7 to C10 of both operations, C22 of forward and C15 of backward, for one
/// region, and the constraints of what describes sequences and blocks. `aux`
/// are the tensors that it may read, null for any; `results` are null for any
/// number of indices.
mlir::LogicalResult verifyScalarRegion(mlir::Operation *op,
                                       std::optional<mlir::ValueRange> aux,
                                       mlir::Region &region,
                                       llvm::StringRef name,
                                       llvm::ArrayRef<mlir::Type> arguments,
                                       llvm::ArrayRef<mlir::Type> results);
inline mlir::LogicalResult
verifyScalarRegion(ScoredOpInterface op, mlir::Region &region,
                   llvm::StringRef name, llvm::ArrayRef<mlir::Type> arguments,
                   llvm::ArrayRef<mlir::Type> results) {
  return verifyScalarRegion(op.getOperation(), op.getAux(), region, name,
                            arguments, results);
}

/// C27 and C28 of forward, C22 and C23 of backward.
mlir::LogicalResult verifyKeepMod(ScoredOpInterface op);

/// The region of C30 of forward and of C27 of backward.
mlir::LogicalResult verifyEpilogue(ScoredOpInterface op);
/// C31.
mlir::LogicalResult verifyPlain(ForwardOp op);
/// C27 and C28 of backward, but for `epilogue` itself.
mlir::LogicalResult verifyEpilogueGrad(BackwardOp op);

/// C31 to C33 of attention.backward: 8-bit copies and their scales.
mlir::LogicalResult verifyCopies(BackwardOp op);

/// C18 of forward and C20 of backward: a place comes with lengths.
mlir::LogicalResult verifyPlaces(ScoredOpInterface op);

/// Sequences and blocks are of the operations for that, and their code reads
/// auxiliary operands: C16 and C17 of forward, C18 and C19 of backward.
mlir::LogicalResult verifyDescriptions(ScoredOpInterface op);
/// The same for one region.
mlir::LogicalResult verifyReads(mlir::Operation *op, mlir::ValueRange aux,
                                mlir::Region &region, llvm::StringRef name);

/// Parses and prints `sequences %s` and `blocks %l`, as far as they are there.
mlir::ParseResult parseValueOf(
    mlir::OpAsmParser &parser, llvm::StringRef keyword,
    llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &operand);
void printDescriptions(mlir::OpAsmPrinter &printer, ScoredOpInterface op);

/// Directives of attention.sequences and attention.blocks: a keyword and code
/// that takes `count` indices, and sizes in brackets.
mlir::ParseResult parseIndexCode(mlir::OpAsmParser &parser,
                                 mlir::Region &region, llvm::StringRef keyword,
                                 unsigned count);
void printIndexCode(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                    mlir::Region &region, llvm::StringRef keyword,
                    unsigned count);
mlir::ParseResult parseSizes(mlir::OpAsmParser &parser,
                             mlir::DenseI64ArrayAttr &sizes);
void printSizes(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                mlir::DenseI64ArrayAttr sizes);

/// Whether an operation reads memory, as bufferization has it, and whether that
/// is the memory of an auxiliary operand.
bool readsMemory(mlir::Operation &op);
bool isMemoryOf(mlir::Value memory, mlir::ValueRange aux);

/// C25 of both operations.
mlir::LogicalResult verifyLists(ScoredOpInterface op);
/// C1 of attention.blocks.
mlir::LogicalResult verifySizesOfBlocks(mlir::Operation *op,
                                        std::pair<int64_t, int64_t> sizes);

} // namespace fa3::attention

#endif // FA3_LIB_DIALECT_ATTENTION_IR_SCALARREGIONS_H
