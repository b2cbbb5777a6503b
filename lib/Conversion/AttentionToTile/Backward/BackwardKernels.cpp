//===- BackwardKernels.cpp - kernels of attention.backward ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The split form: delta first, then dk and dv by blocks of keys, in one kernel
// or two, then dq by blocks of queries. Scores are computed anew in each;
// nothing is added in memory, so that results are the same in every run. The
// fused form (BackwardFused.h): delta, all gradients, and a conversion of dq.
//===----------------------------------------------------------------------===//

#include "BackwardKernels.h"
#include "../Auxiliary/BackwardAux.h"
#include "../Auxiliary/BackwardTable.h"
#include "../Emit/LaunchArguments.h"
#include "../Emit/SequenceCode.h"
#include "../Plan/BackwardFacts.h"
#include "../Plan/Cost.h"
#include "BackwardDelta.h"
#include "BackwardFused.h"
#include "BackwardStep.h"
#include "BackwardUnits.h"
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
                  const BackwardPlanOptions &options)
      : host(host), op(host.backward), module(module), options(options),
        builder(host.getBuilder()), onHost(op.getLoc(), builder) {}

  FailureOr<int64_t> build();

private:
  gpu::GPUFuncOp createKernel(StringRef suffix,
                              const LaunchArguments &arguments);
  void launch(gpu::GPUFuncOp kernel, const LaunchArguments &arguments,
              ValueRange cost);
  Value allocateSums(Type element);
  /// The array for the gradient of an auxiliary operand.
  Value getAuxGradient(int64_t number) {
    auto it = llvm::find(op.getAuxNumbers(), number);
    return host.auxGrads[it - op.getAuxNumbers().begin()];
  }
  /// Memory for the gradient with respect to o before it is edited, and arrays
  /// for those of what it is edited with, seen as (batch, head, query, column).
  void allocateEdited();
  /// What no key and value exceeds: the workspace of two kernels.
  Value buildReach();
  void buildDelta(const BackwardPlan &plan);
  void buildConversion();
  /// What a kernel without scores takes to find its rows, those of `queries`,
  /// or all that regions may use.
  void addSequences(LaunchArguments &arguments, bool needsAll = false);
  void getSequences(function_ref<Value(Value)> get, Value queries,
                    BackwardOperands &operands, bool needsAll = false);
  /// `aux` is the gradient of an auxiliary operand that the part computes.
  struct AuxTarget {
    unsigned position = 0;
    attention::AuxPlace place; ///< empty where sums of rows are kept
    Value gradient;
    std::string suffix;
  };
  BackwardOperands getHostOperands(const BackwardProducts &products,
                                   const AuxTarget &aux);
  SmallVector<Value> getCost(const BackwardProducts &products);
  void buildPart(const BackwardPart &part, const AuxTarget &aux);
  FailureOr<int64_t> buildAuxGradient(unsigned position,
                                      const BackwardPart &part);
  int64_t buildTable(const BackwardPart &part, AuxTarget target);
  /// A kernel of the values given, which `build` gets as it has them.
  void buildOfArrays(StringRef suffix, ValueRange values,
                     function_ref<void(OpBuilder &, ValueRange)> build);

  HostFunction &host;
  BackwardOp op;
  gpu::GPUModuleOp module;
  const BackwardPlanOptions &options;
  OpBuilder builder;
  ImplicitLocOpBuilder onHost;
  Value shift, delta; ///< workspaces
  Value rest;         ///< workspace where scores may be large, else null
  Value dqSums;       ///< workspace of the fused form, null in the split one
  Value dqRate;       ///< workspace where it adds integers, else null
  SmallVector<Value> transposedAux;
  /// The gradient with respect to o: as it is given, or a workspace.
  Value outGrad;
  SmallVector<Value> editGrads;
  attention::Captures captures;
};
} // namespace

gpu::GPUFuncOp BackwardKernels::createKernel(StringRef suffix,
                                             const LaunchArguments &arguments) {
  return fa3::createKernel(module, op.getLoc(),
                           host.function.getName() + "_" + suffix,
                           arguments.getTypes());
}

