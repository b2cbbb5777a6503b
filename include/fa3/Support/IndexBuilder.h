//===- IndexBuilder.h - numbers, extents and loops --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What builders of kernels, of the host's code and of references all emit: a
// class that emits such code derives from one of these.
//===----------------------------------------------------------------------===//

#ifndef FA3_SUPPORT_INDEXBUILDER_H
#define FA3_SUPPORT_INDEXBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace fa3 {

/// Emits where `b` inserts.
class IndexBuilder {
public:
  explicit IndexBuilder(mlir::ImplicitLocOpBuilder &b) : b(b) {}
  IndexBuilder(const IndexBuilder &) = delete;

  mlir::Value index(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(b, value);
  }
  mlir::Value dim(mlir::Value memref, int64_t axis) {
    return mlir::memref::DimOp::create(b, memref, axis);
  }
  /// Blocks of `size` that `count` takes.
  mlir::Value blocksOf(mlir::Value count, int64_t size) {
    return mlir::arith::CeilDivSIOp::create(b, count, index(size));
  }

  /// A loop whose body gets the induction variable.
  void loop(mlir::Value begin, mlir::Value end, mlir::Value step,
            llvm::function_ref<void(mlir::Value)> body) {
    auto loop = mlir::scf::ForOp::create(b, begin, end, step);
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }
  /// A loop that carries values, and what they are at its end.
  llvm::SmallVector<mlir::Value>
  loop(mlir::Value begin, mlir::Value end, mlir::Value step,
       mlir::ValueRange init,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                         mlir::ValueRange)>
           body) {
    auto loop = mlir::scf::ForOp::create(b, begin, end, step, init);
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    llvm::SmallVector<mlir::Value> next =
        body(loop.getInductionVar(), loop.getRegionIterArgs());
    mlir::scf::YieldOp::create(b, next);
    return llvm::to_vector_of<mlir::Value>(loop.getResults());
  }
  /// A loop that carries one value.
  mlir::Value
  loop(mlir::Value begin, mlir::Value end, mlir::Value step, mlir::Value init,
       llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> body) {
    auto each = [&](mlir::Value number, mlir::ValueRange carried) {
      return llvm::SmallVector<mlir::Value>{body(number, carried.front())};
    };
    return loop(begin, end, step, mlir::ValueRange(init), each).front();
  }

  mlir::ImplicitLocOpBuilder &b;
};

namespace detail {
/// Holds a builder, in front of what refers to it.
struct BuilderHolder {
  mlir::ImplicitLocOpBuilder own;
};
} // namespace detail

/// The same with a builder of its own.
class OwnIndexBuilder : detail::BuilderHolder, public IndexBuilder {
public:
  OwnIndexBuilder(mlir::Location loc, const mlir::OpBuilder &builder)
      : BuilderHolder{mlir::ImplicitLocOpBuilder(loc, builder)},
        IndexBuilder(own) {}
};

} // namespace fa3

#endif // FA3_SUPPORT_INDEXBUILDER_H
