//===- Outline.cpp - attention anywhere -> functions of attention ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// attention-outline: every attention of a program becomes a function of its
// own, equal ones the same, and a call in its place.
//
//===----------------------------------------------------------------------===//

#include "OutlineCandidate.h"
#include "OutlineMemRefs.h"
#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "fa3/Dialect/Attention/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringExtras.h"

namespace fa3::attention {
#define GEN_PASS_DEF_OUTLINE
#include "fa3/Dialect/Attention/Transforms/Passes.h.inc"
} // namespace fa3::attention

using namespace mlir;
using namespace fa3::attention;

namespace {
/// Outlines what it is given, one operation after another.
class Outliner {
public:
  LogicalResult outline(Operation *op);

  int64_t numOutlined = 0, numFunctions = 0;

private:
  /// What is known of a module whose symbols functions of attention become.
  struct Home {
    explicit Home(ModuleOp module) : symbols(module) {}
    SymbolTable symbols;
    SmallVector<func::FuncOp> functions;
  };

  func::FuncOp findOrInsert(Candidate &candidate, Operation *op, Home &home,
                            ModuleOp module);

  llvm::DenseMap<Operation *, std::unique_ptr<Home>> homes;
  llvm::DenseSet<Operation *> done;
  DominanceInfo dominance;
};

struct Outline : fa3::attention::impl::OutlineBase<Outline> {
  void runOnOperation() override;
};
} // namespace

/// The module that a function for `op` goes to.
static FailureOr<ModuleOp> findHome(Operation *op) {
  for (Operation *scope = op->getParentOp(); scope;
       scope = scope->getParentOp()) {
    if (auto module = dyn_cast<ModuleOp>(scope))
      return module;
    bool isDevice = isa<gpu::LaunchOp>(scope);
    if (isDevice || scope->hasTrait<OpTrait::SymbolTable>()) {
      InFlightDiagnostic diagnostic =
          op->emitOpError("cannot be outlined: it lies in '")
          << scope->getName()
          << (isDevice ? "', whose code runs on the device"
                       : "', which has symbols of its own");
      diagnostic.attachNote(scope->getLoc()) << "this is around it";
      return diagnostic;
    }
  }
  return op->emitOpError("cannot be outlined: it lies in no module");
}

/// The name of a function for attention of `op` that is free, as are those of
/// its kernels.
static std::string chooseName(Operation *op, const SymbolTable &symbols) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  std::string base = function ? function.getName().str() + "_" : "";
  for (char &c : base)
    if (!llvm::isAlnum(c))
      c = '_';
  base += isa<BackwardOp>(op)     ? "backward"
          : isa<QuantizeOp>(op)   ? "quantize"
          : isa<RotaryOp>(op)     ? "rotary"
          : isa<AppendOp>(op)     ? "append"
          : isa<ListBlocksOp>(op) ? "blocks"
                                  : "attention";
  std::string name = base;
  for (unsigned i = 1;
       symbols.lookup(name) || symbols.lookup(name + "_kernels"); ++i)
    name = base + "_" + std::to_string(i);
  return name;
}

func::FuncOp Outliner::findOrInsert(Candidate &candidate, Operation *op,
                                    Home &home, ModuleOp module) {
  func::FuncOp mine = candidate.getFunction();
  for (func::FuncOp other : home.functions)
    if (other.getFunctionType() == mine.getFunctionType() &&
        OperationEquivalence::isRegionEquivalentTo(
            &other.getBody(), &mine.getBody(),
            OperationEquivalence::IgnoreLocations)) {
      remark::passed(op->getLoc(), getOutlineRemark("Shared", op))
          << remark::add("is the attention of '{0}'", other.getName().str());
      return other;
    }
  func::FuncOp function = candidate.takeFunction().release();
  function.setName(chooseName(op, home.symbols));
  Operation *user = op;
  while (user->getParentOp() != module)
    user = user->getParentOp();
  // Behind those of the same function.
  Block::iterator place = std::next(Block::iterator(user));
  while (place != module.getBody()->end() &&
         llvm::is_contained(home.functions, dyn_cast<func::FuncOp>(*place)))
    ++place;
  home.symbols.insert(function, place);
  home.functions.push_back(function);
  ++numFunctions;
  remark::passed(op->getLoc(), getOutlineRemark("Outlined", op))
      << remark::add("becomes the function '{0}'", function.getName().str());
  return function;
}

/// Whether a tensor is memory, or what is prepared of such.
static bool isInMemory(Value value) {
  Operation *op = value.getDefiningOp();
  return getMemory(value) ||
         (op && isPreparation(op) && isInMemory(op->getOperand(0)));
}

LogicalResult Outliner::outline(Operation *op) {
  if (done.contains(op))
    return success();
  FailureOr<ModuleOp> module = findHome(op);
  if (failed(module))
    return failure();
  if (isOpTriviallyDead(op)) {
    eraseWithDescriptions(op);
    return success();
  }
  readTensors(op);
  // In memory already: a tensor for attention comes from a call as well.
  SmallVector<Operation *> own = findOwnPreparations(op);
  for (Value operand : op->getOperands()) {
    Operation *source = operand.getDefiningOp();
    if (isInMemory(operand) && source && isPreparation(source) &&
        !llvm::is_contained(own, source) && failed(outline(source)))
      return failure();
  }
  std::unique_ptr<Home> &home = homes[*module];
  if (!home)
    home = std::make_unique<Home>(*module);
  Candidate candidate(op);
  if (failed(candidate.build()))
    return failure();
  func::FuncOp function = findOrInsert(candidate, op, *home, *module);
  done.insert(op);
  done.insert_range(candidate.getPreparations());
  candidate.replace(function.getName(), dominance);
  ++numOutlined;
  return success();
}

void Outline::runOnOperation() {
  // What has the form already stays as it is.
  SmallVector<Operation *> scored, appends, others;
  getOperation()->walk([&](ModuleOp module) {
    llvm::DenseSet<StringAttr> references = collectReferences(module);
    module->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op != module && isa<ModuleOp>(op))
        return WalkResult::skip();
      auto function = dyn_cast<func::FuncOp>(op);
      if (function && function->getParentOp() == module &&
          !references.contains(function.getSymNameAttr()) &&
          !function.isExternal() && hasHostForm(function))
        return WalkResult::skip();
      if (isa<ScoredOpInterface>(op))
        scored.push_back(op);
      else if (isa<AppendOp>(op))
        appends.push_back(op);
      else if (isPreparation(op))
        others.push_back(op);
      return WalkResult::advance();
    });
  });
  Outliner outliner;
  // What takes others along comes first.
  scored.append(appends);
  scored.append(others);
  for (Operation *op : scored)
    if (failed(outliner.outline(op)))
      return signalPassFailure();
  // What tiles and shards left.
  getOperation()->walk([](Operation *op) {
    if (isDescription(op) && op->use_empty())
      op->erase();
  });
  numOutlined += outliner.numOutlined;
  numFunctions += outliner.numFunctions;
}
