//===- MergeVariants.cpp - one host function for several kernels ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Variants are compiled apart and meet here. All is checked before anything
// changes.
//
//===----------------------------------------------------------------------===//

#include "EmbedKernels.h"
#include "fa3/Conversion/LowerHost/LowerHost.h"
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Support/ContractNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fa3 {
#define GEN_PASS_DEF_MERGEVARIANTS
#include "fa3/Conversion/LowerHost/Passes.h.inc"
} // namespace fa3

using namespace mlir;
using namespace fa3;

namespace {
struct Variant {
  ModuleOp module;
  func::FuncOp host, condition;
  gpu::GPUModuleOp kernels;
  /// New names of kernels and of what else their module holds.
  llvm::DenseMap<StringAttr, StringAttr> names;
};

class MergeVariants : public fa3::impl::MergeVariantsBase<MergeVariants> {
public:
  using fa3::impl::MergeVariantsBase<MergeVariants>::MergeVariantsBase;
  void runOnOperation() override;
};

/// Puts variants together that were checked. Operations of two variants that
/// compute or check the same have one leader, the first of them.
class Merger {
public:
  explicit Merger(MutableArrayRef<Variant> variants)
      : variants(variants), merged(variants.front().host) {}

  void merge();

private:
  void moveKernels(Variant &variant);
  void findLeaders(Variant &variant);
  void findOwn();
  bool addOwn(unsigned number);
  bool isShared(Operation *leader) const {
    return uses.lookup(leader) == variants.size() && !own.contains(leader);
  }
  void cloneShared(Variant &variant, IRMapping &values);
  void cloneOwn(Variant &variant, IRMapping &values, OpBuilder &builder);
  Value cloneCondition(Variant &variant, OpBuilder &builder);
  Operation *findEqual(Operation *op);

  MutableArrayRef<Variant> variants;
  func::FuncOp merged;
  /// Behind what is computed for all variants.
  Operation *end = nullptr;
  llvm::MapVector<Operation *, Operation *> leaders;
  /// How many variants have a leader in front of their launches.
  llvm::DenseMap<Operation *, unsigned> uses;
  /// Leaders that stand under the condition of each of their variants.
  llvm::DenseSet<Operation *> own;
  /// The checks in front of a leader in the first variant.
  llvm::DenseMap<Operation *, llvm::SmallPtrSet<Operation *, 8>> checksBefore;
  /// What computes or checks the same as a leader, for all variants.
  llvm::DenseMap<Operation *, Operation *> copies;
};
} // namespace

static bool isLaunch(Operation &op) {
  return isa<tile::LaunchOp, hopper::LaunchOp>(op);
}

/// Whether `op` is defined for some operands only, for which checks in front of
/// it may see. Upstream says so of some divisions, not of these.
static bool mayFail(Operation &op) {
  if (!isa<arith::FloorDivSIOp, arith::RemSIOp, arith::RemUIOp>(op))
    return !isSpeculatable(&op);
  std::optional<int64_t> divisor = getConstantIntValue(op.getOperand(1));
  return !divisor || *divisor == 0 || *divisor == -1;
}

