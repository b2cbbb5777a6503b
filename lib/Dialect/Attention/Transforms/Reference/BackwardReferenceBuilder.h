//===- BackwardReferenceBuilder.h - loops of the gradients ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What BackwardReference.cpp and BackwardReferenceAux.cpp are parts of.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_BACKWARDREFERENCEBUILDER_H
#define FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_BACKWARDREFERENCEBUILDER_H

#include "BackwardReference.h"
#include "QuantizeReference.h"
#include "ReferenceLoops.h"
#include "ReferenceRegion.h"
#include "fa3/Dialect/Attention/IR/AuxPlace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fa3::attention {

class BackwardReference : ReferenceLoops {
public:
  BackwardReference(HostFunction &host, Precision precision)
      : ReferenceLoops(host.backward.getLoc(), host.getBuilder()), host(host),
        op(host.backward), isLow(precision == Precision::low) {
    compute = isLow ? b.getF32Type() : b.getF64Type();
    headDim = index(op.getHeadDim());
    valueHeadDim = index(op.getValueHeadDim());
    group = mlir::arith::DivUIOp::create(b, host.heads, host.keyHeads);
    scale = widen(host.scale);
    for (auto [number, target] :
         llvm::zip_equal(op.getAuxNumbers(), host.auxGrads)) {
      // The verifier has looked at the place.
      mlir::FailureOr<AuxPlace> place = getAuxPlace(op, number);
      std::vector<AuxSum> &sums = place->isOfEpilogue ? edits : aux;
      if (!place->isOfEpilogue)
        ofGroups &= place->has(AuxIndex::Batch) && place->has(AuxIndex::Head);
      sums.push_back({op.getAux()[number], target, *place, {}});
    }
  }

  mlir::Value build(std::optional<std::pair<mlir::Value, mlir::Value>> slice);

private:
  /// The gradient of an auxiliary operand, and its sums: of the heads of a
  /// group, or of all.
  struct AuxSum {
    mlir::Value tensor, target;
    AuxPlace place;
    mlir::Value sums;
  };
  /// The product of a query and a key, and what code makes of it.
  struct Score {
    mlir::Value product, value;
  };
  /// Derivatives of a score; null without code.
  struct Derivatives {
    mlir::Value ofProduct;
    llvm::SmallVector<mlir::Value> ofAux;
  };

  /// Sets the lengths of a sequence.
  void setLengths(mlir::Value batch);
  /// Where a query or key is, in its arrays.
  llvm::SmallVector<mlir::Value> getPlace(Sequence sequence, mlir::Value batch,
                                          mlir::Value h, mlir::Value row);
  /// Runs `body` if the row is one of the array, which without a place it is.
  void ifInside(Sequence sequence, llvm::ArrayRef<mlir::Value> place,
                llvm::function_ref<void()> body);
  /// The sum of products of `count` elements of two rows.
  mlir::Value dot(mlir::Value count, mlir::Value x, mlir::ValueRange atX,
                  mlir::Value y, mlir::ValueRange atY);
  /// target[at, c] += factor * source[from, c].
  void addScaled(mlir::Value count, mlir::Value target, mlir::Value at,
                 mlir::Value factor, mlir::Value source, mlir::ValueRange from);
  void fillZero(mlir::Value array, mlir::Value rows, mlir::Value columns);
  /// Stores `factor` times a row of sums.
  void storeRow(mlir::Value count, mlir::Value sums, mlir::Value at,
                mlir::Value factor, mlir::Value target, mlir::ValueRange to);

