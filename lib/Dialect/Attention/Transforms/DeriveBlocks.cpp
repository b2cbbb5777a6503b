//===- DeriveBlocks.cpp - attention-derive-blocks -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The code of a mask is copied into an attention.list_blocks, and attention is
// given its results as #attention.blocks takes them.
//===----------------------------------------------------------------------===//

#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "fa3/Dialect/Attention/IR/BlockLists.h"
#include "fa3/Dialect/Attention/Transforms/Passes.h"
#include "fa3/Support/CloneScalars.h"
#include "fa3/Support/ContractNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

namespace fa3::attention {
#define GEN_PASS_DEF_DERIVEBLOCKS
#include "fa3/Dialect/Attention/Transforms/Passes.h.inc"
} // namespace fa3::attention

using namespace mlir;
using namespace fa3;
using namespace fa3::attention;

namespace {
struct DeriveBlocks : fa3::attention::impl::DeriveBlocksBase<DeriveBlocks> {
  using DeriveBlocksBase::DeriveBlocksBase;
  void runOnOperation() override;

private:
  LogicalResult verifyOptions();
  /// Whether lists are to be made, with `auto`.
  bool pays(ForwardOp forward);
  /// Makes lists in front of attention.
  void deriveHere(ForwardOp forward);
  LogicalResult deriveApart(ForwardOp forward);
  /// A function that makes the lists of attention, from what its mask reads.
  func::FuncOp createListFunction(ForwardOp forward, StringRef name);
  void takeLists(ForwardOp forward, ValueRange lists);
  ListBlocksOp createList(OpBuilder &builder, ForwardOp forward,
                          ValueRange numbers, IRMapping &mapping);
  SmallVector<Type> getListTypes(ForwardOp forward);
};
} // namespace

/// The number of an argument of the mask: batch, head, query or key.
static BlockArgument getMaskArgument(ForwardOp forward, unsigned number) {
  return forward.getMaskMod().getArgument(number);
}

/// Auxiliary operands that the mask reads, each once.
static SmallVector<Value> getRead(ForwardOp forward) {
  llvm::SetVector<Value> read;
  for (Operation &op : forward.getMaskMod().front())
    if (isa<tensor::ExtractOp, tensor::DimOp>(op))
      read.insert(op.getOperand(0));
  return read.takeVector();
}

/// The extent of an axis of q or k as a type says it.
static int64_t getExtent(Value tensor, int64_t axis) {
  return cast<RankedTensorType>(tensor.getType()).getDimSize(axis);
}

/// Why attention cannot have lists; empty if it can.
static std::string explainRefusal(ForwardOp forward) {
  if (forward.getMaskMod().empty())
    return "it has no mask";
  if (forward.getSizesOfBlocks())
    return "it has lists already";
  if (forward.hasLengths() || forward.hasPlace(Sequence::query) ||
      forward.hasPlace(Sequence::key))
    return "its sequences have lengths or places of their own";
  if (forward.getSplits())
    return "its keys are divided";
  for (Value value : getRead(forward))
    if (!isa<BlockArgument>(value))
      return "its mask reads what is no argument of the function";
  if (!isa<func::FuncOp>(forward->getParentOp()))
    return "it does not lie directly in a function";
  return {};
}

/// Whether intervals of queries and keys do not decide a mask: it reads memory
/// by one of them, or divides by a number of the launch. Quotients and
/// remainders by constants are left to the analysis of inequalities.
static bool isUndecided(ForwardOp forward) {
  llvm::SmallDenseSet<Value> varying;
  for (unsigned number : {2, 3})
    varying.insert(getMaskArgument(forward, number));
  for (Operation &op : forward.getMaskMod().front().without_terminator()) {
    bool varies = llvm::any_of(op.getOperands(), [&](Value operand) {
      return varying.contains(operand);
    });
    if (!varies)
      continue;
    if (isa<tensor::ExtractOp>(op) ||
        (isDivision(&op) && !matchPattern(op.getOperand(1), m_Constant())))
      return true;
    varying.insert_range(op.getResults());
  }
  return false;
}

bool DeriveBlocks::pays(ForwardOp forward) {
  constexpr int64_t kLeast = 2048;
  if (!explainRefusal(forward).empty())
    return false;
  int64_t queries = getExtent(forward.getQ(),
                              forward.getSequenceAxisOf(forward.getQ())),
          keys = getExtent(forward.getK(),
                           forward.getSequenceAxisOf(forward.getK()));
  // What is not known is negative.
  return queries >= kLeast && keys >= kLeast && isUndecided(forward);
}

