//===- BackwardKernels.cpp - kernels of attention.backward ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The split form: delta first, then dk and dv by blocks of keys, in one kernel
// or two, then dq by blocks of queries. Scores are computed anew in each;
// nothing is added in memory, so that results are the same in every run. The
// fused form (BackwardFused.h): delta, all gradients, and a conversion of dq.
//===----------------------------------------------------------------------===//

#include "BackwardKernels.h"
#include "BackwardAux.h"
#include "BackwardFused.h"
#include "BackwardStep.h"
#include "Cost.h"
#include "KernelArguments.h"
#include "KernelMath.h"
#include "Places.h"
#include "ScoreRange.h"
#include "SequenceCode.h"
#include "fa3/Dialect/Attention/Contract/Captures.h"
#include "fa3/Dialect/Attention/Contract/Quantization.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa3;
using attention::BackwardOp;
using attention::HostFunction;

namespace {
class BackwardKernels {
public:
  BackwardKernels(HostFunction &host, gpu::GPUModuleOp module,
                  const BackwardOptions &options)
      : host(host), op(host.backward), module(module), options(options),
        builder(host.getBuilder()), onHost(op.getLoc(), builder) {}

  FailureOr<int64_t> build();

private:
  gpu::GPUFuncOp createKernel(StringRef suffix,
                              const KernelArguments &arguments);
  void launch(gpu::GPUFuncOp kernel, const KernelArguments &arguments,
              ValueRange cost);
  void buildDelta(bool isFused, bool hasLargeScores);
  void buildConversion();
  /// What a kernel without scores takes to find its rows, those of `queries`.
  void addSequences(KernelArguments &arguments);
  void getSequences(function_ref<Value(Value)> get, Value queries,
                    BackwardOperands &operands);
  /// The tile with what options say of it.
  TileChoice fitOptions(TileChoice tile) const {
    if (options.rows)
      tile.blockM = options.rows;
    if (options.columns)
      tile.blockN = options.columns;
    return tile;
  }
  /// `aux` is the gradient of an auxiliary operand that the part computes.
  struct AuxTarget {
    unsigned position = 0;
    attention::AuxPlace place; ///< empty where sums of rows are kept
    Value gradient;
    std::string suffix;
  };
  /// The kernel of all gradients, if there is to be one.
  FailureOr<std::optional<BackwardPart>>
  chooseFused(const BackwardDemand &demand);
  LogicalResult buildPart(const BackwardPart &part, const AuxTarget &aux);
  FailureOr<int64_t> buildAuxGradient(unsigned position,
                                      const BackwardDemand &demand);

  HostFunction &host;
  BackwardOp op;
  gpu::GPUModuleOp module;
  const BackwardOptions &options;
  OpBuilder builder;
  ImplicitLocOpBuilder onHost;
  Value shift, delta; ///< workspaces
  Value rest;         ///< workspace where scores may be large, else null
  Value dqSums;       ///< workspace of the fused form, null in the split one
  SmallVector<Value> transposedAux;
  attention::Captures captures;
};

/// Emits the kernel that computes the statistics of queries.
class DeltaBuilder : KernelMath {
public:
  DeltaBuilder(OpBuilder &builder, BackwardOp op,
               const BackwardOperands &operands)
      : KernelMath(op.getLoc(), builder), op(op), operands(operands) {}

  /// Zeroes the sums of dq, which may be null. `unit` is that of shifts.
  void build(Value o, Value lse, Value lseGrad, double unit);

private:
  BackwardOp op;
  const BackwardOperands &operands;
};
} // namespace