  void buildGroup(mlir::Value batch, mlir::Value keyHead);
  void buildRow(mlir::Value batch, mlir::Value h, mlir::Value keyHead,
                mlir::Value i, llvm::ArrayRef<mlir::Value> at);
  /// Runs `body` for each key that a query sees, with its place.
  void forVisible(
      mlir::Value batch, mlir::Value h, mlir::Value keyHead, mlir::Value i,
      llvm::function_ref<void(mlir::Value, llvm::ArrayRef<mlir::Value>)> body);
  /// What the rounding of lse left of the logarithm of a row's sum.
  mlir::Value buildRest(mlir::Value batch, mlir::Value h, mlir::Value keyHead,
                        mlir::Value i, llvm::ArrayRef<mlir::Value> at,
                        mlir::Value lse);
  void buildPair(llvm::ArrayRef<mlir::Value> place,
                 llvm::ArrayRef<mlir::Value> ofQuery,
                 llvm::ArrayRef<mlir::Value> ofKey, mlir::Value lse,
                 mlir::Value rest, mlir::Value delta);
  /// The product of the scales of 8-bit copies at a place, 1 without any.
  mlir::Value getUnit(llvm::ArrayRef<unsigned> copies,
                      llvm::ArrayRef<mlir::Value> place);
  Score buildScore(llvm::ArrayRef<mlir::Value> place,
                   llvm::ArrayRef<mlir::Value> ofQuery,
                   llvm::ArrayRef<mlir::Value> ofKey);
  /// Those of `region` at x, by differences, and by `rules` where there are
  /// none.
  Derivatives buildDerivatives(mlir::Region &region, mlir::Region &rules,
                               llvm::ArrayRef<AuxSum> sums, mlir::Value x,
                               mlir::ValueRange place);
  /// The gradient with respect to the output of a query, from that with respect
  /// to what is stored.
  void editGradient(mlir::ValueRange place, llvm::ArrayRef<mlir::Value> at);
  /// Where an element of an auxiliary operand is, in its sums or in memory.
  llvm::SmallVector<mlir::Value> getAuxIndices(const AuxPlace &place,
                                               mlir::Value batch, mlir::Value h,
                                               mlir::Value i, mlir::Value j);
  void addToAux(llvm::ArrayRef<mlir::Value> gradients, mlir::Value batch,
                mlir::Value h, mlir::Value i, mlir::Value j);
  /// The same of a table, of which the pair at `place` says what it reads.
  void addToTable(const AuxSum &sum, mlir::Value gradient,
                  llvm::ArrayRef<mlir::Value> place);
  void allocateAux();
  /// Sets the sums to zero, or stores and frees them. `batch` and the head
  /// `first` are those of a group.
  void clearAux();
  void storeAux(mlir::Value batch, mlir::Value first);
  void loopOver(const AuxSum &sum,
                llvm::function_ref<void(mlir::ValueRange)> body);

  mlir::Value number(double value) {
    return mlir::arith::ConstantOp::create(b, b.getFloatAttr(compute, value));
  }
  mlir::Value load(mlir::Value memref, mlir::ValueRange at) {
    return widen(mlir::memref::LoadOp::create(b, memref, at));
  }
  mlir::Value widen(mlir::Value value) { return convert(value, compute); }
  mlir::Value convert(mlir::Value value, mlir::Type type) {
    if (value.getType().getIntOrFloatBitWidth() == 8)
      value = decodeFloat8(b, value);
    unsigned from = value.getType().getIntOrFloatBitWidth(),
             to = type.getIntOrFloatBitWidth();
    if (from < to)
      return mlir::arith::ExtFOp::create(b, type, value);
    return from > to ? mlir::arith::TruncFOp::create(b, type, value).getResult()
                     : value;
  }
  /// To the element type and back where the precision asks for it.
  mlir::Value round(mlir::Value value) {
    return isLow ? widen(convert(value, op.getElementType())) : value;
  }
  mlir::Value mul(mlir::Value x, mlir::Value y) {
    return mlir::arith::MulFOp::create(b, x, y);
  }
  mlir::Value add(mlir::Value x, mlir::Value y) {
    return mlir::arith::AddFOp::create(b, x, y);
  }
  mlir::Value sub(mlir::Value x, mlir::Value y) {
    return mlir::arith::SubFOp::create(b, x, y);
  }
  mlir::Value isEqual(mlir::Value x, mlir::Value y) {
    return mlir::arith::CmpFOp::create(b, mlir::arith::CmpFPredicate::OEQ, x,
                                       y);
  }

  HostFunction &host;
  BackwardOp op;
  bool isLow, hasFailed = false;
  mlir::Type compute;
  mlir::Value headDim, valueHeadDim, group, scale;
  mlir::Value dq, dk, dv; ///< sums of one query and of the keys of one head
  mlir::Value total;      ///< the sum of weights of one query
  /// The gradient with respect to o, and where the query at hand is in it.
  mlir::Value outGrad;
  llvm::SmallVector<mlir::Value> atGrad;
  /// Of the sequence at hand: what `attention.length` is, and how many queries
  /// are computed.
  SequenceLengths lengths;
  mlir::Value rows;
  std::vector<AuxSum> aux;
  /// The same of operands that `epilogue` reads, where an element belongs to
  /// one query of one head; their sums are of the columns of one.
  std::vector<AuxSum> edits;
  /// Whether no element of them is shared by groups of heads.
  bool ofGroups = true;
  mlir::Value firstHead; ///< of the group at hand
};

} // namespace fa3::attention

#endif // FA3_LIB_DIALECT_ATTENTION_TRANSFORMS_REFERENCE_BACKWARDREFERENCEBUILDER_H
