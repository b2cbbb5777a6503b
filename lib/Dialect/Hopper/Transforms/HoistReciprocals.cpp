//===- HoistReciprocals.cpp - hopper-hoist-reciprocals --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Division of n by a number d that is known before the launch. With
//
//   m = ceil(2^62 / d),   0 <= n < 2^31,   1 <= d < 2^31
//
// n / d is floor(n * m / 2^62): m * d exceeds 2^62 by less than d, which times
// n stays below 2^62 (Granlund and Montgomery, "Division by Invariant Integers
// using Multiplication", theorem 4.2).
//===----------------------------------------------------------------------===//

#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Hopper/Transforms/Passes.h"
#include "fa3/Support/CloneScalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

namespace fa3::hopper {
#define GEN_PASS_DEF_HOISTRECIPROCALS
#include "fa3/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace fa3::hopper

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

static constexpr int kPower = 62, kHalf = 32;
/// Operations in the computation of one divisor.
static constexpr unsigned kMostOperations = 64;

namespace {
class Hoister {
public:
  Hoister(gpu::GPUFuncOp kernel, ArrayRef<LaunchOp> launches)
      : kernel(kernel), launches(launches) {}

  /// The reciprocal of a divisor: an argument of the kernel, or a choice
  /// between two. Null if the host does not know it.
  Value getReciprocal(OpBuilder &builder, Value divisor);

private:
  Value getArgument(Value divisor);
  bool describe(Value value, std::string &text, unsigned &operations);
  Value computeOnHost(OpBuilder &builder, Value value, LaunchOp launch,
                      IRMapping &mapping);

  gpu::GPUFuncOp kernel;
  ArrayRef<LaunchOp> launches;
  /// By the expression of the divisor: groups repeat it.
  llvm::StringMap<Value> reciprocals;
};
} // namespace

/// Arithmetic that the host can do at any launch, also where the kernel would
/// not come to the division. Unsigned divisions take part in a form that
/// divides by 1 at least (see computeOnHost).
static bool isHostArithmetic(Operation *op) {
  if (isa<arith::CeilDivSIOp, arith::FloorDivSIOp>(op)) {
    APInt divisor;
    return matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) &&
           divisor.isStrictlyPositive();
  }
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivUIOp,
             arith::MinSIOp, arith::MaxSIOp, arith::IndexCastOp, arith::ExtSIOp,
             arith::TruncIOp>(op);
}

/// Writes the expression of a value that the host can compute.
bool Hoister::describe(Value value, std::string &text, unsigned &operations) {
  if (++operations > kMostOperations)
    return false;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    text += "%" + std::to_string(argument.getArgNumber());
    return argument.getOwner() == &kernel.getBody().front() &&
           argument.getType().isIntOrIndex();
  }
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    text += std::to_string(constant.getSExtValue());
    return true;
  }
  Operation *op = value.getDefiningOp();
  if (!isHostArithmetic(op))
    return false;
  text += (op->getName().getStringRef() + "(").str();
  for (Value operand : op->getOperands()) {
    if (!describe(operand, text, operations))
      return false;
    text += ",";
  }
  text += ")";
  return true;
}

Value Hoister::computeOnHost(OpBuilder &builder, Value value, LaunchOp launch,
                             IRMapping &mapping) {
  auto getOperand = [&](BlockArgument argument) -> Value {
    return launch.getKernelArgs()[argument.getArgNumber()];
  };
  auto copy = [&](Operation *op) -> FailureOr<Operation *> {
    auto quotient = dyn_cast<arith::DivUIOp>(op);
    if (!quotient)
      return builder.clone(*op, mapping);
    // Both are numbers below 2^31, so the sign of the operation is no matter.
    Location loc = launch.getLoc();
    Value one = arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(op->getResult(0).getType(), 1));
    Value divisor = arith::MaxSIOp::create(
        builder, loc, mapping.lookup(quotient.getRhs()), one);
    return arith::FloorDivSIOp::create(
               builder, loc, mapping.lookup(quotient.getLhs()), divisor)
        .getOperation();
  };
  // No operation fails.
  return *cloneScalars(builder, value, mapping, {getOperand, copy});
}

Value Hoister::getReciprocal(OpBuilder &builder, Value divisor) {
  if (Value argument = getArgument(divisor))
    return argument;
  auto choice = divisor.getDefiningOp<arith::SelectOp>();
  if (!choice)
    return Value();
  Value first = getArgument(choice.getTrueValue());
  Value second = getArgument(choice.getFalseValue());
  if (!first || !second)
    return Value();
  return arith::SelectOp::create(builder, choice.getLoc(),
                                 choice.getCondition(), first, second);
}