void DeltaBuilder::build(Value o, Value lse, Value lseGrad, double unit) {
  constexpr int64_t kRows = 64, kMostColumns = 64;
  constexpr attention::Sequence kQuery = attention::Sequence::query;
  SequenceCode sequences(
      b, op,
      {operands.q, operands.k, operands.aux, operands.maxQ, operands.batch},
      operands.captures);
  Value heads = memref::DimOp::create(b, o, op.getPlaceRank(kQuery) - 2);
  auto [first, head] = sequences.openGrid(
      kQuery, kRows, heads, SequenceCode::getStatisticRows(op) / kRows);
  SmallVector<Value> place = sequences.getPlace(kQuery, head, first);
  if (operands.dqSums)
    buildZeroRows(b, b.getLoc(), operands.dqSums, place, kRows);
  RankedTensorType rowType = tensor({kRows}, b.getF32Type());
  int64_t width = op.getValueHeadDim();
  int64_t columns = std::min(width, kMostColumns);
  Value sum = splat(rowType, 0.0);
  // Columns beyond the last read as zero.
  for (int64_t column = 0; column < width; column += columns) {
    SmallVector<Value> at(place);
    at.push_back(index(column));
    auto load = [&](Value memref) -> Value {
      Value part = tile::LoadOp::create(
          b, tensor({kRows, columns}, op.getElementType()), memref, at);
      return arith::ExtFOp::create(b, tensor({kRows, columns}, b.getF32Type()),
                                   part);
    };
    Value product = mul(load(o), load(operands.outGrad));
    sum = tile::ReduceOp::create(b, rowType, tile::ReduceKind::add, product,
                                 sum, 1, IntegerAttr());
  }
  if (lseGrad)
    sum = sub(sum, tile::LoadOp::create(b, rowType, lseGrad, place));
  Value statistic = tile::LoadOp::create(b, rowType, lse, place);
  Value none = arith::CmpFOp::create(
      b, arith::CmpFPredicate::OEQ, statistic,
      splat(rowType, -std::numeric_limits<double>::infinity()));
  Value scaled = mul(statistic, splat(rowType, -unit));
  scaled = arith::SelectOp::create(b, none, splat(rowType, 0.0), scaled);
  if (SequenceCode::endsEarly(op)) {
    // Behind the end of a sequence there may be another one, or nothing that
    // was ever written: queries there weigh nothing.
    RankedTensorType numbers = tensor({kRows}, b.getIndexType());
    Value isQuery =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                              tile::CoordOp::create(b, numbers, 0, first),
                              scalarTile(sequences.queryEnd, numbers));
    auto orElse = [&](Value value, double other) -> Value {
      return arith::SelectOp::create(b, isQuery, value, splat(rowType, other));
    };
    sum = orElse(sum, 0.0);
    scaled = orElse(scaled, -std::numeric_limits<double>::infinity());
  }
  SmallVector<Value> at = sequences.getStatisticPlace(head, first);
  tile::StoreOp::create(b, sum, operands.delta, at);
  tile::StoreOp::create(b, scaled, operands.shift, at);
}

gpu::GPUFuncOp BackwardKernels::createKernel(StringRef suffix,
                                             const KernelArguments &arguments) {
  return fa3::createKernel(module, op.getLoc(),
                           host.function.getName() + "_" + suffix,
                           arguments.getTypes());
}

void BackwardKernels::launch(gpu::GPUFuncOp kernel,
                             const KernelArguments &arguments,
                             ValueRange cost) {
  launchKernel(onHost, onHost.getLoc(), module, kernel, arguments.get(), cost);
}

void BackwardKernels::buildDelta(bool isFused, bool hasLargeScores) {
  if (isFused) {
    // An array like dq.
    int64_t rank = cast<MemRefType>(host.dq.getType()).getRank();
    SmallVector<int64_t> shape(rank - 1, ShapedType::kDynamic);
    shape.push_back(op.getHeadDim());
    SmallVector<Value> extents;
    for (int64_t axis = 0; axis < rank - 3; ++axis)
      extents.push_back(
          op.hasPlace(attention::Sequence::query)
              ? memref::DimOp::create(onHost, host.q, axis).getResult()
              : host.batch);
    extents.push_back(host.heads);
    extents.push_back(host.queries);
    dqSums = attention::allocateWorkspace(
        onHost, RankedTensorType::get(shape, onHost.getF32Type()), extents,
        "dq_sums");
  }
  // Whole blocks, of which all is written: they fill whole units of a bulk
  // copy.
  SmallVector<Value> extents = getStatisticExtents(onHost, host);
  auto type = RankedTensorType::get(
      SmallVector<int64_t>(extents.size(), ShapedType::kDynamic),
      onHost.getF32Type());
  shift = attention::allocateWorkspace(onHost, type, extents, "shift");
  delta = attention::allocateWorkspace(onHost, type, extents, "delta");
  if (hasLargeScores)
    rest = attention::allocateWorkspace(onHost, type, extents, "rest");
  KernelArguments arguments;
  Value values[] = {host.o, host.outGrad, host.lse, host.lseGrad,
                    shift,  delta,        dqSums};
  for (Value value : values)
    arguments.add(value);
  addSequences(arguments);
  gpu::GPUFuncOp kernel = createKernel("delta", arguments);
  OpBuilder inKernel(kernel.getBody().front().getTerminator());
  auto get = [&](Value value) {
    return arguments.lookup(inKernel, kernel, value);
  };
  BackwardOperands operands;
  operands.outGrad = get(host.outGrad);
  operands.shift = get(shift);
  operands.delta = get(delta);
  operands.dqSums = get(dqSums);
  getSequences(get, host.o, operands);
  DeltaBuilder(inKernel, op, operands)
      .build(get(host.o), get(host.lse), get(host.lseGrad),
             hasLargeScores ? 1 : llvm::numbers::log2e);
  launch(kernel, arguments, {});
}

