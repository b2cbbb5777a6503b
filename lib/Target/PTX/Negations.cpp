//===- Negations.cpp - negations that ptxas does not lose -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Negations.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;

/// Builds these instructions of PTX on a 32-bit integer, or on each of a
/// vector.
static Value *buildPTX(IRBuilder<> &builder, StringRef text, Value *value) {
  auto *vector = dyn_cast<FixedVectorType>(value->getType());
  if (!vector) {
    Type *type = value->getType();
    auto *code = InlineAsm::get(FunctionType::get(type, {type}, false), text,
                                "=r,r", /*hasSideEffects=*/false);
    return builder.CreateCall(code, {value});
  }
  Value *result = PoisonValue::get(vector);
  for (unsigned i = 0; i < vector->getNumElements(); ++i)
    result = builder.CreateInsertElement(
        result, buildPTX(builder, text, builder.CreateExtractElement(value, i)),
        i);
  return result;
}

/// Makes abs.s32 of what LLVM would write with a negation.
static void useAbs(Function &function) {
  using namespace PatternMatch;
  for (Instruction &op : make_early_inc_range(instructions(function))) {
    Value *value = nullptr;
    if (!op.getType()->isIntOrIntVectorTy(32) ||
        (!match(&op, m_Intrinsic<Intrinsic::abs>(m_Value(value))) &&
         !match(&op, m_c_SMax(m_Value(value), m_Neg(m_Deferred(value))))))
      continue;
    IRBuilder<> builder(&op);
    op.replaceAllUsesWith(buildPTX(builder, "abs.s32 \t$0, $1;", value));
    op.eraseFromParent();
  }
}

/// Whether a negated operand may become one of a minimum or maximum.
static bool mayBeOfExtremum(const Use &use) {
  return isa<MinMaxIntrinsic, ICmpInst, SelectInst>(use.getUser());
}

void fa3::hideNegations(Module &module) {
  using namespace PatternMatch;
  for (Function &function : module) {
    useAbs(function);
    for (Instruction &op : make_early_inc_range(instructions(function))) {
      Value *value = nullptr;
      if (!op.getType()->isIntOrIntVectorTy(32) ||
          (!match(&op, m_Neg(m_Value(value))) &&
           !match(&op, m_c_Mul(m_Value(value), m_AllOnes())) &&
           !match(&op, m_c_Add(m_Not(m_Value(value)), m_One()))) ||
          none_of(op.uses(), mayBeOfExtremum))
        continue;
      IRBuilder<> builder(&op);
      Value *hidden =
          buildPTX(builder, "not.b32 \t$0, $1;\n\tadd.s32 \t$0, $0, 1;", value);
      op.replaceUsesWithIf(hidden, mayBeOfExtremum);
      if (op.use_empty())
        op.eraseFromParent();
    }
  }
}