void BackwardKernels::launch(gpu::GPUFuncOp kernel,
                             const LaunchArguments &arguments,
                             ValueRange cost) {
  launchKernel(onHost, onHost.getLoc(), module, kernel, arguments.get(), cost);
}

/// An array like dq, or like statistics: SequenceCode::getSumPlace.
Value BackwardKernels::allocateSums(Type element) {
  SmallVector<Value> extents;
  if (SequenceCode::endsEarly(op)) {
    extents = getStatisticExtents(onHost, host);
  } else {
    int64_t rank = cast<MemRefType>(host.dq.getType()).getRank();
    for (int64_t axis = 0; axis < rank - 3; ++axis)
      extents.push_back(
          op.hasPlace(attention::Sequence::query)
              ? memref::DimOp::create(onHost, host.q, axis).getResult()
              : host.batch);
    extents.push_back(host.heads);
    extents.push_back(host.queries);
  }
  SmallVector<int64_t> shape(extents.size(), ShapedType::kDynamic);
  shape.push_back(op.getHeadDim());
  return attention::allocateWorkspace(
      onHost, RankedTensorType::get(shape, element), extents, "dq_sums");
}

Value BackwardKernels::buildReach() {
  Value blocks = arith::CeilDivSIOp::create(
      onHost, host.keys, arith::ConstantIndexOp::create(onHost, kKeysOfMaxima));
  Value rows = arith::MulIOp::create(
      onHost, blocks, arith::ConstantIndexOp::create(onHost, kRowsOfMaxima));
  auto allocate = [&](int64_t count, StringRef name) {
    int64_t shape[] = {2, ShapedType::kDynamic, ShapedType::kDynamic, count};
    SmallVector<Value> extents = {
        arith::ConstantIndexOp::create(onHost, shape[0]), host.batch,
        host.keyHeads};
    if (ShapedType::isDynamic(count))
      extents.push_back(rows);
    return attention::allocateWorkspace(
        onHost, RankedTensorType::get(shape, onHost.getF32Type()), extents,
        name);
  };
  Value maxima = allocate(ShapedType::kDynamic, "key_maxima"),
        reach = allocate(kRowsOfMaxima, "key_reach");
  LaunchArguments arguments;
  // Without lengths nothing is to be known of queries.
  Value queries = op.hasLengths() ? host.q : host.k;
  for (Value value : {queries, host.k, host.v, maxima})
    arguments.add(value);
  addSequences(arguments);
  gpu::GPUFuncOp kernel = createKernel("maxima", arguments);
  OpBuilder inKernel(kernel.getBody().front().getTerminator());
  auto get = [&](Value value) {
    return arguments.lookup(inKernel, kernel, value);
  };
  BackwardOperands operands;
  getSequences(get, queries, operands);
  operands.k = get(host.k);
  operands.v = get(host.v);
  buildKeyMaxima(inKernel, op, operands, get(maxima));
  launch(kernel, arguments, {});
  buildOfArrays("reach", {maxima, reach},
                [&](OpBuilder &inKernel, ValueRange arrays) {
                  fa3::buildReach(inKernel, op.getLoc(), arrays[0], arrays[1]);
                });
  return reach;
}

void BackwardKernels::allocateEdited() {
  outGrad = host.outGrad;
  if (op.getEpilogue().empty())
    return;
  auto given = cast<MemRefType>(host.outGrad.getType());
  SmallVector<Value> extents;
  for (int64_t axis = 0; axis < given.getRank(); ++axis)
    extents.push_back(memref::DimOp::create(onHost, host.outGrad, axis));
  outGrad = attention::allocateWorkspace(
      onHost, RankedTensorType::get(given.getShape(), given.getElementType()),
      extents, "do_plain");
  for (int64_t number : op.getAuxNumbers(/*ofEpilogue=*/true)) {
    // The verifier has looked at the place.
    FailureOr<attention::AuxPlace> place = attention::getAuxPlace(op, number);
    SmallVector<unsigned> order;
    for (auto wanted :
         {attention::AuxIndex::Batch, attention::AuxIndex::Head,
          attention::AuxIndex::Query, attention::AuxIndex::Column})
      if (place->has(wanted))
        order.push_back(llvm::find(place->indices, wanted) -
                        place->indices.begin());
    AffineMap map = AffineMap::getPermutationMap(order, op.getContext());
    editGrads.push_back(memref::TransposeOp::create(
        onHost, getAuxGradient(number), AffineMapAttr::get(map)));
  }
}

