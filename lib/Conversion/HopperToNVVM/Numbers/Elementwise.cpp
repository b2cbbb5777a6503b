//===- Elementwise.cpp - functions with an instruction of their own -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Approximations of sm_90a, with subnormals flushed: the kernel's attributes
// make LLVM choose the .ftz forms, which cost one instruction where the others
// cost three.
//===----------------------------------------------------------------------===//

#include "../Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa3;

namespace {
using ScalarFunction = llvm::function_ref<Value(ValueRange)>;
}

/// Applies a function to every element of values of one type.
static Value mapElements(OpBuilder &builder, Location loc, ValueRange operands,
                         ScalarFunction function) {
  auto type = dyn_cast<VectorType>(operands.front().getType());
  if (!type)
    return function(operands);
  SmallVector<ValueRange> elements;
  for (Value operand : operands)
    elements.push_back(
        vector::ToElementsOp::create(builder, loc, operand).getElements());
  SmallVector<Value> results;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    SmallVector<Value> arguments;
    for (ValueRange list : elements)
      arguments.push_back(list[i]);
    results.push_back(function(arguments));
  }
  auto resultType = VectorType::get(type.getShape(), results.front().getType());
  return vector::FromElementsOp::create(builder, loc, resultType, results);
}

static Value callIntrinsic(OpBuilder &builder, Location loc, StringRef name,
                           Type type, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(builder, loc, type,
                                       builder.getStringAttr(name), operands)
      .getResult(0);
}

/// The type with f32 elements.
static Type withF32(Type type) {
  Type f32 = Float32Type::get(type.getContext());
  if (auto vector = dyn_cast<VectorType>(type))
    return VectorType::get(vector.getShape(), f32);
  return f32;
}

static Value multiply(OpBuilder &builder, Location loc, Value value,
                      double factor) {
  Value constant = arith::ConstantOp::create(
      builder, loc,
      cast<TypedAttr>(
          builder.getFloatAttr(getElementTypeOrSelf(value.getType()), factor)));
  if (auto type = dyn_cast<VectorType>(value.getType()))
    constant = vector::BroadcastOp::create(builder, loc, type, constant);
  return arith::MulFOp::create(builder, loc, value, constant);
}

namespace {
constexpr double kLog2E = 1.4426950408889634;
constexpr double kLn2 = 0.6931471805599453;

/// A function of one f32; 16-bit operands are widened, others have none.
template <typename MathOp>
struct UnaryPattern : OpConversionPattern<MathOp> {
  using Function = Value (*)(OpBuilder &, Location, Value);
  UnaryPattern(MLIRContext *context, Function function)
      : OpConversionPattern<MathOp>(context), function(function) {}

  LogicalResult
  matchAndRewrite(MathOp op, typename MathOp::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type type = op.getType();
    Type element = getElementTypeOrSelf(type);
    if (element.getIntOrFloatBitWidth() > 32)
      return op.emitOpError("has no instruction for ") << element;
    Value operand = adaptor.getOperands().front();
    Type wide = withF32(type);
    if (wide != type)
      operand = arith::ExtFOp::create(rewriter, loc, wide, operand);
    Value result = function(rewriter, loc, operand);
    if (wide != type)
      result = arith::TruncFOp::create(rewriter, loc, type, result);
    rewriter.replaceOp(op, result);
    return success();
  }