void BackwardKernels::addSequences(KernelArguments &arguments) {
  arguments.add(host.maxQ);
  // Of sequences that fill their arrays nothing else is to be known.
  if (!op.hasLengths())
    return;
  arguments.add(host.k);
  for (Value value : host.aux)
    arguments.add(value);
  for (auto [inRegion, onHost] : captures)
    arguments.add(onHost);
}

void BackwardKernels::getSequences(function_ref<Value(Value)> get,
                                   Value queries, BackwardOperands &operands) {
  operands.maxQ = get(host.maxQ);
  operands.batch = host.batchExtent;
  operands.q = operands.k = get(queries);
  if (!op.hasLengths())
    return;
  operands.k = get(host.k);
  for (Value value : host.aux)
    operands.aux.push_back(get(value));
  for (auto [inRegion, onHost] : captures)
    operands.captures.map(inRegion, get(onHost));
}

void BackwardKernels::buildConversion() {
  KernelArguments arguments;
  for (Value value : {dqSums, host.dq, host.scale})
    arguments.add(value);
  addSequences(arguments);
  gpu::GPUFuncOp kernel = createKernel("dq", arguments);
  OpBuilder inKernel(kernel.getBody().front().getTerminator());
  auto get = [&](Value value) {
    return arguments.lookup(inKernel, kernel, value);
  };
  BackwardOperands operands;
  operands.dqSums = get(dqSums);
  operands.dq = get(host.dq);
  operands.scale = get(host.scale);
  getSequences(get, host.dq, operands);
  buildConvertedRows(inKernel, op, operands);
  launch(kernel, arguments, {});
}

/// A view of an auxiliary operand with the last two dimensions exchanged; the
/// operand itself if it has fewer.
static Value transposeLast(ImplicitLocOpBuilder &b, Value array) {
  int64_t rank = cast<MemRefType>(array.getType()).getRank();
  if (rank < 2)
    return array;
  auto order = llvm::to_vector(llvm::seq<unsigned>(0, rank));
  std::swap(order[rank - 2], order[rank - 1]);
  AffineMap map = AffineMap::getPermutationMap(order, b.getContext());
  return memref::TransposeOp::create(b, array, AffineMapAttr::get(map));
}

LogicalResult BackwardKernels::buildPart(const BackwardPart &part,
                                         const AuxTarget &aux) {
  const BackwardProducts &products = part.products;
  KernelArguments arguments;
  Value v = products.needsGradient() ? host.v : Value();
  Value ofRows = products.needsGradient() ? delta : Value();
  Value dq = products.dq ? host.dq : Value();
  Value dk = products.dk ? host.dk : Value();
  Value dv = products.dv ? host.dv : Value();
  Value sums = products.addsDq ? dqSums : Value();
  for (Value value : {host.q, host.k, v, host.outGrad, shift, ofRows, rest, dq,
                      dk, dv, aux.gradient, sums, host.scale})
    arguments.add(value);
  ArrayRef<Value> transposed = products.ofKeys ? transposedAux : host.aux;
  for (ValueRange values : {ValueRange(host.aux), ValueRange(transposed)})
    for (Value value : values)
      arguments.add(value);
  arguments.add(host.maxQ);
  for (auto [inRegion, onHost] : captures)
    arguments.add(onHost);

  StringRef suffix = aux.gradient      ? StringRef(aux.suffix)
                     : products.addsDq ? "grads"
                     : products.dq     ? "dq"
                     : !products.dk    ? "dv"
                     : products.dv     ? "dkdv"
                                       : "dk";
  gpu::GPUFuncOp kernel = createKernel(suffix, arguments);
  OpBuilder inKernel(kernel.getBody().front().getTerminator());
  auto get = [&](Value value) {
    return arguments.lookup(inKernel, kernel, value);
  };
  BackwardOperands operands;
  operands.q = get(host.q);
  operands.k = get(host.k);
  operands.v = get(v);
  operands.outGrad = get(host.outGrad);
  operands.shift = get(shift);
  operands.delta = get(ofRows);
  operands.rest = get(rest);
  operands.dq = get(dq);
  operands.dk = get(dk);
  operands.dv = get(dv);
  operands.auxGrad = get(aux.gradient);
  operands.auxPosition = aux.position;
  operands.auxPlace = aux.place;
  operands.dqSums = get(sums);
  operands.scale = get(host.scale);
  operands.maxQ = get(host.maxQ);
  operands.batch = host.batchExtent;
  for (Value value : host.aux)
    operands.aux.push_back(get(value));
  for (auto [inRegion, onHost] : captures)
    operands.captures.map(inRegion, get(onHost));
  for (Value value : transposed)
    operands.transposedAux.push_back(get(value));
  std::optional<int64_t> heads = getConstantIntValue(host.heads);
  operands.hasSingleHeads =
      heads && heads == getConstantIntValue(host.keyHeads);
  if (failed(buildBackwardBody(inKernel, op, operands, part)))
    return failure();
  // Of places the host knows nothing.
  bool hasPlaces = op.hasPlace(attention::Sequence::query) ||
                   op.hasPlace(attention::Sequence::key);
  SmallVector<Value> cost;
  if (!hasPlaces && (products.dq || products.addsDq))
    cost = {buildBackwardFlops(onHost, host), buildBackwardBytes(onHost, host)};
  launch(kernel, arguments, cost);
  return success();
}

