//===- AnalysisTest.h - index arithmetic with known values ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Builds index arithmetic inside a function and evaluates it for given values
// of what it starts from, so that what an analysis claims can be compared with
// all that can happen.
//===----------------------------------------------------------------------===//

#ifndef FA3_UNITTESTS_DIALECT_TILE_ANALYSISTEST_H
#define FA3_UNITTESTS_DIALECT_TILE_ANALYSISTEST_H

#include "fa3/Dialect/Tile/Analysis/PredicateRange.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/InitAllDialects.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/Support/MathExtras.h"
#include "gtest/gtest.h"
#include <random>

namespace fa3::test {

/// Values of index values that are not computed from others.
using Environment = llvm::DenseMap<mlir::Value, int64_t>;

inline int64_t evaluate(mlir::Value value, const Environment &environment) {
  using namespace mlir;
  if (auto it = environment.find(value); it != environment.end())
    return it->second;
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast_or_null<arith::ConstantIndexOp>(op))
    return constant.value();
  if (!op || op->getNumOperands() != 2) {
    ADD_FAILURE() << "no value is known";
    return 0;
  }
  int64_t lhs = evaluate(op->getOperand(0), environment);
  int64_t rhs = evaluate(op->getOperand(1), environment);
  if (isa<arith::AddIOp>(op))
    return lhs + rhs;
  if (isa<arith::SubIOp>(op))
    return lhs - rhs;
  if (isa<arith::MulIOp>(op))
    return lhs * rhs;
  if (isa<arith::MinSIOp>(op))
    return std::min(lhs, rhs);
  if (isa<arith::MaxSIOp>(op))
    return std::max(lhs, rhs);
  if (isa<arith::CeilDivSIOp>(op))
    return llvm::divideCeilSigned(lhs, rhs);
  if (isa<arith::FloorDivSIOp>(op))
    return llvm::divideFloorSigned(lhs, rhs);
  ADD_FAILURE() << "cannot evaluate " << op->getName().getStringRef().str();
  return 0;
}

/// A function with a builder at its end.
class AnalysisTest : public testing::Test {
protected:
  AnalysisTest() : context(getRegistry()) {
    context.loadAllAvailableDialects();
    reset();
  }

  static mlir::DialectRegistry getRegistry() {
    mlir::DialectRegistry registry;
    fa3::registerAllDialects(registry);
    return registry;
  }

  /// Starts over with a function of three index arguments and an array.
  void reset() {
    mlir::OpBuilder builder(&context);
    mlir::Location loc = builder.getUnknownLoc();
    module = mlir::ModuleOp::create(loc);
    mlir::Type index = builder.getIndexType();
    auto array = mlir::MemRefType::get(
        {mlir::ShapedType::kDynamic, mlir::ShapedType::kDynamic},
        builder.getF16Type());
    builder.setInsertionPointToStart(module->getBody());
    function = mlir::func::FuncOp::create(
        builder, loc, "f",
        builder.getFunctionType({index, index, index, array}, {}));
    function.addEntryBlock();
    b = std::make_unique<mlir::ImplicitLocOpBuilder>(
        mlir::ImplicitLocOpBuilder::atBlockEnd(loc, &function.front()));
  }

  mlir::Value argument(unsigned i) { return function.getArgument(i); }
  mlir::Value constant(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(*b, value);
  }
  /// Number of rows (0) or columns (1) of the array.
  mlir::Value dim(int64_t i) {
    return mlir::memref::DimOp::create(*b, argument(3), i);
  }
  template <typename Op>
  mlir::Value make(mlir::Value lhs, mlir::Value rhs) {
    return Op::create(*b, lhs, rhs);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  std::unique_ptr<mlir::ImplicitLocOpBuilder> b;
};

} // namespace fa3::test

#endif // FA3_UNITTESTS_DIALECT_TILE_ANALYSISTEST_H