  Function function;
};

/// An LLVM operation that has an instruction only if it may be approximate.
template <typename LLVMOp>
Value emitApproximate(OpBuilder &builder, Location loc, Value operand) {
  return LLVMOp::create(builder, loc, operand.getType(), operand,
                        LLVM::FastmathFlags::afn);
}

Value emitExp(OpBuilder &builder, Location loc, Value operand) {
  return emitApproximate<LLVM::Exp2Op>(builder, loc,
                                       multiply(builder, loc, operand, kLog2E));
}

Value emitLog2(OpBuilder &builder, Location loc, Value operand) {
  return mapElements(builder, loc, operand, [&](ValueRange x) {
    return callIntrinsic(builder, loc, "llvm.nvvm.lg2.approx.ftz.f",
                         builder.getF32Type(), x);
  });
}

Value emitLog(OpBuilder &builder, Location loc, Value operand) {
  return multiply(builder, loc, emitLog2(builder, loc, operand), kLn2);
}

Value emitRsqrt(OpBuilder &builder, Location loc, Value operand) {
  return mapElements(builder, loc, operand, [&](ValueRange x) {
    return callIntrinsic(builder, loc, "llvm.nvvm.rsqrt.approx.ftz.f",
                         builder.getF32Type(), x);
  });
}

/// 1 / x: rcp.approx, within 1 ulp. x / y: div.full, within 2 ulp.
struct DivFPattern : OpConversionPattern<arith::DivFOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(arith::DivFOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type f32 = rewriter.getF32Type();
    Value result;
    if (matchPattern(op.getLhs(), m_OneFloat()))
      result = mapElements(rewriter, loc, adaptor.getRhs(), [&](ValueRange x) {
        return callIntrinsic(rewriter, loc, "llvm.nvvm.rcp.approx.ftz.f", f32,
                             x);
      });
    else
      result = mapElements(
          rewriter, loc, adaptor.getOperands(), [&](ValueRange operands) {
            return callIntrinsic(rewriter, loc, "llvm.nvvm.div.full.ftz", f32,
                                 operands);
          });
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// What is rounded to an integer number and then made one.
math::RoundEvenOp findRounding(arith::FPToSIOp op) {
  bool hasInstruction = getElementTypeOrSelf(op.getIn().getType()).isF32() &&
                        getElementTypeOrSelf(op.getType()).isInteger(32);
  return hasInstruction ? op.getIn().getDefiningOp<math::RoundEvenOp>()
                        : math::RoundEvenOp();
}

/// Both at once: cvt.rni.s32.f32.
struct RoundToIntegerPattern : OpConversionPattern<arith::FPToSIOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(arith::FPToSIOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    math::RoundEvenOp rounding = findRounding(op);
    Value operand = rewriter.getRemappedValue(rounding.getOperand());
    if (!operand)
      return failure();
    Location loc = op.getLoc();
    rewriter.replaceOp(
        op, mapElements(rewriter, loc, operand, [&](ValueRange x) {
          return callIntrinsic(rewriter, loc, "llvm.nvvm.f2i.rn.ftz",
                               rewriter.getI32Type(), x);
        }));
    return success();
  }
};

/// Mnemonic of an 8-bit float format in conversions, empty if there is none.
StringRef getFloat8Name(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (isa<Float8E4M3FNType>(element))
    return "e4m3x2";
  if (isa<Float8E5M2Type>(element))
    return "e5m2x2";
  return {};
}

/// Conversions of 8-bit floats go by pairs.
LogicalResult verifyPairs(Operation *op, Type source, Type target) {
  auto type = dyn_cast<VectorType>(source);
  if (type && type.getNumElements() % 2 == 0)
    return success();
  return op->emitOpError("expects an even number of elements, got ")
         << source << " to " << target;
}

struct TruncToFloat8Pattern : OpConversionPattern<arith::TruncFOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(arith::TruncFOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    if (failed(verifyPairs(op, op.getIn().getType(), op.getType())))
      return failure();
    Value operand = adaptor.getIn();
    Type wide = withF32(op.getType());
    if (operand.getType() != wide)
      operand = arith::ExtFOp::create(rewriter, loc, wide, operand);
    ValueRange elements =
        vector::ToElementsOp::create(rewriter, loc, operand).getElements();
    std::string name =
        ("llvm.nvvm.ff.to." + getFloat8Name(op.getType()) + ".rn").str();
    SmallVector<Value> pairs;
    for (size_t i = 0; i < elements.size(); i += 2)
      // The first operand becomes the high half.
      pairs.push_back(callIntrinsic(rewriter, loc, name, rewriter.getI16Type(),
                                    {elements[i + 1], elements[i]}));
    Value packed = vector::FromElementsOp::create(
        rewriter, loc, VectorType::get(pairs.size(), rewriter.getI16Type()),
        pairs);
    rewriter.replaceOpWithNewOp<vector::BitCastOp>(op, op.getType(), packed);
    return success();
  }
};