/// The kernel of the gradient of an auxiliary operand, or the two of it: sums
/// of rows, and the sums of these. Gives their number.
FailureOr<int64_t>
BackwardKernels::buildAuxGradient(unsigned position,
                                  const BackwardDemand &demand) {
  int64_t number = op.getAuxNumbers()[position];
  FailureOr<attention::AuxPlace> place = attention::getAuxPlace(op, number);
  if (failed(place))
    return failure();
  AuxTarget target;
  target.position = position;
  target.place = *place;
  target.gradient = host.auxGrads[position];
  target.suffix = "daux" + std::to_string(number);
  BackwardPart part;
  part.products = getAuxProducts(*place);
  part.tile = fitOptions(chooseBackwardTile(part.products, op.getHeadDim(),
                                            op.getValueHeadDim(), demand));
  if (!hasPartialSums(*place)) {
    if (failed(buildPart(part, target)))
      return failure();
    return 1;
  }
  auto type = RankedTensorType::get(
      SmallVector<int64_t>(3, ShapedType::kDynamic), onHost.getF32Type());
  Value extents[] = {host.batch, host.heads,
                     part.products.ofKeys ? host.keys : host.queries};
  Value sums = attention::allocateWorkspace(onHost, type, extents,
                                            target.suffix + "_rows");
  AuxTarget ofRows = target;
  ofRows.place = {};
  ofRows.gradient = sums;
  ofRows.suffix += "_rows";
  if (failed(buildPart(part, ofRows)))
    return failure();
  KernelArguments arguments;
  arguments.add(sums);
  arguments.add(target.gradient);
  gpu::GPUFuncOp kernel = createKernel(target.suffix, arguments);
  OpBuilder inKernel(kernel.getBody().front().getTerminator());
  buildAuxSum(inKernel, op.getLoc(), *place,
              arguments.lookup(inKernel, kernel, sums),
              arguments.lookup(inKernel, kernel, target.gradient));
  launch(kernel, arguments, {});
  return 2;
}

/// Tiles that score code and its gradient keep alive or load.
static BackwardDemand getDemand(BackwardOp op) {
  constexpr int64_t kConversion = 2;
  BackwardDemand demand;
  RegionDemand all;
  for (Region *region : {&op.getScoreMod(), &op.getScoreGradRegion()})
    addRegionDemand(*region, tile::LoadPolicy::Threads, all);
  demand.scoresUseNumbers = all.keyUses >= kConversion;
  addRegionDemand(op.getMaskMod(), tile::LoadPolicy::Threads, all);
  RegionDemand ofKept;
  addRegionDemand(op.getKeepMod(), tile::LoadPolicy::Threads, ofKept);
  demand.dropsWeights = !op.getKeepMod().empty();
  demand.loadedTiles =
      all.loadedTiles + all.bulkTiles + ofKept.loadedTiles + ofKept.bulkTiles;
  demand.usesNumbers = all.keyUses >= kConversion;
  demand.hasLargeScores = mayBeLarge(op.getScoreMod(), kLargeScoreOfGradients);
  demand.isMasked = !op.getMaskMod().empty();
  demand.widensHalf =
      demand.loadedTiles > 0 && llvm::any_of(op.getAux(), [](Value array) {
        return cast<RankedTensorType>(array.getType()).getElementType().isF16();
      });
  Region &gradient = op.getScoreGradRegion();
  // What the derivative is made of, beside the gradient that it multiplies.
  if (!gradient.empty()) {
    Value yielded =
        cast<attention::YieldOp>(gradient.front().getTerminator()).getValue();
    demand.keptTiles = yielded != gradient.getArgument(1);
  }
  return demand;
}

