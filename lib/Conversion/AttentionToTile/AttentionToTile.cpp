//===- AttentionToTile.cpp - attention-to-tile ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Conversion/AttentionToTile/AttentionToTile.h"
#include "BackwardKernels.h"
#include "Cost.h"
#include "ForwardChoices.h"
#include "Kernel.h"
#include "KernelArguments.h"
#include "ListKernels.h"
#include "MergeKernel.h"
#include "PackGroups.h"
#include "Places.h"
#include "QuantizeKernels.h"
#include "ScalarRegion.h"
#include "SequenceCode.h"
#include "SplitCount.h"
#include "UpdateKernel.h"
#include "fa3/Dialect/Attention/Contract/Captures.h"
#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <numeric>

namespace fa3 {
#define GEN_PASS_DEF_ATTENTIONTOTILE
#include "fa3/Conversion/AttentionToTile/Passes.h.inc"
} // namespace fa3

using namespace mlir;
using namespace fa3;
using attention::ForwardOp;
using attention::HostFunction;
using attention::ScoredOpInterface;

namespace {
/// What kernels of one attention are given by the host.
struct KernelSource {
  /// Results for parts of the keys, in memory of the call; null for none.
  struct Parts {
    Value o, lse;
  };

  /// Creates a kernel that only returns and says which of its arguments
  /// `operands` are.
  std::pair<gpu::GPUFuncOp, KernelArguments>
  createKernel(gpu::GPUModuleOp module, StringRef name, Parts parts,
               KernelOperands &operands) const;

  HostFunction &host;
  attention::Captures captures;
  Value q, values, o, lse;
};

struct AttentionToTile : fa3::impl::AttentionToTileBase<AttentionToTile> {
  using AttentionToTileBase::AttentionToTileBase;
  void runOnOperation() override;

private:
  LogicalResult verifyOptions();
  LogicalResult convert(func::FuncOp function);
  LogicalResult buildQuantizations(HostFunction &host, gpu::GPUModuleOp module);
  LogicalResult buildForward(HostFunction &host, gpu::GPUModuleOp module);
  LogicalResult buildBackward(HostFunction &host, gpu::GPUModuleOp module);
  /// Keys of a narrower block in front of the others, 0 for none.
  FailureOr<int64_t> getLastKeys(attention::ForwardOp forward, int64_t blockN);
  /// Narrows a tile to one that listed blocks are made of.
  LogicalResult fitBlocks(attention::ForwardOp forward, int64_t rowsPerQuery,
                          const RegionDemand &demand, TileChoice &tile);
  /// Fits a tile to rows that lie one behind the other; gives the rows of the
  /// pieces of a block of keys, 0 for one piece.
  FailureOr<int64_t> fitPlaces(attention::ForwardOp forward, TileChoice &tile);
  void buildLaunch(HostFunction &host, gpu::GPUModuleOp module,
                   gpu::GPUFuncOp kernel, const KernelArguments &arguments);
};
} // namespace

std::pair<gpu::GPUFuncOp, KernelArguments>
KernelSource::createKernel(gpu::GPUModuleOp module, StringRef name, Parts parts,
                           KernelOperands &operands) const {
  KernelArguments arguments;
  for (Value value : {q, host.k, values})
    arguments.add(value);
  for (Value value : host.aux)
    arguments.add(value);
  for (Value value : {o, lse, host.scale})
    arguments.add(value);
  for (Value value : host.scales)
    arguments.add(value);
  for (Value value : {host.maxQ, host.sinks, parts.o, parts.lse})
    arguments.add(value);
  for (auto [value, hostValue] : captures)
    arguments.add(hostValue);

  gpu::GPUFuncOp kernel = fa3::createKernel(module, host.forward.getLoc(), name,
                                            arguments.getTypes());
  OpBuilder builder(kernel.getBody().front().getTerminator());
  auto inKernel = [&](Value value) {
    return arguments.lookup(builder, kernel, value);
  };
  operands.q = inKernel(q);
  operands.k = inKernel(host.k);
  operands.v = inKernel(values);
  operands.o = inKernel(o);
  operands.lse = inKernel(lse);
  operands.scale = inKernel(host.scale);
  operands.maxQ = inKernel(host.maxQ);
  operands.sinks = inKernel(host.sinks);
  operands.batch = host.batchExtent;
  for (Value value : host.aux)
    operands.aux.push_back(inKernel(value));
  for (Value value : host.scales)
    operands.scales.push_back(inKernel(value));
  for (auto [value, hostValue] : captures)
    operands.captures.map(value, inKernel(hostValue));
  return {kernel, std::move(arguments)};
}