struct ExtFromFloat8Pattern : OpConversionPattern<arith::ExtFOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(arith::ExtFOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type source = op.getIn().getType();
    if (failed(verifyPairs(op, source, op.getType())))
      return failure();
    int64_t count = cast<VectorType>(source).getNumElements();
    Value packed = vector::BitCastOp::create(
        rewriter, loc, VectorType::get(count / 2, rewriter.getI16Type()),
        adaptor.getIn());
    std::string name =
        ("llvm.nvvm." + getFloat8Name(source) + ".to.f16x2.rn").str();
    Type f16 = rewriter.getF16Type();
    SmallVector<Value> halves;
    for (Value pair :
         vector::ToElementsOp::create(rewriter, loc, packed).getElements()) {
      Value both =
          callIntrinsic(rewriter, loc, name, VectorType::get(2, f16), pair);
      llvm::append_range(
          halves,
          vector::ToElementsOp::create(rewriter, loc, both).getElements());
    }
    Value result = vector::FromElementsOp::create(
        rewriter, loc, VectorType::get(count, f16), halves);
    if (result.getType() != op.getType()) {
      // Both formats are exact in f16, and f16 in f32.
      result =
          arith::ExtFOp::create(rewriter, loc, withF32(op.getType()), result);
      if (result.getType() != op.getType())
        result = arith::TruncFOp::create(rewriter, loc, op.getType(), result);
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// a * b + c of 16-bit floats, two an instruction, with subnormals. LLVM's own
/// selection would flush those of f16 as it does those of f32, and compute bf16
/// in f32.
Value fuseHalves(OpBuilder &builder, Location loc, ArrayRef<Value> operands) {
  Type element = getElementTypeOrSelf(operands.front().getType());
  std::string name =
      element.isF16() ? "llvm.nvvm.fma.rn.f16" : "llvm.nvvm.fma.rn.bf16";
  auto type = dyn_cast<VectorType>(operands.front().getType());
  if (!type || type.getNumElements() % 2)
    return mapElements(builder, loc, operands, [&](ValueRange elements) {
      return callIntrinsic(builder, loc, name, element, elements);
    });
  auto pair = VectorType::get(2, element);
  SmallVector<ValueRange> elements;
  for (Value operand : operands)
    elements.push_back(
        vector::ToElementsOp::create(builder, loc, operand).getElements());
  SmallVector<Value> halves;
  for (int64_t i = 0; i < type.getNumElements(); i += 2) {
    SmallVector<Value> arguments;
    for (ValueRange list : elements)
      arguments.push_back(
          vector::FromElementsOp::create(builder, loc, pair, list.slice(i, 2)));
    Value both = callIntrinsic(builder, loc, name + "x2", pair, arguments);
    llvm::append_range(
        halves, vector::ToElementsOp::create(builder, loc, both).getElements());
  }
  return vector::FromElementsOp::create(builder, loc, type, halves);
}

bool isHalf(Operation *op) {
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  return element.isF16() || element.isBF16();
}

Value splatHalf(OpBuilder &builder, Location loc, Type type, double value) {
  Attribute number = builder.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    number = DenseElementsAttr::get(vector, number);
  return arith::ConstantOp::create(builder, loc, cast<TypedAttr>(number));
}

/// a + b is a * 1 + b, a - b is b * -1 + a, a * b is a * b + -0.
template <typename HalfOp>
struct HalfPattern : OpConversionPattern<HalfOp> {
  using OpConversionPattern<HalfOp>::OpConversionPattern;

  LogicalResult
  matchAndRewrite(HalfOp op, typename HalfOp::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<Value> operands(adaptor.getOperands());
    auto splat = [&](double value) {
      return splatHalf(rewriter, loc, op.getType(), value);
    };
    if constexpr (std::is_same_v<HalfOp, arith::MulFOp>)
      operands.push_back(splat(-0.0));
    else if constexpr (std::is_same_v<HalfOp, arith::AddFOp>)
      operands.insert(operands.begin() + 1, splat(1));
    else if constexpr (std::is_same_v<HalfOp, arith::SubFOp>)
      operands = {operands[1], splat(-1), operands[0]};
    rewriter.replaceOp(op, fuseHalves(rewriter, loc, operands));
    return success();
  }
};

template <typename... HalfOps>
void addHalves(RewritePatternSet &patterns, ConversionTarget &target) {
  patterns.add<HalfPattern<HalfOps>...>(patterns.getContext());
  target.addDynamicallyLegalOp<HalfOps...>(
      [](Operation *op) { return !isHalf(op); });
}

template <typename MathOp>
void addUnary(RewritePatternSet &patterns, ConversionTarget &target,
              typename UnaryPattern<MathOp>::Function function) {
  patterns.add(
      std::make_unique<UnaryPattern<MathOp>>(patterns.getContext(), function));
  target.addIllegalOp<MathOp>();
}
} // namespace

void fa3::populateElementwisePatterns(RewritePatternSet &patterns,
                                      ConversionTarget &target) {
  // Others of math would become calls of a library that a GPU does not have.
  target.addIllegalDialect<math::MathDialect>();
  target.addLegalOp<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp,
                    math::FloorOp, math::RoundEvenOp, math::SqrtOp,
                    math::TruncOp, math::CtPopOp, math::CountLeadingZerosOp>();
  addUnary<math::Exp2Op>(patterns, target, emitApproximate<LLVM::Exp2Op>);
  addUnary<math::ExpOp>(patterns, target, emitExp);
  addUnary<math::Log2Op>(patterns, target, emitLog2);
  addUnary<math::LogOp>(patterns, target, emitLog);
  addUnary<math::TanhOp>(patterns, target, emitApproximate<LLVM::TanhOp>);
  addUnary<math::SinOp>(patterns, target, emitApproximate<LLVM::SinOp>);
  addUnary<math::CosOp>(patterns, target, emitApproximate<LLVM::CosOp>);
  addUnary<math::RsqrtOp>(patterns, target, emitRsqrt);
  addHalves<arith::AddFOp, arith::SubFOp, arith::MulFOp, math::FmaOp>(patterns,
                                                                      target);
  patterns.add<DivFPattern, RoundToIntegerPattern, TruncToFloat8Pattern,
               ExtFromFloat8Pattern>(patterns.getContext());
  target.addDynamicallyLegalOp<arith::FPToSIOp>(
      [](arith::FPToSIOp op) { return !findRounding(op); });
  target.addDynamicallyLegalOp<arith::DivFOp>([](arith::DivFOp op) {
    return !getElementTypeOrSelf(op.getType()).isF32();
  });
  target.addDynamicallyLegalOp<arith::TruncFOp>(
      [](arith::TruncFOp op) { return getFloat8Name(op.getType()).empty(); });
  target.addDynamicallyLegalOp<arith::ExtFOp>([](arith::ExtFOp op) {
    return getFloat8Name(op.getIn().getType()).empty();
  });
}