LogicalResult DeriveBlocks::verifyOptions() {
  auto error = [&]() {
    return getOperation().emitError("attention-derive-blocks: ");
  };
  for (auto [what, size, step] :
       {std::tuple("queries", queries.getValue(), kQueryStepOfBlock),
        std::tuple("keys", keys.getValue(), kKeyStepOfBlock)})
    if (!isSizeOfBlock(size, step))
      return error() << "expects " << what << " to be a multiple of " << step
                     << " up to " << kMostRowsOfBlock << ", got " << size;
  return success();
}

SmallVector<Type> DeriveBlocks::getListTypes(ForwardOp forward) {
  auto getShared = [&](unsigned number, int64_t extent) {
    return getMaskArgument(forward, number).use_empty() ? 1 : extent;
  };
  auto countBlocks = [&](Value tensor, int64_t size) {
    int64_t rows = getExtent(tensor, forward.getSequenceAxisOf(tensor));
    return ShapedType::isDynamic(rows)
               ? rows
               : std::max<int64_t>(llvm::divideCeil(rows, size), 1);
  };
  Value q = forward.getQ();
  int64_t shape[] = {getShared(0, getExtent(q, 0)),
                     getShared(1, getExtent(q, forward.getHeadAxisOf(q))),
                     countBlocks(q, queries),
                     countBlocks(forward.getK(), keys)};
  Type element = IntegerType::get(&getContext(), 32);
  Type count = RankedTensorType::get(ArrayRef(shape).take_front(3), element),
       index = RankedTensorType::get(shape, element);
  return {count, index, count, index};
}

ListBlocksOp DeriveBlocks::createList(OpBuilder &builder, ForwardOp forward,
                                      ValueRange numbers, IRMapping &mapping) {
  SmallVector<Value> aux =
      llvm::map_to_vector(getRead(forward), [&](Value value) {
        return mapping.lookupOrDefault(value);
      });
  auto list = ListBlocksOp::create(
      builder, forward.getLoc(), getListTypes(forward), numbers[0], numbers[1],
      numbers[2], numbers[3], aux, {queries.getValue(), keys.getValue()});
  forward.getMaskMod().cloneInto(&list.getMaskMod(), mapping);
  return list;
}

void DeriveBlocks::takeLists(ForwardOp forward, ValueRange lists) {
  int64_t first = forward.getAux().size();
  forward.getAuxMutable().append(lists);
  auto blocks =
      BlocksAttr::get(&getContext(), first, first + 1, first + 2, first + 3,
                      queries.getValue(), keys.getValue(), Sequence::query);
  forward.addBlocks(Sequence::query, {queries, keys},
                    [&](ImplicitLocOpBuilder &b, const ModContext &context) {
                      return blocks.buildBlocks(b, context);
                    });
  ++numDerived;
}

void DeriveBlocks::deriveHere(ForwardOp forward) {
  ImplicitLocOpBuilder b(forward.getLoc(), forward);
  Value q = forward.getQ(), k = forward.getK();
  auto getNumber = [&](Value tensor, int64_t axis) -> Value {
    int64_t extent = getExtent(tensor, axis);
    if (!ShapedType::isDynamic(extent))
      return arith::ConstantIndexOp::create(b, extent);
    return tensor::DimOp::create(b, tensor, axis);
  };
  auto getShared = [&](unsigned number, int64_t axis) -> Value {
    if (getMaskArgument(forward, number).use_empty())
      return arith::ConstantIndexOp::create(b, 1);
    return getNumber(q, axis);
  };
  Value numbers[] = {getShared(0, 0), getShared(1, forward.getHeadAxisOf(q)),
                     getNumber(q, forward.getSequenceAxisOf(q)),
                     getNumber(k, forward.getSequenceAxisOf(k))};
  IRMapping mapping;
  takeLists(forward, createList(b, forward, numbers, mapping).getResults());
}

/// A name that no argument has.
static std::string chooseArgumentName(func::FuncOp function, StringRef base) {
  llvm::SmallDenseSet<StringRef> taken;
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
    if (auto name = function.getArgAttrOfType<StringAttr>(i, kArgumentNameAttr))
      taken.insert(name.getValue());
  std::string name = base.str();
  for (unsigned i = 1; taken.contains(name); ++i)
    name = base.str() + std::to_string(i);
  return name;
}

/// Copies a scalar of a function to another one, with what computes it; its
/// arguments become arguments there.
static void copyScalar(Value value, func::FuncOp from, func::FuncOp to,
                       OpBuilder &builder, IRMapping &mapping) {
  auto addArgument = [&](BlockArgument argument) -> Value {
    unsigned number = to.getNumArguments();
    DictionaryAttr attributes = from.getArgAttrDict(argument.getArgNumber());
    (void)to.insertArgument(number, argument.getType(), attributes,
                            argument.getLoc());
    return to.getArgument(number);
  };
  (void)cloneScalars(builder, value, mapping, {addArgument});
}