void BackwardKernels::buildDelta(const BackwardPlan &plan) {
  bool hasLargeScores = plan.hasLargeScores;
  allocateEdited();
  const BackwardProducts &products = plan.parts.front().products;
  Value reach = products.countsDq ? buildReach() : Value();
  if (plan.isFused())
    dqSums = allocateSums(reach ? Type(onHost.getI32Type())
                                : Type(onHost.getF32Type()));
  // Whole blocks, of which all is written: they fill whole units of a bulk
  // copy.
  SmallVector<Value> extents = getStatisticExtents(onHost, host);
  auto type = RankedTensorType::get(
      SmallVector<int64_t>(extents.size(), ShapedType::kDynamic),
      onHost.getF32Type());
  shift = attention::allocateWorkspace(onHost, type, extents, "shift");
  delta = attention::allocateWorkspace(onHost, type, extents, "delta");
  if (reach)
    dqRate = attention::allocateWorkspace(onHost, type, extents, "dq_rate");
  if (hasLargeScores)
    rest = attention::allocateWorkspace(onHost, type, extents, "rest");
  LaunchArguments arguments;
  Value values[] = {host.o, host.outGrad, host.lse, host.lseGrad, shift,
                    delta,  dqSums,       dqRate,   reach};
  for (Value value : values)
    arguments.add(value);
  bool isEdited = outGrad != host.outGrad;
  if (isEdited) {
    arguments.add(outGrad);
    for (Value value : editGrads)
      arguments.add(value);
  }
  addSequences(arguments, /*needsAll=*/isEdited);
  gpu::GPUFuncOp kernel = createKernel("delta", arguments);
  OpBuilder inKernel(kernel.getBody().front().getTerminator());
  auto get = [&](Value value) {
    return arguments.lookup(inKernel, kernel, value);
  };
  BackwardOperands operands;
  operands.outGrad = get(outGrad);
  for (Value value : editGrads)
    operands.editGrads.push_back(get(value));
  operands.shift = get(shift);
  operands.delta = get(delta);
  operands.dqSums = get(dqSums);
  operands.dqRate = get(dqRate);
  getSequences(get, host.o, operands, /*needsAll=*/isEdited);
  buildDeltaBody(inKernel, op, operands,
                 {get(host.o), get(host.lse), get(host.lseGrad),
                  isEdited ? get(host.outGrad) : Value(), get(reach)},
                 hasLargeScores ? 1 : llvm::numbers::log2e);
  launch(kernel, arguments, {});
}

void BackwardKernels::addSequences(LaunchArguments &arguments, bool needsAll) {
  arguments.add(host.maxQ);
  // Of sequences that fill their arrays nothing else is to be known.
  if (!op.hasLengths() && !needsAll)
    return;
  arguments.add(host.k);
  for (Value value : host.aux)
    arguments.add(value);
  for (auto [inRegion, onHost] : captures)
    arguments.add(onHost);
}

void BackwardKernels::getSequences(function_ref<Value(Value)> get,
                                   Value queries, BackwardOperands &operands,
                                   bool needsAll) {
  operands.maxQ = get(host.maxQ);
  operands.batchExtent = host.batchExtent;
  operands.q = operands.k = get(queries);
  if (!op.hasLengths() && !needsAll)
    return;
  operands.k = get(host.k);
  for (Value value : host.aux)
    operands.aux.push_back(get(value));
  for (auto [inRegion, onHost] : captures)
    operands.captures.map(inRegion, get(onHost));
}

