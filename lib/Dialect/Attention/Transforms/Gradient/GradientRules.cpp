//===- GradientRules.cpp - derivatives of scalar operations ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One rule for each operation: what its operands contribute to a gradient.
//===----------------------------------------------------------------------===//

#include "fa3/Dialect/Attention/Transforms/GradientRules.h"
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa3::attention;

namespace {
using Values = SmallVector<Value>;

/// Arithmetic of rules, whose rounding may be another one.
class RuleBuilder {
public:
  explicit RuleBuilder(ImplicitLocOpBuilder &b) : b(b) {
    flexible = arith::FastMathFlagsAttr::get(b.getContext(),
                                             arith::FastMathFlags::contract |
                                                 arith::FastMathFlags::reassoc);
  }
  Value number(Type type, double value) {
    return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
  }
  Value mul(Value x, Value y) {
    if (matchPattern(x, m_OneFloat()))
      return y;
    if (auto choice = x.getDefiningOp<arith::SelectOp>())
      if (isZeroOrOne(choice.getTrueValue()) &&
          isZeroOrOne(choice.getFalseValue())) {
        Value ifFalse = mul(choice.getFalseValue(), y);
        Value ifTrue = mul(choice.getTrueValue(), y);
        return select(choice.getCondition(), ifTrue, ifFalse);
      }
    if (matchPattern(x, m_AnyZeroFloat()))
      return x;
    return arith::MulFOp::create(b, x, y, flexible);
  }
  Value mul(Value x, double y) { return mul(x, number(x.getType(), y)); }
  Value add(Value x, double y) {
    return arith::AddFOp::create(b, x, number(x.getType(), y), flexible);
  }
  Value oneMinus(Value x) {
    return arith::SubFOp::create(b, number(x.getType(), 1), x, flexible);
  }
  Value div(Value x, Value y) {
    return arith::DivFOp::create(b, x, y, flexible);
  }
  Value neg(Value x) {
    if (matchPattern(x, m_OneFloat()))
      return number(x.getType(), -1);
    return arith::NegFOp::create(b, x, flexible);
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, predicate, x, y);
  }
  /// `gradient` for the first operand where the condition holds, else for the
  /// second.
  Values split(Value condition, Value gradient) {
    Value zero = number(gradient.getType(), 0);
    return {select(condition, gradient, zero),
            select(condition, zero, gradient)};
  }
  static bool isZeroOrOne(Value x) {
    return matchPattern(x, m_AnyZeroFloat()) || matchPattern(x, m_OneFloat());
  }
  template <typename Op>
  Value create(Value x) {
    return Op::create(b, x);
  }

  ImplicitLocOpBuilder &b;
  arith::FastMathFlagsAttr flexible;
};

template <typename Op, Values (*rule)(RuleBuilder &, Op, Value)>
struct Rule : GradientOpInterface::ExternalModel<Rule<Op, rule>, Op> {
  Values buildGradients(Operation *op, ImplicitLocOpBuilder &b,
                        Value gradient) const {
    RuleBuilder r(b);
    return rule(r, cast<Op>(op), gradient);
  }
};

template <typename Op, Values (*rule)(RuleBuilder &, Op, Value)>
void attach(MLIRContext *context) {
  Op::template attachInterface<Rule<Op, rule>>(*context);
}
} // namespace

//===----------------------------------------------------------------------===//
// arith
//===----------------------------------------------------------------------===//