/// What a host function has in front of its first launch.
static SmallVector<Operation *> getFront(func::FuncOp host) {
  SmallVector<Operation *> front;
  for (Operation &op : host.getBody().front().without_terminator()) {
    if (isLaunch(op))
      break;
    front.push_back(&op);
  }
  return front;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Takes what there has to be one of.
template <typename Op>
static LogicalResult take(Op &place, Op op, StringRef what) {
  if (!place) {
    place = op;
    return success();
  }
  InFlightDiagnostic diagnostic = op.emitError("is a second ") << what;
  diagnostic.attachNote(place.getLoc()) << "this is the first";
  return failure();
}

static LogicalResult verifyStraight(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitError("expects straight-line code, got ")
           << function.getBody().getBlocks().size() << " blocks";
  for (Operation &op : function.getBody().front())
    if (op.getNumRegions() > 0)
      return op.emitError("expects straight-line code around launches of a "
                          "variant, got a region");
  return success();
}

/// What stands in front of launches is computed, or checked, for all variants.
static LogicalResult verifyFront(func::FuncOp host) {
  for (Operation *op : getFront(host))
    if (!isMemoryEffectFree(op) && !isa<cf::AssertOp>(op))
      return op->emitError("has effects in front of the launches of a variant, "
                           "where values and checks may stand");
  return success();
}

static LogicalResult verifySymbols(gpu::GPUModuleOp kernels) {
  for (Operation &op : *kernels.getBody())
    if (!isa<SymbolOpInterface>(op))
      return op.emitError("is no symbol in a module of kernels of a variant");
  return success();
}

static FailureOr<Variant> collect(ModuleOp module, bool isLast) {
  Variant variant;
  variant.module = module;
  for (Operation &op : *module.getBody()) {
    if (auto kernels = dyn_cast<gpu::GPUModuleOp>(op)) {
      if (failed(take(variant.kernels, kernels, "module of kernels")) ||
          failed(verifySymbols(kernels)))
        return failure();
      continue;
    }
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function || function.isExternal())
      return op.emitError("has no place in a variant: expects host function, "
                          "condition and kernels");
    bool isHost = launchesKernels(function);
    if (!isHost && !(function.getNumResults() == 1 &&
                     function.getResultTypes().front().isInteger(1)))
      return function.emitError("neither launches a kernel nor is a condition, "
                                "whose result is an i1");
    if (failed(take(isHost ? variant.host : variant.condition, function,
                    isHost ? "host function" : "condition")) ||
        failed(verifyStraight(function)) ||
        (isHost && failed(verifyFront(function))))
      return failure();
  }
  // The symbol of a launch is a kernel, so that there is a module of them.
  if (!variant.host)
    return module.emitError("is a variant without a host function");
  if (isLast && variant.condition)
    return variant.condition.emitError(
        "is a condition of the last variant, which is launched if no other is");
  if (!isLast && !variant.condition)
    return module.emitError("is a variant without a condition, and not the "
                            "last one");
  return variant;
}

/// Whether a function of a later variant has the arguments of the first host
/// function.
static LogicalResult verifyArguments(func::FuncOp function,
                                     func::FuncOp first) {
  if (function.getArgumentTypes() == first.getArgumentTypes())
    return success();
  InFlightDiagnostic diagnostic =
      function.emitError("expects the arguments of the first host function, ")
      << first.getFunctionType() << ", got " << function.getFunctionType();
  diagnostic.attachNote(first.getLoc()) << "this is the first";
  return diagnostic;
}

