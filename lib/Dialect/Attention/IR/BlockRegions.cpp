//===- BlockRegions.cpp - regions that list blocks ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Syntax, constraints and construction of the lists of blocks that forward and
// backward take: of keys for each block of queries, and for gradients of
// queries for each block of keys, too.
//===----------------------------------------------------------------------===//

#include "ScalarRegions.h"
#include "fa3/Dialect/Attention/IR/BlockLists.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fa3::attention;

static constexpr Sequence kBoth[] = {Sequence::query, Sequence::key};

static StringRef getKeyword(Sequence by) {
  return by == Sequence::query ? "blocks" : "blocks_by_key";
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
  if (std::optional<ArrayRef<int64_t>> sizes = op.getBlockSizes();
      sizes && sizes->size() == 2)
    return std::pair((*sizes)[0], (*sizes)[1]);
  SmallVector<ModAttrInterface> mods = getListingMods(op);
  return mods.empty() ? std::nullopt : mods.front().getBlockSizes();
}

bool fa3::attention::isOfBlocks(Region *region) {
  auto op = dyn_cast<ScoredOpInterface>(region->getParentOp());
  return op && llvm::any_of(kBoth, [&](Sequence by) {
           return op.findBlocksRegion(by) == region;
         });
}

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

void fa3::attention::printBlocks(OpAsmPrinter &printer, ScoredOpInterface op) {
  for (Sequence by : kBoth) {
    Region *region = op.findBlocksRegion(by);
    if (!region || region->empty())
      continue;
    std::string text = getKeyword(by).str();
    std::optional<ArrayRef<int64_t>> sizes = op.getBlockSizes();
    if (by == Sequence::query && sizes) {
      llvm::raw_string_ostream stream(text);
      stream << " [";
      llvm::interleaveComma(*sizes, stream);
      stream << "]";
    }
    printRegion(printer, text, *region);
  }
}

ParseResult fa3::attention::parseBlocks(OpAsmParser &parser,
                                        OperationState &result, StringAttr name,
                                        Region &blocks, Region *blocksByKey) {
  Builder &builder = parser.getBuilder();
  Type index = builder.getIndexType();
  SmallVector<Type> arguments(4, index);
  StringRef keyword = getKeyword(Sequence::query);
  if (succeeded(parser.parseOptionalKeyword(keyword))) {
    int64_t sizes[2];
    if (parser.parseLSquare() || parser.parseInteger(sizes[0]) ||
        parser.parseComma() || parser.parseInteger(sizes[1]) ||
        parser.parseRSquare())
      return failure();
    result.addAttribute(name, builder.getDenseI64ArrayAttr(sizes));
    if (parseRegion(parser, blocks, arguments, keyword))
      return failure();
  }
  keyword = getKeyword(Sequence::key);
  if (blocksByKey && succeeded(parser.parseOptionalKeyword(keyword)))
    return parseRegion(parser, *blocksByKey, arguments, keyword);
  return success();
}

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

static LogicalResult verifySizes(ScoredOpInterface op,
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

/// What lists of the other direction come with.
static LogicalResult verifyDirections(ScoredOpInterface op, size_t byQuery,
                                      size_t byKey) {
  if (!op.findBlocksRegion(Sequence::key)) {
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

LogicalResult fa3::attention::verifyBlockRegions(ScoredOpInterface op) {
  Region *byQuery = op.findBlocksRegion(Sequence::query);
  std::optional<ArrayRef<int64_t>> given = op.getBlockSizes();
  if (given.has_value() == byQuery->empty() || (given && given->size() != 2))
    return op->emitOpError(
        "expects two sizes beside 'blocks', and none without");
  SmallVector<ModAttrInterface> mods = getListingMods(op);
  size_t counts[2];
  for (Sequence by : kBoth) {
    Region *region = op.findBlocksRegion(by);
    size_t &count = counts[static_cast<size_t>(by)];
    count = llvm::count_if(
        mods, [&](ModAttrInterface mod) { return mod.getListedBy() == by; });
    count += region && !region->empty();
    if (count > 1 && region)
      return op->emitOpError("expects lists of blocks once, got them ")
             << count << " times";
  }
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
  return verifySizes(op, sizes);
}

LogicalResult fa3::attention::verifyListCode(ScoredOpInterface op) {
  Type index = IndexType::get(op->getContext());
  for (Sequence by : kBoth)
    if (Region *region = op.findBlocksRegion(by))
      if (failed(verifyScalarRegion(op, *region, getKeyword(by),
                                    {index, index, index, index},
                                    {index, index, index, index})))
        return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

void fa3::attention::addBlocks(Operation *operation, Sequence by,
                               std::pair<int64_t, int64_t> sizes,
                               ListsBuilder build) {
  auto op = cast<ScoredOpInterface>(operation);
  Block &block = op.findBlocksRegion(by)->emplaceBlock();
  while (block.getNumArguments() < 4)
    block.addArgument(IndexType::get(op->getContext()), op->getLoc());
  auto b = ImplicitLocOpBuilder::atBlockEnd(op->getLoc(), &block);
  ModContext context = {block.getArgument(0), block.getArgument(1),
                        block.getArgument(2), block.getArgument(3),
                        op.getAux()};
  YieldOp::create(b, build(b, context));
  op.setBlockSizesAttr(b.getDenseI64ArrayAttr({sizes.first, sizes.second}));
}
