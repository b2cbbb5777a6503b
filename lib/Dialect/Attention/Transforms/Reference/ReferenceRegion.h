//===- ReferenceRegion.h - scalar code in references ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_REFERENCEREGION_H
#define FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_REFERENCEREGION_H

#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa3::attention {

/// An element of an auxiliary operand, 0 outside of it.
mlir::Value readElement(mlir::ImplicitLocOpBuilder &b,
                        mlir::tensor::ExtractOp extract,
                        mlir::IRMapping &mapping);

/// Whether a row, which some indices say, is one of the array.
mlir::Value buildIsInside(mlir::ImplicitLocOpBuilder &b, mlir::Value array,
                          llvm::ArrayRef<mlir::Value> place);

/// Copies an operation of a region, a division as what it is there.
void cloneScalar(mlir::ImplicitLocOpBuilder &b, mlir::Operation &op,
                 mlir::IRMapping &mapping);

/// What `attention.length` is; null for the extents of the host function.
struct SequenceLengths {
  mlir::Value queries, keys;
};

/// Copies the code of a region of attention to the insertion point, reading the
/// arrays of the host function, and gives what it yields.
llvm::SmallVector<mlir::Value> inlineRegion(mlir::ImplicitLocOpBuilder &b,
                                            HostFunction &host,
                                            mlir::Region &region,
                                            mlir::ValueRange arguments,
                                            SequenceLengths lengths = {});

/// The same of values of a region that are computed without its score.
llvm::SmallVector<mlir::Value>
inlineIndices(mlir::ImplicitLocOpBuilder &b, HostFunction &host,
              mlir::Region &region, mlir::ValueRange arguments,
              SequenceLengths lengths, mlir::ValueRange values);

/// What is added to the elements of an auxiliary operand, in f64.
struct ReadShift {
  mlir::Value tensor, amount;
};

/// The same with every number in f64: arguments and result are, conversions
/// between formats do nothing. Null, with an error, if the code looks at the
/// bits of a number.
mlir::Value inlineRegionWide(mlir::ImplicitLocOpBuilder &b, HostFunction &host,
                             mlir::Region &region, mlir::ValueRange arguments,
                             SequenceLengths lengths, ReadShift shift = {});

/// Whether lists of blocks of keys let query `i` see key `j`, where the mask
/// says `keep`, which is null for all; that itself without lists. `read` gives
/// what the region yields for a block of queries and an entry.
mlir::Value
buildListed(mlir::ImplicitLocOpBuilder &b, ScoredOpInterface op, mlir::Value i,
            mlir::Value j, mlir::Value keep,
            llvm::function_ref<llvm::SmallVector<mlir::Value>(
                mlir::Region &, mlir::Value block, mlir::Value entry)>
                read);

} // namespace fa3::attention

#endif // FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_REFERENCEREGION_H