static LogicalResult verifyAlike(ArrayRef<Variant> variants) {
  func::FuncOp first = variants.front().host;
  for (Variant variant : variants) {
    if (failed(verifyArguments(variant.host, first)) ||
        (variant.condition &&
         failed(verifyArguments(variant.condition, first))))
      return failure();
    if (variant.host.getName() != first.getName()) {
      InFlightDiagnostic diagnostic =
          variant.host.emitError("has another name than the first host "
                                 "function, '")
          << first.getName() << "'";
      diagnostic.attachNote(first.getLoc()) << "this is the first";
      return diagnostic;
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

/// The passes that a module of kernels asks for become those of its kernels.
static void passOnWishes(gpu::GPUModuleOp kernels) {
  Attribute wish = kernels->removeDiscardableAttr(kLLVMPassesAttr);
  if (!wish)
    return;
  for (auto function : kernels.getOps<FunctionOpInterface>())
    if (!function->hasAttr(kLLVMPassesAttr))
      function->setAttr(kLLVMPassesAttr, wish);
}

void Merger::moveKernels(Variant &variant) {
  passOnWishes(variant.kernels);
  gpu::GPUModuleOp home = variants.front().kernels;
  if (home == variant.kernels)
    return;
  SymbolTable symbols(home), own(variant.kernels);
  SmallVector<Operation *> moved;
  for (Operation &op : *variant.kernels.getBody())
    moved.push_back(&op);
  for (Operation *op : moved) {
    StringAttr name = SymbolTable::getSymbolName(op);
    StringAttr fresh = name;
    for (unsigned i = 1;
         symbols.lookup(fresh) || (fresh != name && own.lookup(fresh)); ++i)
      fresh =
          StringAttr::get(op->getContext(), name.getValue() + "_" + Twine(i));
    if (fresh != name) {
      (void)own.rename(op, fresh);
      variant.names[name] = fresh;
    }
    own.remove(op);
    op->remove();
    symbols.insert(op, home.getBody()->end());
  }
}

/// An operation of the merged function in front of `op` that computes the same.
Operation *Merger::findEqual(Operation *op) {
  auto isSame = [](Value a, Value b) { return success(a == b); };
  for (Operation &other : merged.getBody().front()) {
    if (&other == op)
      break;
    if (OperationEquivalence::isEquivalentTo(
            &other, op, isSame, /*markEquivalent=*/nullptr,
            OperationEquivalence::IgnoreLocations))
      return &other;
  }
  return nullptr;
}

void Merger::findLeaders(Variant &variant) {
  auto getLeading = [&](Value value) -> Value {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return merged.getArgument(argument.getArgNumber());
    auto result = cast<OpResult>(value);
    Operation *leader = leaders.lookup(result.getOwner());
    return leader ? leader->getResult(result.getResultNumber()) : value;
  };
  auto isSame = [&](Value a, Value b) {
    return success(getLeading(a) == getLeading(b));
  };
  llvm::SmallPtrSet<Operation *, 8> used;
  bool behind = false;
  for (Operation &op : variant.host.getBody().front().without_terminator()) {
    behind |= isLaunch(op);
    if (!isMemoryEffectFree(&op) && !isa<cf::AssertOp>(op))
      continue;
    Operation *leader = &op;
    for (auto [other, itsLeader] : leaders)
      if (other == itsLeader && OperationEquivalence::isEquivalentTo(
                                    other, &op, isSame,
                                    /*markEquivalent=*/nullptr,
                                    OperationEquivalence::IgnoreLocations)) {
        leader = other;
        break;
      }
    leaders[&op] = leader;
    // A variant may have a check twice.
    if (!behind && used.insert(leader).second)
      ++uses[leader];
  }
}

/// Adds what variant `number` has to compute or check under its condition;
/// whether there is any more.
bool Merger::addOwn(unsigned number) {
  bool isMore = false;
  llvm::SmallPtrSet<Operation *, 8> checks;
  for (Operation *op : getFront(variants[number].host)) {
    Operation *leader = leaders[op];
    bool isCheck = isa<cf::AssertOp>(op);
    bool isOwn = llvm::any_of(op->getOperands(), [&](Value operand) {
      Operation *definition = operand.getDefiningOp();
      return definition && own.contains(leaders[definition]);
    });
    isOwn |= isCheck && !isShared(leader);
    if (!isCheck && mayFail(*op)) {
      // In front of it stand the checks of the first variant, if all have them.
      if (number == 0)
        checksBefore.try_emplace(leader, checks);
      isOwn |= !isShared(leader) || llvm::any_of(checks, [&](Operation *check) {
        return !isShared(check) || !checksBefore[leader].contains(check);
      });
    }
    if (isOwn)
      isMore |= own.insert(leader).second;
    if (isCheck)
      checks.insert(leader);
  }
  return isMore;
}

void Merger::findOwn() {
  for (bool isMore = true; isMore;) {
    isMore = false;
    for (unsigned number = 0; number < variants.size(); ++number)
      isMore |= addOwn(number);
  }
}

/// Computes what the variant's launches take.
void Merger::cloneShared(Variant &variant, IRMapping &values) {
  OpBuilder builder(end);
  for (Operation *op : getFront(variant.host)) {
    Operation *leader = leaders[op];
    if (own.contains(leader))
      continue;
    Operation *&copy = copies[leader];
    if (!copy)
      copy = builder.clone(*op, values);
    values.map(op->getResults(), copy->getResults());
  }
}

/// Clones what stands under the variant's condition.
void Merger::cloneOwn(Variant &variant, IRMapping &values, OpBuilder &builder) {
  bool behind = false;
  for (Operation &op : variant.host.getBody().front().without_terminator()) {
    behind |= isLaunch(op);
    // Where an equal check stands in front, nothing is left to check.
    bool isKnown = copies.contains(leaders.lookup(&op));
    if (isKnown && (!behind || isa<cf::AssertOp>(op)))
      continue;
    Operation *copy = builder.clone(op, values);
    if (!isLaunch(op))
      continue;
    auto kernel = copy->getAttrOfType<SymbolRefAttr>("kernel");
    StringAttr home = variants.front().kernels.getNameAttr();
    StringAttr name = kernel.getLeafReference();
    if (StringAttr fresh = variant.names.lookup(name))
      name = fresh;
    copy->setAttr("kernel",
                  SymbolRefAttr::get(home, FlatSymbolRefAttr::get(name)));
  }
}

Value Merger::cloneCondition(Variant &variant, OpBuilder &builder) {
  IRMapping values;
  values.map(variant.condition.getArguments(), merged.getArguments());
  Block &body = variant.condition.getBody().front();
  for (Operation &op : body.without_terminator()) {
    Operation *copy = builder.clone(op, values);
    if (Operation *equal =
            isMemoryEffectFree(copy) ? findEqual(copy) : nullptr) {
      values.map(op.getResults(), equal->getResults());
      copy->erase();
    }
  }
  return values.lookupOrDefault(body.getTerminator()->getOperand(0));
}

void Merger::merge() {
  for (Variant &variant : variants)
    moveKernels(variant);
  // The function becomes the merged one; what it had is a variant like others.
  Block &body = merged.getBody().front();
  func::FuncOp first = merged.clone();
  variants.front().host = first;
  end = body.getTerminator();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (&op != end)
      op.erase();

  for (Variant &variant : variants)
    findLeaders(variant);
  findOwn();
  SmallVector<IRMapping> values(variants.size());
  for (auto [variant, mapping] : llvm::zip(variants, values)) {
    mapping.map(variant.host.getArguments(), merged.getArguments());
    cloneShared(variant, mapping);
  }
  OpBuilder builder(end);
  for (auto [number, variant] : llvm::enumerate(variants)) {
    if (number + 1 < variants.size()) {
      // A condition may count on those in front of it not to hold.
      Value condition = cloneCondition(variant, builder);
      auto choice = scf::IfOp::create(builder, variant.host.getLoc(), condition,
                                      /*withElseRegion=*/true);
      OpBuilder inner = choice.getThenBodyBuilder();
      cloneOwn(variant, values[number], inner);
      builder = choice.getElseBodyBuilder();
    } else {
      cloneOwn(variant, values[number], builder);
    }
  }
  first.erase();
}

void MergeVariants::runOnOperation() {
  ModuleOp module = getOperation();
  SmallVector<ModuleOp> modules(module.getOps<ModuleOp>());
  if (modules.empty())
    return markAllAnalysesPreserved();
  SmallVector<Variant> variants;
  for (ModuleOp nested : modules) {
    FailureOr<Variant> variant = collect(nested, nested == modules.back());
    if (failed(variant))
      return signalPassFailure();
    variants.push_back(std::move(*variant));
  }
  if (failed(verifyAlike(variants)))
    return signalPassFailure();
  numVariants += variants.size();
  func::FuncOp host = variants.front().host;
  gpu::GPUModuleOp kernels = variants.front().kernels;
  for (Operation *op : {host.getOperation(), kernels.getOperation()}) {
    StringAttr name = SymbolTable::getSymbolName(op);
    Operation *other = SymbolTable::lookupSymbolIn(module, name);
    if (!other)
      continue;
    InFlightDiagnostic diagnostic = op->emitError("needs the name '")
                                    << name.getValue()
                                    << "', which another operation has";
    diagnostic.attachNote(other->getLoc()) << "this is the other";
    return signalPassFailure();
  }
  Merger(variants).merge();
  host->moveBefore(modules.front());
  kernels->moveBefore(modules.front());
  for (ModuleOp nested : modules)
    nested.erase();
}