Value Hoister::getArgument(Value divisor) {
  std::string text;
  unsigned operations = 0;
  if (!describe(divisor, text, operations))
    return Value();
  auto [it, isNew] = reciprocals.try_emplace(text);
  if (!isNew)
    return it->second;
  for (LaunchOp launch : launches) {
    ImplicitLocOpBuilder b(launch.getLoc(), launch);
    IRMapping mapping;
    Value number = computeOnHost(b, divisor, launch, mapping);
    Type i64 = b.getI64Type();
    if (number.getType() != i64)
      number = arith::ExtSIOp::create(b, i64, number);
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
    };
    // No tile, no division, but formulas are evaluated all the same.
    number = arith::MaxSIOp::create(b, number, constant(1));
    number =
        arith::CeilDivSIOp::create(b, constant(int64_t(1) << kPower), number);
    launch.getKernelArgsMutable().append(number);
  }
  unsigned position = kernel.getNumArguments();
  Type i64 = IntegerType::get(kernel.getContext(), 64);
  if (failed(kernel.insertArgument(position, i64, DictionaryAttr(),
                                   kernel.getLoc())))
    return Value();
  return it->second = kernel.getArgument(position);
}

/// floor(number * reciprocal / 2^62), by halves of the reciprocal.
static Value multiply(ImplicitLocOpBuilder &b, Value number, Value reciprocal) {
  Type i64 = b.getI64Type();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
  };
  Value wide = arith::ExtUIOp::create(b, i64, number);
  Value low = arith::AndIOp::create(
      b, reciprocal,
      constant(llvm::maskTrailingOnes<uint64_t>(static_cast<unsigned>(kHalf))));
  Value high = arith::ShRUIOp::create(b, reciprocal, constant(kHalf));
  Value half = constant(kHalf);
  Value carry =
      arith::ShRUIOp::create(b, arith::MulIOp::create(b, wide, low), half);
  Value sum =
      arith::AddIOp::create(b, arith::MulIOp::create(b, wide, high), carry);
  Value quotient = arith::ShRUIOp::create(b, sum, constant(kPower - kHalf));
  return arith::TruncIOp::create(b, number.getType(), quotient);
}

namespace {
struct HoistReciprocals : hopper::impl::HoistReciprocalsBase<HoistReciprocals> {
  void runOnOperation() override {
    llvm::MapVector<Operation *, SmallVector<LaunchOp>> launchesOf;
    SymbolTableCollection symbols;
    getOperation().walk([&](LaunchOp launch) {
      if (auto kernel = symbols.lookupNearestSymbolFrom<gpu::GPUFuncOp>(
              launch, launch.getKernelAttr()))
        launchesOf[kernel].push_back(launch);
    });
    for (auto &[kernel, launches] : launchesOf)
      run(cast<gpu::GPUFuncOp>(kernel), launches);
  }

  void run(gpu::GPUFuncOp kernel, ArrayRef<LaunchOp> launches) {
    Hoister hoister(kernel, launches);
    SmallVector<Operation *> divisions;
    kernel.walk([&](Operation *op) {
      if (isa<arith::DivUIOp, arith::RemUIOp>(op) &&
          op->getResult(0).getType().isInteger(32) &&
          !matchPattern(op->getOperand(1), m_Constant()))
        divisions.push_back(op);
    });
    // All reciprocals first: divisors may be quotients themselves.
    SmallVector<Value> reciprocals;
    for (Operation *op : divisions) {
      OpBuilder b(op);
      reciprocals.push_back(hoister.getReciprocal(b, op->getOperand(1)));
    }
    for (auto [op, reciprocal] : llvm::zip(divisions, reciprocals)) {
      if (!reciprocal)
        continue;
      Value number = op->getOperand(0), divisor = op->getOperand(1);
      ImplicitLocOpBuilder b(op->getLoc(), op);
      Value result = multiply(b, number, reciprocal);
      if (isa<arith::RemUIOp>(op))
        result = arith::SubIOp::create(
            b, number, arith::MulIOp::create(b, result, divisor));
      op->replaceAllUsesWith(ValueRange(result));
      op->erase();
      ++replaced;
    }
  }
};
} // namespace
