//===- Labels.h - names of dimensions ---------------------------*- C++ -*-===//
//
// Every dimension of a problem has a label, shared by all tensors that have the
// dimension. A dimension of a tensor is a list of labels, outermost first:
// those that were collapsed into it. Seen through a reshape a label may turn
// out to consist of two.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_CONVERTTOATTENTION_LABELS_H
#define FA3_LIB_CONVERSION_CONVERTTOATTENTION_LABELS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace fa3::convert {

using Label = unsigned;
using Group = llvm::SmallVector<Label, 2>;
using Dims = llvm::SmallVector<Group, 5>;

/// A tensor and what its dimensions are.
struct State {
  mlir::Value value;
  Dims dims;
};

class Labels {
public:
  Label create(int64_t extent);
  /// A label for every extent.
  Dims create(llvm::ArrayRef<int64_t> extents);

  int64_t getExtent(Label label) const { return entries[label].extent; }
  /// The product, dynamic if one of them is.
  int64_t getExtent(llvm::ArrayRef<Label> labels) const;
  /// Takes note of an extent; fails if the label has another one.
  llvm::LogicalResult meet(Label label, int64_t extent);

  /// The labels that a list consists of now.
  Group resolve(llvm::ArrayRef<Label> labels) const;
  Dims resolve(const Dims &dims) const;
  /// The same without labels of one element.
  Group dropUnits(llvm::ArrayRef<Label> labels) const;

  /// Makes a label consist of an outer one of this extent and an inner one.
  /// The extent of one of the three may be dynamic, besides that of the label.
  std::pair<Label, Label> split(Label label, int64_t outer, int64_t inner);

  /// The labels of the dimensions that `group` was collapsed from. Splits
  /// labels where the extents ask for it.
  llvm::FailureOr<Dims> align(llvm::ArrayRef<Label> group,
                              llvm::ArrayRef<int64_t> extents);

private:
  struct Entry {
    int64_t extent;
    std::optional<std::pair<Label, Label>> parts;
  };
  llvm::SmallVector<Entry> entries;
};

/// The tensor that `state` is a view of, step by step: a transpose, a
/// broadcast, a collapsed shape, a cast between builtin tensors and those of
/// torch. Null value if it is none.
State peel(Labels &labels, const State &state);
/// The other way: what the only user of a tensor makes of it.
State follow(Labels &labels, const State &state);
/// `state` and all that it is a view of; `state` first.
llvm::SmallVector<State> peelAll(Labels &labels, State state);
llvm::SmallVector<State> followAll(Labels &labels, State state);

} // namespace fa3::convert

#endif // FA3_LIB_CONVERSION_CONVERTTOATTENTION_LABELS_H
