//===- Sharding.cpp - attention on a grid of devices ----------------------===//
//
// Upstream's ShardingInterface. Batches and heads are apart, queries of a
// forward as well; keys are not: parts of them take attention.merge, which
// 'splits' is for. An operand that is split along something else is gathered in
// front of attention. A device has the operation on its shards, whose regions
// count from the first batch, head and query of all on.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ShardLoops.h"
#include "fa3/Dialect/Attention/Transforms/Interfaces.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/Interfaces/ShardingInterface.h"
#include "mlir/Dialect/Shard/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace fa3::attention;
using shard::GridAxesAttr;
using shard::GridAxis;
using shard::Sharding;

//===----------------------------------------------------------------------===//
// Propagation
//===----------------------------------------------------------------------===//

static shard::GridOp findGrid(Operation *op, FlatSymbolRefAttr name) {
  return SymbolTable::lookupNearestSymbolFrom<shard::GridOp>(op, name);
}

/// A sharding along what can be split only. Hears of what cannot.
static Sharding
takeSplittable(Operation *op, const Loops &loops, unsigned number,
               const Sharding &sharding,
               function_ref<void(unsigned, StringRef)> hear = nullptr) {
  shard::GridOp grid =
      sharding ? findGrid(op, sharding.getGridAttr()) : shard::GridOp();
  if (!grid)
    return {};
  SmallVector<GridAxesAttr> axes;
  for (auto [dim, own] : llvm::enumerate(sharding.getSplitAxes())) {
    unsigned loop = loops.getLoop(number, dim);
    std::optional<std::string> reason =
        loops.refuse(loop, grid, own.asArrayRef());
    if (reason && hear)
      hear(loop, *reason);
    axes.push_back(reason ? GridAxesAttr::get(op->getContext(), {}) : own);
  }
  if (axes.empty())
    axes.push_back(GridAxesAttr::get(op->getContext(), {}));
  return Sharding::get(sharding.getGridAttr(), axes);
}

/// Says which operands and results are split along something else.
static void remarkOnOthers(Operation *op) {
  Loops loops(op);
  auto look = [&](unsigned number, shard::ShardOp annotation) {
    takeSplittable(op, loops, number, annotation.getSharding(),
                   [&](unsigned loop, StringRef reason) {
                     remark::missed(op->getLoc(),
                                    remark::RemarkOpts::name("Sharding")
                                        .category("attention-sharding"))
                         << remark::add("is not split along {0} as {1} is: {2}",
                                        loops.getName(loop),
                                        loops.describe(number), reason.str());
                   });
  };
  for (OpOperand &operand : op->getOpOperands())
    if (auto annotation = operand.get().getDefiningOp<shard::ShardOp>())
      look(operand.getOperandNumber(), annotation);
  for (OpResult result : op->getResults())
    for (Operation *user : result.getUsers())
      if (auto annotation = dyn_cast<shard::ShardOp>(user))
        look(op->getNumOperands() + result.getResultNumber(), annotation);
}

//===----------------------------------------------------------------------===//
// Partition
//===----------------------------------------------------------------------===//

namespace {
/// Makes the operation of one device.
class Partitioner {
public:
  Partitioner(Operation *op, OpBuilder &builder)
      : op(op), loops(op), b(op->getLoc(), builder) {}

  LogicalResult readShardings(ArrayRef<Sharding> operands,
                              ArrayRef<Sharding> results);
  void build(ArrayRef<Value> operands, IRMapping &map);

private:
  LogicalResult readSharding(unsigned number, const Sharding &sharding);
  OpFoldResult countAll(Value shard, int64_t axis, unsigned loop);
  void setTypes(Operation *part);
  void setGroup(ForwardOp part);

  Operation *op;
  Loops loops;
  ImplicitLocOpBuilder b;
  shard::GridOp grid;
  /// Axes of each loop that is split, once a sharding has said so.
  llvm::SmallDenseMap<unsigned, SmallVector<GridAxis>> axes;
};
} // namespace