FailureOr<std::optional<BackwardPart>>
BackwardKernels::chooseFused(const BackwardDemand &demand) {
  std::optional<BackwardPart> none;
  if (options.form == options::BackwardForm::Split)
    return none;
  bool isAsked = options.form == options::BackwardForm::Fused;
  if (isAsked && options.deterministic)
    return op.emitOpError("in the fused form adds dq in memory in any order, "
                          "expects backward-form=split or auto with "
                          "'deterministic'");
  if (isAsked && demand.hasLargeScores)
    return op.emitOpError("has no fused form with score code that may yield "
                          "more than ")
           << kLargeScoreOfGradients
           << ": sums of weights come from another kernel";
  if (demand.hasLargeScores)
    return none;
  // Sizes that are given are those of the split form's kernels.
  if (!isAsked && (options.deterministic || options.rows || options.columns))
    return none;
  int64_t d = op.getHeadDim(), dv = op.getValueHeadDim();
  BackwardDemand ofFused = demand;
  // Who asks for it has it, with some spills.
  constexpr int64_t kSequenceRegisters = 20;
  if (!isAsked && op.hasLengths())
    ofFused.sequenceRegisters = kSequenceRegisters;
  std::optional<BackwardPart> part = planFusedBackward(d, dv, ofFused);
  if (isAsked && !part)
    return op.emitOpError("has no fused form with head dims ")
           << d << " and " << dv
           << " and its mask or score code: sums, scores and what they need "
              "do not fit into registers, or dq cannot be divided";
  // Masks that take numbers more than once, as windows do, leave few steps.
  bool hasFewSteps = demand.usesNumbers && !op.getMaskMod().empty();
  // Rows of all sequences are not the length of one.
  auto getLength = [&](attention::Sequence sequence, Value extent) {
    return op.hasPlace(sequence) ? std::nullopt : getConstantIntValue(extent);
  };
  if (!isAsked && part &&
      (hasFewSteps ||
       !isFusedFaster(*part, !op.getMaskMod().empty(),
                      getLength(attention::Sequence::query, host.queries),
                      getLength(attention::Sequence::key, host.keys))))
    return none;
  return part;
}

FailureOr<int64_t> BackwardKernels::build() {
  if (!op.getScoreMod().empty() && op.getScoreGradRegion().empty())
    return op.emitOpError("has score code without 'score_grad': run "
                          "attention-derive-gradient first");
  for (auto sequence : {attention::Sequence::query, attention::Sequence::key}) {
    FailureOr<int64_t> rows = getConsecutiveRows(op, sequence);
    if (failed(rows))
      return failure();
    if (*rows != 0)
      return op.emitOpError("has ")
             << (sequence == attention::Sequence::query ? "queries" : "keys")
             << " of which only " << *rows
             << " lie one behind the other, expects all";
    limitSequences(host, sequence);
  }
  captures = attention::collectCaptures(op.getOperation(), host.values);
  for (Value value : host.aux)
    transposedAux.push_back(transposeLast(onHost, value));
  BackwardDemand demand = getDemand(op);
  demand.pipelined = options.pipelined;
  SmallVector<BackwardPart> parts;
  FailureOr<std::optional<BackwardPart>> fused = chooseFused(demand);
  if (failed(fused))
    return failure();
  if (*fused)
    parts.push_back(**fused);
  else
    parts = planBackward(op.getHeadDim(), op.getValueHeadDim(), demand);
  for (BackwardPart &part : parts) {
    part.tile = fitOptions(part.tile);
  }
  bool isFused = parts.front().products.addsDq;
  constexpr int64_t kColumns = 64;
  if (isFused && parts.front().tile.blockN % kColumns)
    return op.emitOpError("in the fused form expects block-n to be a multiple "
                          "of ")
           << kColumns << ", got " << parts.front().tile.blockN;
  buildDelta(isFused, demand.hasLargeScores);
  for (const BackwardPart &part : parts)
    if (failed(buildPart(part, AuxTarget())))
      return failure();
  if (isFused)
    buildConversion();
  int64_t count = parts.size() + (isFused ? 2 : 1);
  for (unsigned position = 0; position < host.auxGrads.size(); ++position) {
    FailureOr<int64_t> own = buildAuxGradient(position, demand);
    if (failed(own))
      return failure();
    count += *own;
  }
  return count;
}

FailureOr<int64_t> fa3::buildBackwardKernels(HostFunction &host,
                                             gpu::GPUModuleOp module,
                                             const BackwardOptions &options) {
  return BackwardKernels(host, module, options).build();
}
