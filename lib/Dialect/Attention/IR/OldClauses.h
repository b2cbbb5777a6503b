//===- OldClauses.h - sequences and lists as they were written --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// `max_q`, `lengths`, `place_q`, `place_k`, `blocks [m, n]` and `blocks_by_key`
// were clauses of attention, and `place` one of attention.append, until they
// became attention.sequences and attention.blocks. Their text is read as these
// operations in front; it is not printed. docs/Rationale.md says until when.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_DIALECT_ATTENTION_IR_OLDCLAUSES_H
#define FA3_LIB_DIALECT_ATTENTION_IR_OLDCLAUSES_H

#include "fa3/Dialect/Attention/IR/Attention.h"

namespace fa3::attention {

/// What an operation says in clauses of its own.
class OldClauses {
public:
  OldClauses(mlir::OpAsmParser &parser, mlir::OperationState &result)
      : parser(parser), result(result), loc(parser.getNameLoc()) {}

  /// Reads the clauses that are there, each at its place in the text.
  mlir::ParseResult parseMaxQ();
  mlir::ParseResult parseSequences();
  mlir::ParseResult parseBlocks(bool withKeys);
  mlir::ParseResult parsePlace();

  /// Emits what was read, in front of the operation, whose operands are
  /// resolved, and adds the results to these. Segment `number` is that of the
  /// sequences; that of the blocks, if there is one, comes behind it.
  mlir::ParseResult build(llvm::MutableArrayRef<int32_t> segments,
                          unsigned number);

private:
  /// The clause that names what was read; empty if nothing was.
  llvm::StringRef getClauseOfSequences();
  llvm::StringRef getClauseOfBlocks();
  /// The block that the operation is read into: that of all that it uses.
  mlir::Block *findBlock(mlir::ValueRange operands,
                         llvm::ArrayRef<mlir::Region *> regions);
  template <typename Op, typename... Arguments>
  mlir::Value create(mlir::ValueRange operands,
                     llvm::ArrayRef<mlir::Region *> regions,
                     llvm::StringRef clause, Arguments &&...arguments);
  mlir::ParseResult createSequences(llvm::StringRef clause,
                                    mlir::Value &sequences);
  mlir::ParseResult createBlocks(llvm::StringRef clause, mlir::Value &blocks);

  mlir::OpAsmParser &parser;
  mlir::OperationState &result;
  llvm::SMLoc loc;
  std::optional<mlir::OpAsmParser::UnresolvedOperand> maxQ;
  mlir::Region lengths, placeQ, placeK, byQuery, byKey;
  llvm::SmallVector<int64_t, 2> sizes;
};

} // namespace fa3::attention

#endif // FA3_LIB_DIALECT_ATTENTION_IR_OLDCLAUSES_H