LogicalResult Partitioner::readSharding(unsigned number,
                                        const Sharding &sharding) {
  if (!sharding)
    return success();
  if (!sharding.getStaticHaloSizes().empty() ||
      !sharding.getStaticShardedDimsOffsets().empty())
    return op->emitOpError("cannot be partitioned: expects shards of one size "
                           "without halos");
  shard::GridOp own = findGrid(op, sharding.getGridAttr());
  if (!own || (grid && own != grid))
    return op->emitOpError("cannot be partitioned: expects one grid");
  grid = own;
  unsigned rank = loops.getMaps()[number].getNumResults();
  for (unsigned dim = 0; dim < rank; ++dim) {
    ArrayRef<GridAxis> split;
    if (dim < sharding.getSplitAxes().size())
      split = sharding.getSplitAxes()[dim].asArrayRef();
    unsigned loop = loops.getLoop(number, dim);
    if (std::optional<std::string> reason = loops.refuse(loop, grid, split))
      return op->emitOpError("cannot be partitioned: ")
             << loops.describe(number) << " is split along "
             << loops.getName(loop) << ", but " << *reason;
    auto [known, isNew] = axes.try_emplace(loop, split);
    if (!isNew && ArrayRef<GridAxis>(known->second) != split)
      return op->emitOpError("cannot be partitioned: operands and results are "
                             "split along ")
             << loops.getName(loop) << " in different ways";
  }
  return success();
}

LogicalResult Partitioner::readShardings(ArrayRef<Sharding> operands,
                                         ArrayRef<Sharding> results) {
  unsigned number = 0;
  for (const Sharding &sharding :
       llvm::concat<const Sharding>(operands, results))
    if (failed(readSharding(number++, sharding)))
      return failure();
  return success();
}

/// The extent of all that a shard has a part of.
OpFoldResult Partitioner::countAll(Value shard, int64_t axis, unsigned loop) {
  OpFoldResult extent = tensor::getMixedSize(b, b.getLoc(), shard, axis);
  ArrayRef<GridAxis> own = axes[loop];
  if (own.empty())
    return extent;
  std::optional<int64_t> shards = countShards(grid, own);
  std::optional<int64_t> constant = getConstantIntValue(extent);
  if (constant && shards)
    return b.getIndexAttr(*constant * *shards);
  Value count =
      shards ? Value(arith::ConstantIndexOp::create(b, *shards))
             : Value(shard::createCollectiveProcessGroupSize(grid, own, b));
  return arith::MulIOp::create(
             b, getValueOrCreateConstantIndexOp(b, b.getLoc(), extent), count)
      .getResult();
}

/// Extents of the results of one device.
void Partitioner::setTypes(Operation *part) {
  unsigned first = op->getNumOperands();
  for (OpResult result : part->getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    SmallVector<int64_t> shape(type.getShape());
    for (auto [dim, extent] : llvm::enumerate(shape)) {
      ArrayRef<GridAxis> own =
          axes[loops.getLoop(first + result.getResultNumber(), dim)];
      if (!own.empty())
        extent = shard::shardDimension(
            extent, countShards(grid, own).value_or(ShapedType::kDynamic));
    }
    result.setType(type.clone(shape));
  }
}

/// A device has some of the heads of the one key head.
void Partitioner::setGroup(ForwardOp part) {
  if (axes[kHead].empty() ||
      !hasOneKeyHead(cast<ScoredOpInterface>(part.getOperation())) ||
      !part.getGroup())
    return;
  std::optional<int64_t> shards = countShards(grid, axes[kHead]);
  if (shards && *part.getGroup() % *shards == 0)
    part.setGroup(*part.getGroup() / *shards);
  else
    part.removeGroupAttr();
}

