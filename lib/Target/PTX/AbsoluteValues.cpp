//===- AbsoluteValues.cpp - absolute values that ptxas gets right ---------===//
// SPDX-License-Identifier: Apache-2.0
#include "AbsoluteValues.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

using namespace fa3;

/// |value| of an integer of at most 64 bits, by an instruction of PTX.
static llvm::Value *buildAbs(llvm::IRBuilder<> &builder, llvm::Value *value) {
  llvm::Type *type = value->getType();
  unsigned width = type->getIntegerBitWidth() <= 32 ? 32 : 64;
  llvm::Type *wide = builder.getIntNTy(width);
  auto *abs = llvm::InlineAsm::get(
      llvm::FunctionType::get(wide, {wide}, /*isVarArg=*/false),
      width == 32 ? "abs.s32 \t$0, $1;" : "abs.s64 \t$0, $1;",
      width == 32 ? "=r,r" : "=l,l", /*hasSideEffects=*/false);
  llvm::Value *result =
      builder.CreateCall(abs, {builder.CreateSExt(value, wide)});
  return builder.CreateTrunc(result, type);
}

/// The same of each element of a vector.
static llvm::Value *buildAbsOfAll(llvm::IRBuilder<> &builder,
                                  llvm::Value *value) {
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  if (!vector)
    return buildAbs(builder, value);
  llvm::Value *result = llvm::PoisonValue::get(vector);
  for (unsigned i = 0; i < vector->getNumElements(); ++i)
    result = builder.CreateInsertElement(
        result, buildAbs(builder, builder.CreateExtractElement(value, i)), i);
  return result;
}

void fa3::useAbsInstructions(llvm::Module &module) {
  using namespace llvm::PatternMatch;
  for (llvm::Function &function : module) {
    for (llvm::Instruction &op :
         llvm::make_early_inc_range(llvm::instructions(function))) {
      if (!op.getType()->isIntOrIntVectorTy() ||
          op.getType()->getScalarSizeInBits() > 64)
        continue;
      llvm::Value *value = nullptr;
      bool isAbs =
          match(&op, m_Intrinsic<llvm::Intrinsic::abs>(m_Value(value)));
      bool isMax =
          match(&op, m_c_SMax(m_Value(value), m_Neg(m_Deferred(value))));
      bool isMin =
          match(&op, m_c_SMin(m_Value(value), m_Neg(m_Deferred(value))));
      if (!isAbs && !isMax && !isMin)
        continue;
      llvm::IRBuilder<> builder(&op);
      llvm::Value *result = buildAbsOfAll(builder, value);
      if (isMin)
        result = builder.CreateNeg(result);
      op.replaceAllUsesWith(result);
      op.eraseFromParent();
    }
  }
}