static Values ofAdd(RuleBuilder &, arith::AddFOp, Value g) { return {g, g}; }
static Values ofSub(RuleBuilder &r, arith::SubFOp, Value g) {
  return {g, r.neg(g)};
}
static Values ofNeg(RuleBuilder &r, arith::NegFOp, Value g) {
  return {r.neg(g)};
}
static Values ofMul(RuleBuilder &r, arith::MulFOp op, Value g) {
  return {r.mul(g, op.getRhs()), r.mul(g, op.getLhs())};
}
static Values ofDiv(RuleBuilder &r, arith::DivFOp op, Value g) {
  Value ofLhs = r.div(g, op.getRhs());
  return {ofLhs, r.neg(r.mul(ofLhs, op.getResult()))};
}
static Values ofSelect(RuleBuilder &r, arith::SelectOp op, Value g) {
  Values arms = r.split(op.getCondition(), g);
  return {Value(), arms[0], arms[1]};
}
/// Where both are equal each has a half, as of torch.maximum and minimum.
static Values chooseOrShare(RuleBuilder &r, arith::CmpFPredicate isFirst,
                            Value x, Value y, Value g) {
  Value isEqual = r.compare(arith::CmpFPredicate::OEQ, x, y);
  Value shared = r.select(isEqual, r.mul(g, 0.5), g);
  Value zero = r.number(g.getType(), 0);
  // Of what is neither, one is no number, and so is the result.
  Values parts;
  for (auto [one, other] : {std::pair(x, y), std::pair(y, x)})
    parts.push_back(r.select(r.compare(isFirst, other, one), zero, shared));
  return parts;
}
static Values ofMaximum(RuleBuilder &r, arith::MaximumFOp op, Value g) {
  return chooseOrShare(r, arith::CmpFPredicate::OGT, op.getLhs(), op.getRhs(),
                       g);
}
static Values ofMinimum(RuleBuilder &r, arith::MinimumFOp op, Value g) {
  return chooseOrShare(r, arith::CmpFPredicate::OLT, op.getLhs(), op.getRhs(),
                       g);
}
/// Where both are equal the first has it, as of torch.fmax and fmin.
static Values ofMaxNum(RuleBuilder &r, arith::MaxNumFOp op, Value g) {
  return r.split(r.compare(arith::CmpFPredicate::OGE, op.getLhs(), op.getRhs()),
                 g);
}
static Values ofMinNum(RuleBuilder &r, arith::MinNumFOp op, Value g) {
  return r.split(r.compare(arith::CmpFPredicate::OLE, op.getLhs(), op.getRhs()),
                 g);
}
static Values ofExtend(RuleBuilder &r, arith::ExtFOp op, Value g) {
  return {arith::TruncFOp::create(r.b, op.getIn().getType(), g)};
}
static Values ofTruncate(RuleBuilder &r, arith::TruncFOp op, Value g) {
  return {arith::ExtFOp::create(r.b, op.getIn().getType(), g)};
}

//===----------------------------------------------------------------------===//
// math
//===----------------------------------------------------------------------===//