LogicalResult AttentionToTile::verifyOptions() {
  auto error = [&]() {
    return getOperation().emitError("attention-to-tile: ");
  };
  if (blockM < 0 || blockM % 64)
    return error() << "expects block-m to be a multiple of 64, got "
                   << blockM.getValue();
  if (blockN < 0 || blockN % 16 || blockN > 256)
    return error() << "expects block-n to be a multiple of 16 up to 256, got "
                   << blockN.getValue();
  if (twoLevelSteps < 0)
    return error() << "expects two-level-steps of at least 0, got "
                   << twoLevelSteps.getValue();
  if (twoLevelSteps != 0 && twoLevel == options::Choice::False)
    return error() << "expects no two-level-steps without "
                      "two-level-accumulation, got "
                   << twoLevelSteps.getValue();
  // 2^threshold must fit the type of the weights; 2^15 is f16's last power.
  if (rescaleThreshold != -1 &&
      !(rescaleThreshold >= 0 && rescaleThreshold <= 14))
    return error() << "expects rescale-threshold between 0 and 14, or -1, got "
                   << rescaleThreshold.getValue();
  return success();
}

/// Refuses extents that no array has. Canonicalization, which follows, reads
/// them before it asks whether they are there (LLVM 22, gpu dialect).
static LogicalResult verifyExtents(ModuleOp module) {
  WalkResult result = module.walk([](memref::DimOp dim) {
    std::optional<int64_t> index = dim.getConstantIndex();
    auto type = dyn_cast<MemRefType>(dim.getSource().getType());
    if (!index || !type || (0 <= *index && *index < type.getRank()))
      return WalkResult::advance();
    dim.emitOpError("asks for dimension ")
        << *index << " of a memref of rank " << type.getRank();
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

void AttentionToTile::runOnOperation() {
  if (failed(verifyOptions()) || failed(verifyExtents(getOperation())))
    return signalPassFailure();
  SmallVector<func::FuncOp> functions;
  for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
    if (attention::hasAttention(function))
      functions.push_back(function);
  for (func::FuncOp function : functions)
    if (failed(convert(function)))
      return signalPassFailure();
}

FailureOr<int64_t> AttentionToTile::getLastKeys(ForwardOp forward,
                                                int64_t blockN) {
  constexpr int64_t kStep16Bit = 16, kStep8Bit = 32;
  bool isAsked = lastBlock == options::LastBlock::Narrow;
  if (isAsked && forward.getSizesOfBlocks())
    return forward.emitOpError("has lists of blocks of keys, expects no "
                               "last-block=narrow");
  if (isAsked && forward.hasLengths())
    return forward.emitOpError("has sequences with lengths of their own, "
                               "expects a known number of keys with "
                               "last-block=narrow");
  if (forward.hasLengths() || forward.getSizesOfBlocks() ||
      lastBlock == options::LastBlock::Whole ||
      (!isAsked &&
       (!forward.getMaskMod().empty() || !forward.getAux().empty())))
    return 0;
  RankedTensorType type = forward.getK().getType();
  int64_t axis = forward.getSequenceAxisOf(forward.getK());
  if (type.isDynamicDim(axis)) {
    if (isAsked)
      return forward.emitOpError("has an unknown number of keys, expects a "
                                 "known one with last-block=narrow");
    return 0;
  }
  int64_t keys = type.getDimSize(axis);
  int64_t last = llvm::alignTo(keys % blockN,
                               forward.hasScales() ? kStep8Bit : kStep16Bit);
  if (keys < blockN || last == 0 || last >= blockN)
    return 0;
  // A step of its own, which nothing hides, has to spare some columns. Two
  // others are no loop: all three would live side by side, and spill.
  constexpr int64_t kLeastSpared = 32, kLeastBlocks = 3;
  if (!isAsked &&
      (blockN - last < kLeastSpared || keys < kLeastBlocks * blockN))
    return 0;
  for (unsigned operand : {1, 2}) {
    int64_t rows = forward.getScaleRows(operand);
    if (rows <= 1 || rows % last == 0)
      continue;
    if (isAsked)
      return forward.emitOpError("has a scale for every ")
             << rows << " keys, expects a multiple of the last block's "
             << last;
    return 0;
  }
  return last;
}

/// Whether the numbers of queries and of keys are known.
static bool hasKnownLengths(ForwardOp forward) {
  RankedTensorType type = forward.getK().getType();
  return getStaticQueries(forward) && !forward.hasLengths() &&
         !type.isDynamicDim(forward.getSequenceAxisOf(forward.getK()));
}

LogicalResult AttentionToTile::fitBlocks(ForwardOp forward,
                                         int64_t rowsPerQuery,
                                         const RegionDemand &demand,
                                         TileChoice &tile) {
  auto sizes = forward.getSizesOfBlocks();
  if (!sizes)
    return success();
  int64_t queries = sizes->first * rowsPerQuery, keys = sizes->second;
  for (auto [what, size, name, given] :
       {std::tuple(rowsPerQuery > 1 ? "rows" : "queries", queries, "block-m",
                   int64_t(blockM)),
        std::tuple("keys", keys, "block-n", int64_t(blockN))})
    if (given && size % given)
      return forward.emitOpError("lists blocks of ")
             << size << ' ' << what << ", expects " << name
             << " to divide that, got " << given;
  bool is8Bit = forward.hasScales();
  int64_t step = is8Bit ? 32 : 16;
  if (keys % step)
    return forward.emitOpError("lists blocks of ")
           << keys << " keys, expects a multiple of " << step;
  // Numbers that lists are read with stay alive beside code of the mask: with
  // 128 keys and wide heads, or several integers of a key, ptxas spills; with
  // heads of 128 unless the mask compares the key once, or where lengths are
  // known an integer of it.
  constexpr int64_t kWideColumns = 256;
  int64_t d = getTileWidth(forward.getHeadDim()),
          dv = getTileWidth(forward.getValueHeadDim());
  bool isKnown = hasKnownLengths(forward);
  bool isSimple = demand.keyUses <= 1 &&
                  demand.keyNumbers <= (isKnown ? 1 : 0) &&
                  demand.loadedTiles + demand.bulkTiles == 0;
  bool isWide = d + dv > kWideColumns || (d + dv == kWideColumns && !isSimple);
  bool readsLists =
      !forward.getMaskMod().empty() && (isWide || demand.keyDigits > 0);
  // Three groups have no room for such integers of 64 keys.
  constexpr int64_t kRowsOfThree = 192, kWidestOfThree = 48;
  bool isTight =
      d + dv >= kWideColumns && demand.keyNumbers > 0 && !isKnown && !is8Bit;
  auto getWidest = [&](int64_t rows) {
    constexpr int64_t kWidest = 128;
    int64_t widest = is8Bit ? getWidestFloat8BlockN(d, dv, demand, rows,
                                                    forward.getTransposedV())
                            : getWidestBlockN(d, dv, demand, rows);
    widest = std::min({widest, kWidest, keys});
    if (readsLists)
      widest = std::min(widest, kWidest - step);
    if (isTight && rows == kRowsOfThree)
      widest = std::min(widest, kWidestOfThree);
    widest = widest / step * step;
    while (widest > 0 && keys % widest)
      widest -= step;
    return widest;
  };
  // The most rows that leave room for a block of keys which is not narrow.
  constexpr int64_t kNarrowest = 64;
  int64_t least = std::min(kNarrowest, keys);
  if (!blockM) {
    tile.blockM = kReplicaRows;
    for (int64_t rows : {256, 192, 128})
      if (queries % rows == 0 && getWidest(rows) >= least) {
        tile.blockM = rows;
        break;
      }
    // Fewer keys are better than one group.
    if (isTight && tile.blockM == kReplicaRows && queries % kRowsOfThree == 0)
      tile.blockM = kRowsOfThree;
  }
  if (!blockN)
    tile.blockN = std::max(getWidest(tile.blockM), step);
  return success();
}

/// The widest block of at most `most` keys, of those that fit, that is made of
/// whole pages or lies in one; if that is less than half, the widest of all.
static int64_t fitPages(int64_t page, int64_t most, int64_t step,
                        function_ref<bool(int64_t)> fits) {
  int64_t widest = 0;
  for (int64_t block = most; block > 0 && (!widest || 2 * block >= most);
       block -= step) {
    if (!fits(block))
      continue;
    if (block % page == 0 || page % block == 0)
      return block;
    widest = std::max(widest, block);
  }
  return widest;
}

FailureOr<int64_t> AttentionToTile::fitPlaces(ForwardOp forward,
                                              TileChoice &tile) {
  FailureOr<int64_t> queries =
      getConsecutiveRows(forward, attention::Sequence::query);
  FailureOr<int64_t> keys =
      getConsecutiveRows(forward, attention::Sequence::key);
  if (failed(queries) || failed(keys))
    return failure();
  if (*queries != 0)
    return forward.emitOpError("has queries of which only ")
           << *queries << " lie one behind the other, expects all";
  if (*keys == 0)
    return 0;
  auto blocks = forward.getSizesOfBlocks();
  auto fits = [&](int64_t block) {
    return !blocks || blocks->second % block == 0;
  };
  int64_t step = forward.hasScales() ? 32 : 16;
  if (!blockN)
    tile.blockN = fitPages(*keys, tile.blockN, step, fits);
  int64_t piece = std::gcd(*keys, tile.blockN);
  return piece == tile.blockN ? 0 : piece;
}

void AttentionToTile::buildLaunch(HostFunction &host, gpu::GPUModuleOp module,
                                  gpu::GPUFuncOp kernel,
                                  const KernelArguments &arguments) {
  OpBuilder builder = host.getBuilder();
  ImplicitLocOpBuilder b(host.forward.getLoc(), builder);
  // Of places and listed blocks the host knows nothing.
  SmallVector<Value> cost;
  if (!host.forward.getSizesOfBlocks() &&
      !host.forward.hasPlace(attention::Sequence::query) &&
      !host.forward.hasPlace(attention::Sequence::key))
    cost = {buildFlops(b, host), buildBytes(b, host)};
  launchKernel(b, b.getLoc(), module, kernel, arguments.get(), cost);
}

/// Kernels of the operands that the attention takes in 8 bits.
LogicalResult AttentionToTile::buildQuantizations(HostFunction &host,
                                                  gpu::GPUModuleOp module) {
  for (attention::HostQuantization &quantization : host.quantizations) {
    OpBuilder builder = host.getBuilder();
    ImplicitLocOpBuilder b(quantization.op.getLoc(), builder);
    FailureOr<int64_t> count =
        buildQuantizeKernels(b, quantization, module, host.function.getName());
    if (failed(count))
      return failure();
    quantizeKernels += *count;
  }
  return success();
}

LogicalResult AttentionToTile::buildBackward(HostFunction &host,
                                             gpu::GPUModuleOp module) {
  BackwardOptions options{blockM,       blockN,        loads,
                          backwardForm, deterministic, stages > 1};
  FailureOr<int64_t> count = buildBackwardKernels(host, module, options);
  if (failed(count))
    return failure();
  kernels += *count;
  return success();
}

LogicalResult AttentionToTile::convert(func::FuncOp function) {
  FailureOr<HostFunction> host = attention::createHostFunction(function);
  if (failed(host))
    return failure();
  OpBuilder builder(host->function);
  builder.setInsertionPointAfter(host->function);
  ScoredOpInterface op = host->getScored();
  Location loc = op ? op->getLoc() : function.getLoc();
  auto module = gpu::GPUModuleOp::create(
      builder, loc, (function.getName() + "_kernels").str());
  FailureOr<int64_t> ofLists = buildListKernels(*host, module);
  FailureOr<int64_t> merges = buildMergeKernel(*host, module);
  if (failed(ofLists) || failed(merges) ||
      failed(buildQuantizations(*host, module)) ||
      failed(buildUpdateKernel(*host, module)) ||
      (host->forward && failed(buildForward(*host, module))) ||
      (host->backward && failed(buildBackward(*host, module)))) {
    module.erase();
    host->function.erase();
    return failure();
  }
  listKernels += *ofLists;
  kernels += *merges;
  function.erase();
  return success();
}

LogicalResult AttentionToTile::buildForward(HostFunction &host,
                                            gpu::GPUModuleOp module) {
  ForwardOp forward = host.forward;
  Location loc = forward.getLoc();
  int64_t valueWidth = forward.getValueHeadDim();
  if (forward.getSplits() && getTileWidth(valueWidth) != valueWidth)
    return forward.emitOpError("splits keys: expects a head dim of v that is a "
                               "multiple of 8, whose parts are copied in bulk, "
                               "got ")
           << valueWidth;

  // Kernels take arrays whose last dimension is contiguous.
  Value values = host.v;
  if (forward.getTransposedV()) {
    OpBuilder onHost = host.getBuilder();
    AffineMap map = AffineMap::getPermutationMap(ArrayRef<int64_t>{0, 1, 3, 2},
                                                 module.getContext());
    values = memref::TransposeOp::create(onHost, loc, host.v,
                                         AffineMapAttr::get(map));
  }
  KernelOperands operands;
  FailureOr<std::optional<GroupPacking>> packing =
      chooseGroupPacking(host, packGqa);
  if (failed(packing))
    return failure();
  operands.packing = *packing;
  Value q = host.q, o = host.o, lse = host.lse;
  auto view = [&](const std::optional<GroupPacking> &packing,
                  MutableArrayRef<Value *> arrays, unsigned inFront) {
    if (!packing)
      return;
    OpBuilder onHost = host.getBuilder();
    ImplicitLocOpBuilder b(loc, onHost);
    unsigned ofHeads = forward.getPlaceRank(attention::Sequence::query) - 2;
    for (Value *array : arrays)
      *array = viewGroups(b, *array, ofHeads + inFront, *packing);
  };
  Value *whole[] = {&q, &o, &lse};
  view(operands.packing, whole, 0);
  packed += operands.packing.has_value();
  RegionDemand demand;
  for (Region *region : {&forward.getScoreMod(), &forward.getMaskMod()})
    addRegionDemand(*region, loads, demand);
  std::optional<int64_t> queries = getStaticQueries(forward);
  // Parts are for few queries.
  if (host.splits && !queries)
    queries = 1;
  if (queries && operands.packing)
    *queries *= operands.packing->rows;
  bool is8Bit = forward.hasScales();
  bool addsSteps = twoLevel == options::Choice::True ||
                   (twoLevel == options::Choice::Auto && needsTwoLevels(host));
  ScaleBlocks blocks = {
      forward.getScaleRows(0),
      std::gcd(forward.getScaleRows(1), forward.getScaleRows(2))};
  Float8Needs needs = {blocks, addsSteps, forward.getTransposedV(),
                       static_cast<int64_t>(forward.getQTerms())};
  TileChoice tile =
      is8Bit ? chooseFloat8Tile(forward.getHeadDim(), forward.getValueHeadDim(),
                                demand, needs, queries)
             : chooseTile(getTileWidth(forward.getHeadDim()),
                          getTileWidth(forward.getValueHeadDim()), demand,
                          queries, blockN);
  if (!blockM && !blockN && !is8Bit && !forward.getSizesOfBlocks())
    remarkNumbers(forward, demand, queries, tile);
  if (blockM)
    tile.blockM = blockM;
  if (blockN)
    tile.blockN = blockN;
  int64_t rowsPerQuery = operands.packing ? operands.packing->rows : 1;
  if (failed(fitBlocks(forward, rowsPerQuery, demand, tile)))
    return failure();
  FailureOr<int64_t> pieceRows = fitPlaces(forward, tile);
  if (failed(pieceRows))
    return failure();
  operands.pieceRows = *pieceRows;
  limitSequences(host, attention::Sequence::query);
  // Without keys there is no product, for whose sake a tile is split among warp
  // groups.
  int64_t keyAxis = forward.getSequenceAxisOf(forward.getK());
  if (forward.getK().getType().getShape()[keyAxis] == 0)
    tile.blockM = kReplicaRows;
  auto captures =
      attention::collectCaptures(forward.getOperation(), host.values);
  KernelSource source = {host, captures, q, values, o, lse};
  KernelSource::Parts parts;
  if (host.splits) {
    std::tie(parts.o, parts.lse) =
        allocateParts(host, operands.packing, tile.blockM);
    source.o = parts.o;
    source.lse = parts.lse;
    Value *ofParts[] = {&source.o, &source.lse};
    view(operands.packing, ofParts, 1);
    operands.inParts = true;
  }
  auto [kernel, arguments] =
      source.createKernel(module, host.function.getName(), {}, operands);
  OpBuilder builder(kernel.getBody().front().getTerminator());
  FailureOr<int64_t> lastKeys = getLastKeys(forward, tile.blockN);
  constexpr double kThreshold = 8, kThreshold8Bit = 4;
  AccumulationPolicy policy{
      rescale == options::Rescale::Never,
      rescale == options::Rescale::Lazy,
      rescaleThreshold,
      addsSteps,
      twoLevelSteps ? int64_t(twoLevelSteps) : chooseTwoLevelSteps(forward),
      endRows && !operands.packing && !forward.hasLengths(),
      lastKeys.value_or(0)};
  if (rescaleThreshold == -1)
    policy.threshold = is8Bit ? kThreshold8Bit : kThreshold;
  LogicalResult fits = lastKeys;
  double largest = getLargestWeight(forward.getValueElementType());
  if (is8Bit && policy.threshold > largest)
    fits = forward.emitOpError("has weights of ")
           << forward.getValueElementType()
           << ": expects a rescale-threshold of at most " << largest << ", got "
           << policy.threshold;
  if (is8Bit && tile.blockN % 32)
    fits = forward.emitOpError("has 8-bit operands: expects block-n to be a "
                               "multiple of 32, got ")
           << tile.blockN;
  if (failed(fits) ||
      failed(buildKernelBody(builder, forward, operands, tile, policy)))
    return failure();
  buildLaunch(host, module, kernel, arguments);
  ++kernels;
  if (!host.splits)
    return success();
  source.q = host.q;
  source.o = host.o;
  source.lse = host.lse;
  KernelOperands merged;
  // Sinks are read head by head.
  merged.packing = operands.packing;
  if (std::optional<GroupPacking> packing = chooseHeadPacking(host);
      packing && !host.sinks)
    merged.packing = packing;
  Value *merging[] = {&source.q, &source.o, &source.lse};
  view(merged.packing, merging, 0);
  Value *mergedParts[] = {&parts.o, &parts.lse};
  view(merged.packing, mergedParts, 1);
  auto [merge, mergeArguments] = source.createKernel(
      module, (host.function.getName() + "_merge").str(), parts, merged);
  builder.setInsertionPoint(merge.getBody().front().getTerminator());
  if (failed(buildMergeBody(builder, forward, merged,
                            mergeArguments.lookup(builder, merge, parts.o),
                            mergeArguments.lookup(builder, merge, parts.lse))))
    return failure();
  OpBuilder onHost = host.getBuilder();
  launchKernel(onHost, loc, module, merge, mergeArguments.get());
  ++kernels;
  return success();
}