void Partitioner::build(ArrayRef<Value> operands, IRMapping &map) {
  auto scored = cast<ScoredOpInterface>(op);
  Value q = operands[0];
  Part part;
  int64_t places[] = {0, scored.getHeadAxis(), scored.getSequenceAxis()};
  for (unsigned dim = 0; dim < kNumDims; ++dim) {
    part.first[dim] = b.getIndexAttr(0);
    ArrayRef<GridAxis> own = axes[dim];
    if (own.empty())
      continue;
    part.hasAll[dim] = false;
    Value device = shard::createProcessLinearIndex(grid.getSymName(), own, b);
    OpFoldResult extent = tensor::getMixedSize(b, b.getLoc(), q, places[dim]);
    part.first[dim] =
        arith::MulIOp::create(
            b, device, getValueOrCreateConstantIndexOp(b, b.getLoc(), extent))
            .getResult();
  }
  if (!part.hasAll[kHead])
    part.heads = countAll(q, places[kHead], kHead);
  if (!part.hasAll[kQuery])
    part.queries = countAll(q, places[kQuery], kQuery);
  // Maps the results as well.
  Operation *own = b.clone(*op, map);
  own->setOperands(operands);
  setTypes(own);
  if (auto forward = dyn_cast<ForwardOp>(own))
    setGroup(forward);
  if (!llvm::all_of(part.hasAll, [](bool all) { return all; }))
    part.placeRegions(b, cast<ScoredOpInterface>(own));
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

namespace {
template <typename Op>
struct Model : shard::ShardingInterface::ExternalModel<Model<Op>, Op> {
  SmallVector<utils::IteratorType> getLoopIteratorTypes(Operation *op) const {
    SmallVector<utils::IteratorType> types(Loops(op).getNumber(),
                                           utils::IteratorType::parallel);
    types[kKey] = types[kElement] = utils::IteratorType::reduction;
    if (isa<BackwardOp>(op))
      types[kQuery] = utils::IteratorType::reduction;
    return types;
  }

  SmallVector<shard::ReductionKind>
  getReductionLoopIteratorKinds(Operation *op) const {
    SmallVector<shard::ReductionKind> kinds;
    if (isa<BackwardOp>(op))
      kinds.push_back(shard::ReductionKind::Sum);
    kinds.push_back(shard::ReductionKind::Generic);
    kinds.push_back(shard::ReductionKind::Sum);
    return kinds;
  }

  SmallVector<AffineMap> getIndexingMaps(Operation *op) const {
    return llvm::to_vector(Loops(op).getMaps());
  }

  FailureOr<shard::ShardingOption>
  getShardingOption(Operation *op, ArrayRef<Sharding> operands,
                    ArrayRef<Sharding> results) const {
    Loops loops(op);
    SmallVector<Sharding, 0> ofOperands, ofResults;
    for (auto [number, sharding] : llvm::enumerate(operands))
      ofOperands.push_back(takeSplittable(op, loops, number, sharding));
    for (auto [number, sharding] : llvm::enumerate(results))
      ofResults.push_back(
          takeSplittable(op, loops, operands.size() + number, sharding));
    return shard::detail::defaultGetShardingOption(op, ofOperands, ofResults);
  }

  LogicalResult
  addShardingAnnotations(Operation *op, OpBuilder &b,
                         const shard::ShardingOption &option) const {
    remarkOnOthers(op);
    SmallVector<Value> operands(op->getOperands());
    if (failed(shard::detail::defaultAddShardingAnnotations(op, b, option)))
      return failure();
    // Regions read auxiliary operands.
    ownDescriptions(op);
    for (auto [before, now] : llvm::zip(operands, op->getOperands()))
      for (Region *region : cast<ScoredOpInterface>(op).listCode())
        if (before != now && isa<RankedTensorType>(before.getType()))
          replaceAllUsesInRegionWith(before, now, *region);
    return success();
  }

  LogicalResult partition(Operation *op, ArrayRef<Value> operands,
                          ArrayRef<Sharding> operandShardings,
                          ArrayRef<Sharding> resultShardings, IRMapping &map,
                          SymbolTableCollection &, OpBuilder &builder) const {
    Partitioner partitioner(op, builder);
    if (failed(partitioner.readShardings(operandShardings, resultShardings)))
      return failure();
    partitioner.build(operands, map);
    return success();
  }
};
} // namespace

void fa3::attention::registerSharding(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *context, AttentionDialect *, shard::ShardDialect *) {
        ForwardOp::attachInterface<Model<ForwardOp>>(*context);
        BackwardOp::attachInterface<Model<BackwardOp>>(*context);
        // Of these a shard consists.
        context->loadDialect<arith::ArithDialect, tensor::TensorDialect>();
      });
}
