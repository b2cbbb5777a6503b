//===- ProgramPipeline.cpp - pipelines on whole programs ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ProgramPipeline.h"
#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace fa3;

/// Of one of a program, nothing but its calls refers to it.
static bool consistsOfAttention(Operation &op) {
  auto function = dyn_cast<func::FuncOp>(op);
  return function && !function.isExternal() &&
         attention::hasAttention(function) && attention::hasHostForm(function);
}

bool fa3::isProgram(ModuleOp module) {
  if (llvm::all_of(module.getOps(), consistsOfAttention))
    return false;
  return module
      .walk([](Operation *op) {
        return WalkResult(failure(
            isa<attention::ScoredOpInterface, attention::QuantizeOp>(op)));
      })
      .wasInterrupted();
}

/// Moves what `apart` holds in front of it; names may not be taken.
static LogicalResult putBack(ModuleOp apart, ModuleOp home) {
  SymbolTable symbols(home);
  for (Operation &op :
       llvm::make_early_inc_range(apart.getBody()->getOperations())) {
    auto name = op.getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName());
    if (Operation *other = name ? symbols.lookup(name) : nullptr) {
      InFlightDiagnostic diagnostic = op.emitError("needs the name '")
                                      << name.getValue()
                                      << "', which another operation has";
      diagnostic.attachNote(other->getLoc()) << "this is the other";
      return diagnostic;
    }
    op.moveBefore(apart);
  }
  for (NamedAttribute attribute : apart->getDiscardableAttrs())
    if (!home->hasAttr(attribute.getName()))
      home->setAttr(attribute.getName(), attribute.getValue());
  return success();
}

LogicalResult fa3::lowerApart(ModuleOp program,
                              function_ref<LogicalResult(ModuleOp)> lower) {
  SmallVector<func::FuncOp> functions;
  program.walk([&](ModuleOp module) {
    for (auto function : module.getOps<func::FuncOp>())
      if (consistsOfAttention(*function.getOperation()))
        functions.push_back(function);
  });
  for (func::FuncOp function : functions) {
    auto home = cast<ModuleOp>(function->getParentOp());
    OpBuilder builder(function);
    auto apart = ModuleOp::create(builder, function.getLoc());
    function->moveBefore(apart.getBody(), apart.getBody()->end());
    if (failed(lower(apart)) || failed(putBack(apart, home)))
      return failure();
    apart.erase();
  }
  return success();
}
