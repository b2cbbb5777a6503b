//===- Inline.cpp - helpers of the program around an attention ------------===//
//
// JAX calls functions for parts of an attention, such as a choice or a
// triangle. Upstream's inliner does not take operations that are not
// registered.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "AttentionProblem.h"
#include "Foreign.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace fa3::convert;

/// The function that a call means, if it is private, has one block, and does
/// nothing but compute its results.
static func::FuncOp getHelper(func::CallOp call) {
  auto function = dyn_cast_or_null<func::FuncOp>(
      SymbolTable::lookupNearestSymbolFrom(call, call.getCalleeAttr()));
  constexpr size_t kMost = 64;
  if (!function || !function.isPrivate() ||
      !llvm::hasSingleElement(function.getBody()) ||
      function->isAncestor(call) ||
      function.getFunctionType() != call.getCalleeType())
    return {};
  Block &body = function.getBody().front();
  auto isSimple = [&](Operation &op) {
    return isa<func::ReturnOp>(op) || isa<func::CallOp>(op) ||
           isEffectFree(&op);
  };
  if (body.getOperations().size() > kMost || !llvm::all_of(body, isSimple) ||
      !isa<func::ReturnOp>(body.getTerminator()))
    return {};
  return function;
}

bool fa3::convert::inlineHelpers(Operation *function,
                                 SmallVectorImpl<Operation *> &helpers) {
  constexpr unsigned kMost = 256;
  unsigned count = 0;
  for (bool changes = true; changes && count < kMost;) {
    SmallVector<func::CallOp> calls;
    function->walk([&](func::CallOp call) {
      if (getHelper(call))
        calls.push_back(call);
    });
    changes = !calls.empty();
    for (func::CallOp call : calls) {
      if (++count > kMost)
        break;
      func::FuncOp helper = getHelper(call);
      helpers.push_back(helper);
      Block &body = helper.getBody().front();
      IRMapping mapping;
      mapping.map(body.getArguments(), call.getOperands());
      OpBuilder b(call);
      for (Operation &op : body.without_terminator())
        b.clone(op, mapping);
      for (auto [result, value] :
           llvm::zip(call.getResults(), body.getTerminator()->getOperands()))
        result.replaceAllUsesWith(mapping.lookupOrDefault(value));
      call.erase();
    }
  }
  return count > 0;
}
