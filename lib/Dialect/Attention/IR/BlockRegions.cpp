//===- BlockRegions.cpp - regions that list blocks ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Constraints and construction of the lists of blocks that forward and backward
// take: of keys for each block of queries, and for gradients of queries for
// each block of keys, too.
//===----------------------------------------------------------------------===//

#include "ScalarRegions.h"
#include "fa3/Dialect/Attention/IR/BlockLists.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fa3::attention;

static constexpr Sequence kBoth[] = {Sequence::query, Sequence::key};

static BlocksOp getBlocks(ScoredOpInterface op) {
  Value value = op.getBlocks();
  return value ? value.getDefiningOp<BlocksOp>() : BlocksOp();
}

Region *fa3::attention::findList(Operation *operation, Sequence by) {
  auto op = cast<ScoredOpInterface>(operation);
  BlocksOp blocks = getBlocks(op);
  if (!blocks || (by == Sequence::key && !op.takesListsByKey()))
    return nullptr;
  Region &region = blocks.getList(by);
  return region.empty() ? nullptr : &region;
}

/// The mods that list blocks.
static SmallVector<ModAttrInterface> getListingMods(ScoredOpInterface op) {
  SmallVector<ModAttrInterface> mods;
  if (ArrayAttr given = op.getModsAttr())
    for (Attribute attribute : given)
      if (auto mod = dyn_cast<ModAttrInterface>(attribute);
          mod && mod.getBlockSizes())
        mods.push_back(mod);
  return mods;
}

std::optional<std::pair<int64_t, int64_t>>
fa3::attention::getSizesOfBlocks(Operation *operation) {
  auto op = cast<ScoredOpInterface>(operation);
  if (BlocksOp blocks = getBlocks(op); blocks && blocks.getSizes().size() == 2)
    return std::pair(blocks.getSizes()[0], blocks.getSizes()[1]);
  SmallVector<ModAttrInterface> mods = getListingMods(op);
  return mods.empty() ? std::nullopt : mods.front().getBlockSizes();
}

bool fa3::attention::isOfBlocks(Region *region) {
  return isa<BlocksOp>(region->getParentOp());
}

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

/// What lists of the other direction come with.
static LogicalResult verifyDirections(ScoredOpInterface op, size_t byQuery,
                                      size_t byKey) {
  if (!op.takesListsByKey()) {
    if (byKey)
      return op->emitOpError("expects lists of blocks by queries, got ")
             << byKey << " by keys, which are for gradients";
    return success();
  }
  if (byQuery != byKey)
    return op->emitOpError("expects lists of blocks by queries and by keys, ")
           << "got only those by " << (byQuery ? "queries" : "keys");
  return success();
}

LogicalResult
fa3::attention::verifySizesOfBlocks(Operation *op,
                                    std::pair<int64_t, int64_t> sizes) {
  constexpr int64_t kMost = int64_t(1) << 20;
  for (auto [what, size, step] :
       {std::tuple("queries", sizes.first, kQueryStepOfBlock),
        std::tuple("keys", sizes.second, kKeyStepOfBlock)})
    if (!isSizeOfBlock(size, step, kMost))
      return op->emitOpError("expects blocks of ")
             << what << " that are a multiple of " << step << " up to " << kMost
             << ", got " << size;
  return success();
}

LogicalResult fa3::attention::verifyLists(ScoredOpInterface op) {
  SmallVector<ModAttrInterface> mods = getListingMods(op);
  size_t counts[2];
  for (Sequence by : kBoth) {
    size_t &count = counts[static_cast<size_t>(by)];
    count = llvm::count_if(
        mods, [&](ModAttrInterface mod) { return mod.getListedBy() == by; });
    count += op.findList(by) != nullptr;
    if (count > 1 && (by == Sequence::query || op.takesListsByKey()))
      return op->emitOpError("expects lists of blocks once, got them ")
             << count << " times";
  }
  // Lists for gradients alone are none for a forward.
  if (BlocksOp blocks = getBlocks(op); blocks && blocks.getByQuery().empty())
    counts[1] = std::max<size_t>(counts[1], 1);
  if (counts[0] + counts[1] == 0)
    return success();
  if (failed(verifyDirections(op, counts[0], counts[1])))
    return failure();
  std::pair<int64_t, int64_t> sizes = *op.getSizesOfBlocks();
  for (ModAttrInterface mod : mods) {
    std::pair<int64_t, int64_t> own = *mod.getBlockSizes();
    if (own != sizes)
      return op->emitOpError("expects lists by queries and by keys to have "
                             "blocks of one size, got ")
             << sizes.first << " x " << sizes.second << " and " << own.first
             << " x " << own.second;
  }
  return verifySizesOfBlocks(op, sizes);
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

void fa3::attention::addBlocks(Operation *operation, Sequence by,
                               std::pair<int64_t, int64_t> sizes,
                               ListsBuilder build) {
  auto op = cast<ScoredOpInterface>(operation);
  ownDescriptions(op);
  BlocksOp blocks = getBlocks(op);
  if (!blocks) {
    OpBuilder builder(op);
    int64_t both[] = {sizes.first, sizes.second};
    blocks = BlocksOp::create(builder, op->getLoc(),
                              BlocksType::get(op->getContext()), both);
    op.getBlocksMutable().assign(blocks.getResult());
  }
  Block &block = blocks.getList(by).emplaceBlock();
  while (block.getNumArguments() < 4)
    block.addArgument(IndexType::get(op->getContext()), op->getLoc());
  auto b = ImplicitLocOpBuilder::atBlockEnd(op->getLoc(), &block);
  ModContext context = {block.getArgument(0), block.getArgument(1),
                        block.getArgument(2), block.getArgument(3),
                        op.getAux()};
  YieldOp::create(b, build(b, context));
}
