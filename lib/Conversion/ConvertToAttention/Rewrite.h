//===- Rewrite.h - operations around an attention ---------------*- C++ -*-===//
//
// What comes in front of an attention and behind it where another project has
// all of it in one operation: slices, transposes, rotation, caches. All of it
// is taken back if the attention cannot be converted.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_CONVERTTOATTENTION_REWRITE_H
#define FA3_LIB_CONVERSION_CONVERTTOATTENTION_REWRITE_H

#include "AttentionProblem.h"
#include "fa3/Dialect/Attention/IR/Attention.h"

namespace fa3::convert {

/// Operations are made in front of `op`. Functions that give a value give null
/// for null, and where the shapes of their operands are not known well enough.
class Rewrite {
public:
  explicit Rewrite(mlir::Operation *op);
  Rewrite(const Rewrite &) = delete;
  /// Everything is as it was, but for what was finished.
  ~Rewrite();

  mlir::Value take(mlir::Value value) {
    return value ? toBuiltin(b, loc, value) : value;
  }
  /// (b, s, h * d) as (b, s, h, d), and back.
  mlir::Value splitHeads(mlir::Value flat, int64_t heads);
  mlir::Value joinHeads(mlir::Value value);
  /// Columns of (b, s, columns).
  mlir::Value takeColumns(mlir::Value value, int64_t first, int64_t count);
  /// (b, s, h, d) as (b, h, s, d), and back.
  mlir::Value exchange(mlir::Value value);
  /// A tensor of rank 1 with the numbers that `edit` makes of those of another.
  mlir::Value mapElements(
      mlir::Value value, mlir::Type element,
      llvm::function_ref<mlir::Value(mlir::ImplicitLocOpBuilder &, mlir::Value)>
          edit);
  /// Integers of one dimension, (b) or (b, 1), as i32, each changed by `edit`.
  mlir::Value mapIntegers(
      mlir::Value value,
      llvm::function_ref<mlir::Value(mlir::ImplicitLocOpBuilder &, mlir::Value)>
          edit);
  /// An extent as a constant or as a value, and as i32.
  mlir::OpFoldResult getExtent(mlir::Value value, int64_t dim);
  mlir::Value getExtentAsI32(mlir::Value value, int64_t dim);
  /// A tensor of zeros.
  mlir::Value fill(llvm::ArrayRef<mlir::OpFoldResult> extents,
                   mlir::Type element);
  /// Puts `source` into `target` behind `first` rows of dimension 2.
  mlir::Value insertRows(mlir::Value source, mlir::Value target,
                         mlir::OpFoldResult first);
  /// `table` at positions (b, s): rows of a table of its own, in which sequence
  /// b starts at s * b; (b, s, r) is such a table with another shape.
  mlir::Value takeRows(mlir::Value table, mlir::Value positions);
  mlir::Value joinRows(mlir::Value table);
  /// Where the sequences start there: 0, s, 2 s, ..
  mlir::Value getStarts(mlir::Value table);
  mlir::Value rotate(mlir::Value value, mlir::Value cos, mlir::Value sin,
                     mlir::Value first, bool interleaved,
                     attention::Layout layout);
  mlir::Value append(mlir::Value rows, mlir::Value cache, mlir::Value first);

  /// A value of a result's type; null if that is another one.
  mlir::Value like(mlir::Value value, mlir::Value result);
  /// An operation of the name of `op` on (b, h, s, d), with one result.
  mlir::Operation *createInner(mlir::Value q, mlir::Value k, mlir::Value v);

  /// Whether what was made is valid; says in a remark why not.
  llvm::LogicalResult check();
  /// Users of a result of `op` use a value instead.
  void replace(mlir::Value result, mlir::Value value);
  llvm::LogicalResult refuse(const llvm::Twine &reason) {
    return fa3::convert::refuse(op, reason);
  }
  /// The end: `op` goes, and what only it has used.
  void finish();

private:
  /// Null when it is finished.
  mlir::Operation *op;
  Recorder recorder;

public:
  mlir::OpBuilder b;
  mlir::Location loc;

private:
  llvm::SmallVector<std::pair<mlir::OpOperand *, mlir::Value>> replaced;
};

} // namespace fa3::convert

#endif // FA3_LIB_CONVERSION_CONVERTTOATTENTION_REWRITE_H