static Values ofFma(RuleBuilder &r, math::FmaOp op, Value g) {
  return {r.mul(g, op.getB()), r.mul(g, op.getA()), g};
}
static Values ofAbs(RuleBuilder &r, math::AbsFOp op, Value g) {
  // 0 at 0.
  Value zero = r.number(g.getType(), 0), x = op.getOperand();
  Value isNegative = r.compare(arith::CmpFPredicate::OLT, x, zero),
        isZero = r.compare(arith::CmpFPredicate::OEQ, x, zero);
  return {r.select(isZero, zero, r.select(isNegative, r.neg(g), g))};
}
static Values ofExp(RuleBuilder &r, math::ExpOp op, Value g) {
  return {r.mul(g, op.getResult())};
}
static Values ofExp2(RuleBuilder &r, math::Exp2Op op, Value g) {
  return {r.mul(r.mul(g, op.getResult()), llvm::numbers::ln2)};
}
static Values ofExpM1(RuleBuilder &r, math::ExpM1Op op, Value g) {
  return {r.mul(g, r.add(op.getResult(), 1))};
}
static Values ofLog(RuleBuilder &r, math::LogOp op, Value g) {
  return {r.div(g, op.getOperand())};
}
static Values ofLog2(RuleBuilder &r, math::Log2Op op, Value g) {
  return {r.mul(r.div(g, op.getOperand()), llvm::numbers::log2e)};
}
static Values ofLog1p(RuleBuilder &r, math::Log1pOp op, Value g) {
  return {r.div(g, r.add(op.getOperand(), 1))};
}
static Values ofTanh(RuleBuilder &r, math::TanhOp op, Value g) {
  Value y = op.getResult();
  return {r.mul(g, r.oneMinus(r.mul(y, y)))};
}
static Values ofSin(RuleBuilder &r, math::SinOp op, Value g) {
  return {r.mul(g, r.create<math::CosOp>(op.getOperand()))};
}
static Values ofCos(RuleBuilder &r, math::CosOp op, Value g) {
  return {r.neg(r.mul(g, r.create<math::SinOp>(op.getOperand())))};
}
static Values ofSqrt(RuleBuilder &r, math::SqrtOp op, Value g) {
  return {r.mul(r.div(g, op.getResult()), 0.5)};
}
static Values ofRsqrt(RuleBuilder &r, math::RsqrtOp op, Value g) {
  Value y = op.getResult();
  return {r.mul(r.mul(g, r.mul(y, r.mul(y, y))), -0.5)};
}
static Values ofErf(RuleBuilder &r, math::ErfOp op, Value g) {
  Value x = op.getOperand();
  Value bell = r.create<math::ExpOp>(r.neg(r.mul(x, x)));
  return {r.mul(r.mul(g, bell), 2 * llvm::numbers::inv_sqrtpi)};
}
/// As torch has them: 0 where x^0 does not change with x, and at 0 by the
/// exponent.
static Values ofPow(RuleBuilder &r, math::PowFOp op, Value g) {
  Value x = op.getLhs(), exponent = op.getRhs();
  Value zero = r.number(x.getType(), 0);
  Value power = math::PowFOp::create(r.b, x, r.add(exponent, -1));
  Value isFlat = r.compare(arith::CmpFPredicate::OEQ, exponent, zero);
  Value ofBase = r.select(isFlat, zero, r.mul(r.mul(g, exponent), power));
  Value logarithm = r.create<math::LogOp>(x);
  Value staysZero = arith::AndIOp::create(
      r.b, r.compare(arith::CmpFPredicate::OEQ, x, zero),
      r.compare(arith::CmpFPredicate::OGE, exponent, zero));
  Value ofExponent =
      r.select(staysZero, zero, r.mul(r.mul(g, op.getResult()), logarithm));
  return {ofBase, ofExponent};
}

void fa3::attention::registerGradientRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    attach<arith::AddFOp, ofAdd>(context);
    attach<arith::SubFOp, ofSub>(context);
    attach<arith::NegFOp, ofNeg>(context);
    attach<arith::MulFOp, ofMul>(context);
    attach<arith::DivFOp, ofDiv>(context);
    attach<arith::SelectOp, ofSelect>(context);
    attach<arith::MaximumFOp, ofMaximum>(context);
    attach<arith::MaxNumFOp, ofMaxNum>(context);
    attach<arith::MinimumFOp, ofMinimum>(context);
    attach<arith::MinNumFOp, ofMinNum>(context);
    attach<arith::ExtFOp, ofExtend>(context);
    attach<arith::TruncFOp, ofTruncate>(context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    attach<math::FmaOp, ofFma>(context);
    attach<math::AbsFOp, ofAbs>(context);
    attach<math::ExpOp, ofExp>(context);
    attach<math::Exp2Op, ofExp2>(context);
    attach<math::ExpM1Op, ofExpM1>(context);
    attach<math::LogOp, ofLog>(context);
    attach<math::Log2Op, ofLog2>(context);
    attach<math::Log1pOp, ofLog1p>(context);
    attach<math::TanhOp, ofTanh>(context);
    attach<math::SinOp, ofSin>(context);
    attach<math::CosOp, ofCos>(context);
    attach<math::SqrtOp, ofSqrt>(context);
    attach<math::RsqrtOp, ofRsqrt>(context);
    attach<math::ErfOp, ofErf>(context);
    attach<math::PowFOp, ofPow>(context);
  });
}