func::FuncOp DeriveBlocks::createListFunction(ForwardOp forward,
                                              StringRef name) {
  auto function = cast<func::FuncOp>(forward->getParentOp());
  ImplicitLocOpBuilder b(forward.getLoc(), function);
  b.setInsertionPointAfter(function);
  auto lists = func::FuncOp::create(
      b, name, b.getFunctionType({}, getListTypes(forward)));
  Block *body = lists.addEntryBlock();
  b.setInsertionPointToEnd(body);
  auto addNumber = [&](StringRef base) -> Value {
    auto attributes = b.getDictionaryAttr(b.getNamedAttr(
        kArgumentNameAttr, b.getStringAttr(chooseArgumentName(lists, base))));
    unsigned number = lists.getNumArguments();
    (void)lists.insertArgument(number, b.getIndexType(), attributes,
                               b.getLoc());
    return lists.getArgument(number);
  };
  IRMapping mapping;
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(forward.getMaskMod(), captured);
  SmallVector<Value> used = getRead(forward);
  llvm::append_range(used, captured);
  for (Value value : used)
    copyScalar(value, function, lists, b, mapping);
  auto getShared = [&](unsigned number, StringRef base, int64_t axis) -> Value {
    if (getMaskArgument(forward, number).use_empty())
      return arith::ConstantIndexOp::create(b, 1);
    int64_t extent = getExtent(forward.getQ(), axis);
    return ShapedType::isDynamic(extent)
               ? addNumber(base)
               : arith::ConstantIndexOp::create(b, extent).getResult();
  };
  auto getLength = [&](Value tensor, StringRef base) -> Value {
    int64_t extent = getExtent(tensor, forward.getSequenceAxisOf(tensor));
    return ShapedType::isDynamic(extent)
               ? addNumber(base)
               : arith::ConstantIndexOp::create(b, extent).getResult();
  };
  Value q = forward.getQ();
  Value numbers[] = {
      getShared(0, "batch", 0), getShared(1, "heads", forward.getHeadAxisOf(q)),
      getLength(q, "queries"), getLength(forward.getK(), "keys")};
  ListBlocksOp list = createList(b, forward, numbers, mapping);
  func::ReturnOp::create(b, list->getResults());
  for (auto [number, base] : llvm::enumerate(kListNames))
    lists.setResultAttr(number, kArgumentNameAttr, b.getStringAttr(base));
  return lists;
}

LogicalResult DeriveBlocks::deriveApart(ForwardOp forward) {
  auto function = cast<func::FuncOp>(forward->getParentOp());
  Operation *scope = function->getParentOp();
  if (collectReferences(scope).contains(function.getSymNameAttr()))
    return function.emitError("expects a function that nothing else refers to "
                              "with block-lists=apart: its type changes");
  std::string name = (function.getName() + "_blocks").str();
  if (Operation *other = SymbolTable::lookupSymbolIn(scope, name)) {
    InFlightDiagnostic diagnostic = function.emitError("needs the name '")
                                    << name << "' with block-lists=apart";
    diagnostic.attachNote(other->getLoc()) << "this has it";
    return diagnostic;
  }
  func::FuncOp lists = createListFunction(forward, name);

  // Attention takes them.
  Builder b(function.getContext());
  SmallVector<Value> taken;
  for (auto [base, type] :
       llvm::zip(kListNames, lists.getFunctionType().getResults())) {
    auto attributes = b.getDictionaryAttr(
        b.getNamedAttr(kArgumentNameAttr,
                       b.getStringAttr(chooseArgumentName(function, base))));
    unsigned number = function.getNumArguments();
    if (failed(function.insertArgument(number, type, attributes,
                                       forward.getLoc())))
      return failure();
    taken.push_back(function.getArgument(number));
  }
  takeLists(forward, taken);
  return success();
}

void DeriveBlocks::runOnOperation() {
  if (failed(verifyOptions()))
    return signalPassFailure();
  if (blockLists == options::BlockLists::Never)
    return;
  SmallVector<ForwardOp> forwards;
  getOperation().walk([&](ForwardOp forward) { forwards.push_back(forward); });
  for (ForwardOp forward : forwards) {
    if (blockLists == options::BlockLists::Auto) {
      if (pays(forward))
        deriveHere(forward);
      continue;
    }
    if (std::string reason = explainRefusal(forward); !reason.empty()) {
      forward.emitOpError("cannot have lists of blocks: ") << reason;
      return signalPassFailure();
    }
    if (blockLists == options::BlockLists::Call)
      deriveHere(forward);
    else if (failed(deriveApart(forward)))
      return signalPassFailure();
  }
}
