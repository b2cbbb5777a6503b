//===- ConvertToAttention.cpp - attention of other projects ---------------===//
//
// convert-to-attention: finds the operations; each project has a file of its
// own.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Conversion/ConvertToAttention/ConvertToAttention.h"
#include "AttentionProblem.h"
#include "Contraction.h"
#include "Foreign.h"
#include "Softmax.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

namespace fa3 {
#define GEN_PASS_DEF_CONVERTTOATTENTION
#include "fa3/Conversion/ConvertToAttention/Passes.h.inc"
} // namespace fa3

using namespace mlir;
using namespace fa3;

namespace {
struct ConvertToAttention
    : fa3::impl::ConvertToAttentionBase<ConvertToAttention> {
  using ConvertToAttentionBase::ConvertToAttentionBase;

  /// Whether an operation says that it is attention.
  bool isFound(Operation *op) {
    StringRef name = convert::getName(op);
    static constexpr StringLiteral names[] = {
        "iree_linalg_ext.attention", "iree_linalg_ext.online_attention",
        "tm_tensor.attention", "torch.aten.scaled_dot_product_attention",
        "torch.hop_flex_attention"};
    if (llvm::is_contained(names, name))
      return true;
    if (name == "stablehlo.custom_call")
      return convert::isCudnnAttention(op);
    return convert::isTorchKernel(op) || convert::isOnnxAttention(op);
  }

  LogicalResult convertOne(Operation *op) {
    StringRef name = convert::getName(op);
    if (name == "iree_linalg_ext.attention")
      return convert::convertIree(op, castType);
    if (name == "iree_linalg_ext.online_attention")
      return convert::refuseOnline(op);
    if (name == "tm_tensor.attention")
      return convert::convertTMTensor(op, castType);
    if (name == "torch.aten.scaled_dot_product_attention")
      return convert::convertTorch(op, castType);
    if (name == "torch.hop_flex_attention")
      return convert::convertFlex(op, castType, modFunctions);
    if (name == "stablehlo.custom_call")
      return convert::convertCudnn(op, castType);
    if (convert::isTorchKernel(op))
      return convert::refuseTorchKernel(op);
    return convert::convertOnnx(op, castType);
  }

  /// The function that an operation is in, or the operation at the top.
  static Operation *getFunction(Operation *op) {
    Operation *function = op->getParentOp();
    while (function->getParentOp() && convert::getName(function) != "func.func")
      function = function->getParentOp();
    return function;
  }

  /// Attention that is written out. An operation that is erased with one comes
  /// in front of it, and so was looked at. Whether there was one. Functions
  /// that were `seen` are passed by.
  bool raiseIn(Operation *scope, llvm::SetVector<Operation *> &functions,
               llvm::SmallPtrSetImpl<Operation *> &seen) {
    SmallVector<Operation *> contractions;
    scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op != scope && seen.contains(op))
        return WalkResult::skip();
      if (convert::readContraction(op))
        contractions.push_back(op);
      return WalkResult::advance();
    });
    bool some = false;
    for (Operation *op : contractions) {
      Operation *function = getFunction(op);
      convert::Raised raised = convert::raise(op, castType, seen);
      converted += raised == convert::Raised::converted;
      leftAlone += raised == convert::Raised::refused;
      if (raised == convert::Raised::converted) {
        functions.insert(function);
        some = true;
      }
    }
    return some;
  }

  void raiseAll(ModuleOp module, llvm::SetVector<Operation *> &functions) {
    llvm::SmallPtrSet<Operation *, 8> seen;
    // Parts of an attention may be in functions that are called.
    SmallVector<func::FuncOp> callers;
    module.walk([&](func::FuncOp function) {
      bool contracts = false, calls = false;
      function.walk([&](Operation *op) {
        contracts |= convert::readContraction(op).has_value();
        calls |= isa<func::CallOp>(op);
      });
      if (contracts && calls)
        callers.push_back(function);
    });
    for (func::FuncOp function : callers) {
      // As it was, if nothing is found.
      OwningOpRef<func::FuncOp> copy = function.clone();
      SmallVector<Operation *> helpers;
      if (!convert::inlineHelpers(function, helpers))
        continue;
      seen.insert(function);
      if (raiseIn(function, functions, seen))
        modFunctions.append(helpers);
      else
        function.getBody().takeBody(copy->getBody());
    }
    (void)raiseIn(module, functions, seen);
    module.walk([&](Operation *op) {
      if (convert::isNamedSoftmax(op) && !seen.contains(op))
        leftAlone += convert::refuseSoftmax(op) == convert::Raised::refused;
    });
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (castTo == ImportCast::F16)
      castType = Float16Type::get(&getContext());
    else if (castTo == ImportCast::BF16)
      castType = BFloat16Type::get(&getContext());
    SmallVector<Operation *> found;
    module.walk([&](Operation *op) {
      if (isFound(op))
        found.push_back(op);
    });
    modFunctions.clear();
    llvm::SetVector<Operation *> functions;
    for (Operation *op : found) {
      Operation *function = getFunction(op);
      if (failed(convertOne(op))) {
        ++leftAlone;
        continue;
      }
      ++converted;
      functions.insert(function);
    }
    if (raise)
      raiseAll(module, functions);
    // Functions of score and mask, and helpers, that nothing else calls.
    llvm::SetVector<Operation *> unused(modFunctions.begin(),
                                        modFunctions.end());
    for (Operation *function : unused) {
      Operation *table =
          SymbolTable::getNearestSymbolTable(function->getParentOp());
      if (table &&
          SymbolTable::getSymbolVisibility(function) ==
              SymbolTable::Visibility::Private &&
          SymbolTable::symbolKnownUseEmpty(function, table)) {
        functions.remove(function);
        function->erase();
      }
    }
    if (signatures)
      for (Operation *function : functions)
        convert::convertSignatures(function);
  }

  SmallVector<Operation *> modFunctions;
  /// In the place of f32, if there is one.
  FloatType castType;
};
} // namespace