void BackwardKernels::buildConversion() {
  LaunchArguments arguments;
  for (Value value : {dqSums, dqRate, host.dq, host.scale})
    arguments.add(value);
  addSequences(arguments);
  gpu::GPUFuncOp kernel = createKernel("dq", arguments);
  OpBuilder inKernel(kernel.getBody().front().getTerminator());
  auto get = [&](Value value) {
    return arguments.lookup(inKernel, kernel, value);
  };
  BackwardOperands operands;
  operands.dqSums = get(dqSums);
  operands.dqRate = get(dqRate);
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

/// Values on the host that a kernel takes, null those that it does not.
BackwardOperands
BackwardKernels::getHostOperands(const BackwardProducts &products,
                                 const AuxTarget &aux) {
  BackwardOperands operands;
  static_cast<attention::Operands &>(operands) = host;
  operands.outGrad = outGrad;
  operands.shift = shift;
  operands.rest = rest;
  operands.o = operands.lse = operands.lseGrad = Value();
  if (products.needsGradient())
    operands.delta = delta;
  else
    operands.v8 = operands.outGrad8 = Value();
  // Gradients of weights are products of copies, where there are any.
  if (!products.needsGradient() || op.hasScales())
    operands.v = Value();
  if (op.hasScales() && !products.dv)
    operands.outGrad = Value();
  for (auto [isMade, gradient] : {std::pair(products.dq, &operands.dq),
                                  {products.dk, &operands.dk},
                                  {products.dv, &operands.dv}})
    if (!isMade)
      *gradient = Value();
  if (products.addsDq)
    operands.dqSums = dqSums;
  if (products.countsDq)
    operands.dqRate = dqRate;
  operands.auxGrads.clear();
  operands.auxGrad = aux.gradient;
  operands.auxPosition = aux.position;
  operands.auxPlace = aux.place;
  operands.transposedAux = products.ofKeys ? transposedAux : host.aux;
  std::optional<int64_t> heads = getConstantIntValue(host.heads);
  operands.hasSingleHeads =
      heads && heads == getConstantIntValue(host.keyHeads);
  if (products.addsDq && op.getSizesOfBlocks() && !operands.hasSingleHeads) {
    Value one = arith::ConstantIndexOp::create(onHost, 1);
    Value keyHeads = arith::MaxUIOp::create(onHost, host.keyHeads, one);
    operands.group = arith::DivUIOp::create(onHost, host.heads, keyHeads);
  }
  return operands;
}

void BackwardKernels::buildPart(const BackwardPart &part,
                                const AuxTarget &aux) {
  const BackwardProducts &products = part.products;
  BackwardOperands operands = getHostOperands(products, aux);
  using attention::Role;
  constexpr Role kOrder[] = {Role::q,       Role::k,        Role::v,
                             Role::outGrad, Role::q8,       Role::k8,
                             Role::v8,      Role::outGrad8, Role::shift,
                             Role::delta,   Role::rest,     Role::dqRate,
                             Role::dq,      Role::dk,       Role::dv,
                             Role::auxGrad, Role::dqSums,   Role::scale,
                             Role::scales,  Role::aux,      Role::transposedAux,
                             Role::maxQ};
  LaunchArguments arguments;
  for (Role role : kOrder)
    for (Value value : operands[role])
      arguments.add(value);
  arguments.add(operands.group);
  for (auto [inRegion, onHost] : captures)
    arguments.add(onHost);

  gpu::GPUFuncOp kernel = createKernel(
      aux.gradient ? StringRef(aux.suffix) : products.getName(), arguments);
  OpBuilder inKernel(kernel.getBody().front().getTerminator());
  static_cast<attention::Operands &>(operands) = operands.map(
      [&](Value value) { return arguments.lookup(inKernel, kernel, value); });
  operands.group = arguments.lookup(inKernel, kernel, operands.group);
  for (auto [inRegion, onHost] : captures)
    operands.captures.map(inRegion, arguments.lookup(inKernel, kernel, onHost));
  buildBackwardBody(inKernel, op, operands, part);
  launch(kernel, arguments, getCost(products));
}

/// Operations and bytes of a kernel, empty where the host does not know them.
SmallVector<Value> BackwardKernels::getCost(const BackwardProducts &products) {
  // The host does not know the work of places and of listed blocks.
  bool isUnknown = op.hasPlace(attention::Sequence::query) ||
                   op.hasPlace(attention::Sequence::key) ||
                   op.getSizesOfBlocks();
  if (isUnknown || !(products.dq || products.addsDq))
    return {};
  return {buildBackwardFlops(onHost, host), buildBackwardBytes(onHost, host)};
}

/// The kernel of the gradient of an auxiliary operand, or the two of it: sums
/// of rows, and the sums of these. Gives their number.
FailureOr<int64_t> BackwardKernels::buildAuxGradient(unsigned position,
                                                     const BackwardPart &part) {
  int64_t number = op.getAuxNumbers(/*ofEpilogue=*/false)[position];
  FailureOr<attention::AuxPlace> place = attention::getAuxPlace(op, number);
  if (failed(place))
    return failure();
  AuxTarget target;
  target.position = position;
  target.place = *place;
  target.gradient = getAuxGradient(number);
  target.suffix = "daux" + std::to_string(number);
  if (place->isTable())
    return buildTable(part, target);
  if (!hasPartialSums(*place)) {
    buildPart(part, target);
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
  buildPart(part, ofRows);
  buildOfArrays(target.suffix, {sums, target.gradient},
                [&](OpBuilder &inKernel, ValueRange arrays) {
                  buildAuxSum(inKernel, op.getLoc(), *place, arrays[0],
                              arrays[1]);
                });
  return 2;
}

void BackwardKernels::buildOfArrays(
    StringRef suffix, ValueRange values,
    function_ref<void(OpBuilder &, ValueRange)> build) {
  LaunchArguments arguments;
  for (Value value : values)
    arguments.add(value);
  gpu::GPUFuncOp kernel = createKernel(suffix, arguments);
  OpBuilder inKernel(kernel.getBody().front().getTerminator());
  auto arrays = llvm::map_to_vector(values, [&](Value value) {
    return arguments.lookup(inKernel, kernel, value);
  });
  build(inKernel, arrays);
  launch(kernel, arguments, {});
}

/// The kernels of the gradient of a table: sums become 0, are added to, and are
/// rounded.
int64_t BackwardKernels::buildTable(const BackwardPart &part,
                                    AuxTarget target) {
  std::string suffix = target.suffix;
  Value gradient = target.gradient;
  target.suffix += "_sums";
  target.gradient =
      allocateTableSums(onHost, host, target.place, gradient, target.suffix);
  Location loc = op.getLoc();
  buildOfArrays(suffix + "_zero", target.gradient,
                [&](OpBuilder &inKernel, ValueRange arrays) {
                  buildZeroSums(inKernel, loc, arrays.front());
                });
  buildPart(part, target);
  buildOfArrays(suffix, {target.gradient, gradient},
                [&](OpBuilder &inKernel, ValueRange arrays) {
                  buildTableGradient(inKernel, loc, arrays[0], arrays[1]);
                });
  return 3;
}

FailureOr<BackwardPlan> fa3::planBackward(HostFunction &host,
                                          const BackwardPlanOptions &options) {
  FailureOr<BackwardFacts> facts = readBackwardFacts(host);
  if (failed(facts))
    return failure();
  return planBackward(*facts, options, [&](const Twine &sentence) {
    host.backward.emitOpError(sentence);
  });
}

FailureOr<int64_t> BackwardKernels::build() {
  FailureOr<BackwardPlan> plan = planBackward(host, options);
  if (failed(plan))
    return failure();
  for (auto sequence : {attention::Sequence::query, attention::Sequence::key})
    limitSequences(host, sequence);
  captures = attention::collectCaptures(op.getOperation(), host.values);
  for (Value value : host.aux)
    transposedAux.push_back(transposeLast(onHost, value));
  bool isFused = plan->isFused();
  bool countsDq = plan->parts.front().products.countsDq;
  buildDelta(*plan);
  for (const BackwardPart &part : plan->parts)
    buildPart(part, AuxTarget());
  if (isFused)
    buildConversion();
  int64_t count = plan->parts.size() + (isFused ? 2 : 1) + (countsDq ? 2 : 0);
  for (auto [position, part] : llvm::enumerate(plan->aux)) {
    FailureOr<int64_t> own = buildAuxGradient(position, part);
    if (failed(own))
      return failure();
    count += *own;
  }
  return count;
}

FailureOr<int64_t>
fa3::buildBackwardKernels(HostFunction &host, gpu::GPUModuleOp module,
                          const BackwardPlanOptions &options) {
  return BackwardKernels(host, module, options).build();
}
