//===- ForwardKernels.cpp - kernels of a forward --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ForwardKernels.h"
#include "../Emit/LaunchArguments.h"
#include "../Emit/SequenceCode.h"
#include "../Plan/Cost.h"
#include "../Plan/ForwardFacts.h"
#include "../Plan/SplitCount.h"
#include "Kernel.h"
#include "fa3/Dialect/Attention/Contract/Captures.h"
#include "fa3/Dialect/Attention/Contract/Quantization.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace fa3;
using attention::ForwardOp;
using attention::HostFunction;

namespace {
/// Builds the kernels of one forward.
class ForwardBuilder {
public:
  ForwardBuilder(HostFunction &host, gpu::GPUModuleOp module)
      : host(host), module(module), forward(host.forward) {}

  FailureOr<ForwardKernels> build(const ForwardOptions &options);

private:
  /// Kernels take arrays whose last dimension is contiguous.
  Value getValues();
  /// What makes heads of arrays rows: those have `inFront` dimensions in front
  /// of the others.
  void view(const std::optional<GroupPacking> &packing,
            ArrayRef<Value *> arrays, unsigned inFront);
  /// What kernels take of the host function: no parts, and with the results.
  attention::Operands getTaken();
  /// Creates a kernel that only returns and says which of its arguments
  /// `operands` are.
  std::pair<gpu::GPUFuncOp, LaunchArguments>
  createKernel(StringRef name, const attention::Operands &taken,
               KernelOperands &operands);
  LogicalResult buildAttention(const ForwardPlan &plan,
                               KernelOperands &operands);
  /// Which heads are rows of a tile that merges parts.
  std::optional<GroupPacking>
  getMergedRows(const std::optional<GroupPacking> &packing);
  /// Whether tiles are merged as soon as their parts are there.
  bool mergesBeside(const ForwardPlan &plan,
                    const std::optional<GroupPacking> &packing);
  void buildLaunch(gpu::GPUFuncOp kernel, const LaunchArguments &arguments);
  /// Kernels that merge parts: one for few of them and one for more, where
  /// only the launch knows. Gives how many there are.
  FailureOr<int64_t> buildMerge(const std::optional<GroupPacking> &packing);
  /// Memory for an output that another kernel edits, and that kernel.
  AttentionResults allocateUnedited();
  void buildEdit();

  HostFunction &host;
  gpu::GPUModuleOp module;
  ForwardOp forward;
  Value values;
  attention::Captures captures;
  /// Where parts of the keys go, null for none; and how many each has.
  AttentionResults parts;
  int64_t partKeys = 0;
  /// Flags of tiles of parts, for the kernel that merges them; null for none.
  Value finished;
  /// An output in f32 that is edited by a kernel of its own, and its lse where
  /// that takes in a previous one; null for none.
  AttentionResults unedited;
};
} // namespace

Value ForwardBuilder::getValues() {
  if (!forward.getTransposedV())
    return host.v;
  OpBuilder onHost = host.getBuilder();
  AffineMap map = AffineMap::getPermutationMap(ArrayRef<int64_t>{0, 1, 3, 2},
                                               module.getContext());
  return memref::TransposeOp::create(onHost, forward.getLoc(), host.v,
                                     AffineMapAttr::get(map));
}

void ForwardBuilder::view(const std::optional<GroupPacking> &packing,
                          ArrayRef<Value *> arrays, unsigned inFront) {
  if (!packing)
    return;
  OpBuilder onHost = host.getBuilder();
  ImplicitLocOpBuilder b(forward.getLoc(), onHost);
  unsigned ofHeads = forward.getPlaceRank(attention::Sequence::query) - 2;
  for (Value *array : arrays)
    *array = viewGroups(b, *array, ofHeads + inFront, *packing);
}

attention::Operands ForwardBuilder::getTaken() {
  attention::Operands taken = host;
  taken.v = values;
  taken.splits = Value();
  return taken;
}

/// The results among operands.
static std::array<Value *, 4> listResults(attention::Operands &operands) {
  return {&operands.o, &operands.lse, &operands.plain, &operands.maxLogits};
}

static void setResults(attention::Operands &operands,
                       AttentionResults results) {
  for (auto [own, value] :
       llvm::zip_equal(listResults(operands), results.list()))
    *own = *value;
}

std::pair<gpu::GPUFuncOp, LaunchArguments>
ForwardBuilder::createKernel(StringRef name, const attention::Operands &taken,
                             KernelOperands &operands) {
  LaunchArguments arguments;
  for (Value value : taken.list())
    arguments.add(value);
  arguments.add(finished);
  for (auto [value, hostValue] : captures)
    arguments.add(hostValue);

  gpu::GPUFuncOp kernel =
      fa3::createKernel(module, forward.getLoc(), name, arguments.getTypes());
  OpBuilder builder(kernel.getBody().front().getTerminator());
  auto inKernel = [&](Value value) {
    return arguments.lookup(builder, kernel, value);
  };
  static_cast<attention::Operands &>(operands) = taken.map(inKernel);
  operands.finished = inKernel(finished);
  for (auto [value, hostValue] : captures)
    operands.captures.map(value, inKernel(hostValue));
  return {kernel, std::move(arguments)};
}

void ForwardBuilder::buildLaunch(gpu::GPUFuncOp kernel,
                                 const LaunchArguments &arguments) {
  OpBuilder builder = host.getBuilder();
  ImplicitLocOpBuilder b(forward.getLoc(), builder);
  // The host does not know the work of places and of listed blocks.
  SmallVector<Value> cost;
  if (!forward.getSizesOfBlocks() &&
      !forward.hasPlace(attention::Sequence::query) &&
      !forward.hasPlace(attention::Sequence::key))
    cost = {buildFlops(b, host), buildBytes(b, host)};
  launchKernel(b, b.getLoc(), module, kernel, arguments.get(), cost);
}

std::optional<GroupPacking>
ForwardBuilder::getMergedRows(const std::optional<GroupPacking> &packing) {
  // Sinks are read head by head.
  if (host.sinks)
    return packing;
  std::optional<GroupPacking> heads = chooseHeadPacking(host);
  return heads ? heads : packing;
}

bool ForwardBuilder::mergesBeside(const ForwardPlan &plan,
                                  const std::optional<GroupPacking> &packing) {
  // Where a tile of the output is so wide that two groups have it, its parts
  // take long to write and to merge (docs/experiments/wide-heads.md).
  constexpr int64_t kWidth = 256;
  if (getTileWidth(forward.getValueHeadDim()) <= kWidth)
    return false;
  // A tile that merges waits for parts of the same rows; and flags are where
  // these are in arrays, of which tiles of packed sequences may share some.
  return plan.tile.blockM == kReplicaRows &&
         getMergedRows(packing) == packing && !host.maxQ &&
         !forward.hasPlace(attention::Sequence::query);
}

LogicalResult ForwardBuilder::buildAttention(const ForwardPlan &plan,
                                             KernelOperands &operands) {
  attention::Operands taken = getTaken();
  bool isEdited = !forward.getEpilogue().empty() || host.previousO;
  bool isUnedited =
      isEdited && !host.splits && !fitsOutput(forward, plan.tile.blockM);
  if (isUnedited) {
    unedited = allocateUnedited();
    taken.o = unedited.o;
    if (unedited.lse)
      taken.lse = unedited.lse;
    taken.plain = Value();
    operands.isUnedited = true;
  }
  if (isUnedited || host.splits)
    taken.previousO = taken.previousLse = Value();
  view(operands.packing, {&taken.previousO, &taken.previousLse}, 0);
  operands.partKeys = partKeys;
  view(operands.packing, {&taken.q, &taken.qv}, 0);
  view(operands.packing, listResults(taken), 0);
  limitSequences(host, attention::Sequence::query);
  captures = attention::collectCaptures(forward.getOperation(), host.values);
  if (host.splits) {
    bool hasFlags = mergesBeside(plan, operands.packing);
    parts = allocateParts(host, operands.packing, plan.tile.blockM, partKeys,
                          hasFlags ? &finished : nullptr);
    setResults(taken, parts);
    view(operands.packing, listResults(taken), 1);
    if (hasFlags)
      view(operands.packing, {&finished}, 1);
    operands.inParts = true;
  }
  auto [kernel, arguments] =
      createKernel(host.function.getName(), taken, operands);
  OpBuilder builder(kernel.getBody().front().getTerminator());
  if (failed(buildKernelBody(builder, forward, operands, plan.tile,
                             plan.accumulation)))
    return failure();
  buildLaunch(kernel, arguments);
  return success();
}

FailureOr<int64_t>
ForwardBuilder::buildMerge(const std::optional<GroupPacking> &packing) {
  KernelOperands operands;
  operands.partKeys = partKeys;
  operands.packing = getMergedRows(packing);
  attention::Operands taken = getTaken();
  taken.qv = Value();
  view(operands.packing, {&taken.q, &taken.previousO, &taken.previousLse}, 0);
  view(operands.packing, listResults(taken), 0);
  view(operands.packing, parts.list(), 1);
  taken.partsO = parts.o;
  taken.partsLse = parts.lse;
  taken.partsMaxLogits = parts.maxLogits;

  OpBuilder onHost = host.getBuilder();
  auto build = [&](OpBuilder &onHost, PartCount count) {
    StringRef name = count == PartCount::few ? "_merge_few" : "_merge";
    KernelOperands merged = operands;
    auto [merge, arguments] =
        createKernel((host.function.getName() + name).str(), taken, merged);
    OpBuilder builder(merge.getBody().front().getTerminator());
    AttentionResults inKernel;
    inKernel.o = merged.partsO;
    inKernel.lse = merged.partsLse;
    inKernel.maxLogits = merged.partsMaxLogits;
    if (failed(buildMergeBody(builder, forward, merged, inKernel, count)))
      return failure();
    launchKernel(onHost, forward.getLoc(), module, merge, arguments.get());
    return success();
  };
  std::optional<int64_t> given = getConstantIntValue(host.splits);
  if (!partKeys && given && *given > 0) {
    bool isFew = *given <= kFewParts;
    if (failed(build(onHost, isFew ? PartCount::few : PartCount::any)))
      return failure();
    return 1;
  }
  // Parts of a fixed number of keys have the same bits in both kernels if the
  // one for few looks at all of them at once.
  ImplicitLocOpBuilder b(forward.getLoc(), onHost);
  Value most =
      arith::ConstantIndexOp::create(b, partKeys ? kFewAtOnce : kFewParts);
  Value isFew = arith::CmpIOp::create(
      b, arith::CmpIPredicate::sle, memref::DimOp::create(b, parts.o, 0), most);
  auto choice = scf::IfOp::create(b, isFew, /*withElseRegion=*/true);
  OpBuilder few = choice.getThenBodyBuilder(),
            many = choice.getElseBodyBuilder();
  if (failed(build(few, PartCount::few)) || failed(build(many, PartCount::any)))
    return failure();
  return 2;
}

AttentionResults ForwardBuilder::allocateUnedited() {
  OpBuilder builder = host.getBuilder();
  ImplicitLocOpBuilder b(forward.getLoc(), builder);
  auto type = cast<MemRefType>(host.o.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = getTileWidth(shape.back());
  SmallVector<Value> extents;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    extents.push_back(memref::DimOp::create(b, host.o, axis));
  AttentionResults results;
  results.o = attention::allocateWorkspace(
      b, RankedTensorType::get(shape, b.getF32Type()), extents, "o_unedited");
  if (!host.previousO)
    return results;
  shape.pop_back();
  extents.pop_back();
  results.lse = attention::allocateWorkspace(
      b, RankedTensorType::get(shape, b.getF32Type()), extents, "lse_unedited");
  return results;
}

void ForwardBuilder::buildEdit() {
  KernelOperands operands;
  attention::Operands taken = getTaken();
  taken.qv = taken.maxLogits = Value();
  if (!taken.previousO)
    taken.lse = Value();
  taken.partsO = unedited.o;
  taken.partsLse = unedited.lse;
  auto [kernel, arguments] = createKernel(
      (host.function.getName() + "_epilogue").str(), taken, operands);
  OpBuilder builder(kernel.getBody().front().getTerminator());
  AttentionResults inKernel;
  inKernel.o = operands.partsO;
  inKernel.lse = operands.partsLse;
  buildEditBody(builder, forward, operands, inKernel);
  OpBuilder onHost = host.getBuilder();
  launchKernel(onHost, forward.getLoc(), module, kernel, arguments.get());
}

namespace {
/// A plan and what it was made from.
struct Decision {
  std::optional<GroupPacking> packing;
  ForwardFacts facts;
  ForwardPlan plan;
};
} // namespace

static FailureOr<Decision> decide(HostFunction &host,
                                  const ForwardOptions &options) {
  FailureOr<std::optional<GroupPacking>> packing =
      chooseGroupPacking(host, options.packGqa);
  if (failed(packing))
    return failure();
  FailureOr<ForwardFacts> facts =
      readForwardFacts(host, *packing, options.loads);
  if (failed(facts))
    return failure();
  FailureOr<ForwardPlan> plan =
      planForward(*facts, options.plan, [&](const Twine &sentence) {
        host.forward.emitOpError(sentence);
      });
  if (failed(plan))
    return failure();
  return Decision{*packing, *facts, *plan};
}

FailureOr<ForwardPlan> fa3::planForward(HostFunction &host,
                                        const ForwardOptions &options) {
  FailureOr<Decision> decision = decide(host, options);
  if (failed(decision))
    return failure();
  return decision->plan;
}

FailureOr<ForwardKernels> ForwardBuilder::build(const ForwardOptions &options) {
  int64_t valueWidth = forward.getValueHeadDim();
  if (forward.getSplits() && getTileWidth(valueWidth) != valueWidth)
    return forward.emitOpError("splits keys: expects a head dim of v that is a "
                               "multiple of 8, whose parts are copied in bulk, "
                               "got ")
           << valueWidth;
  FailureOr<Decision> decision = decide(host, options);
  if (failed(decision))
    return failure();
  const auto &[packing, facts, plan] = *decision;
  if (host.splits && options.partKeys % plan.tile.blockN)
    return forward.emitOpError("splits keys: expects part-keys to be a "
                               "multiple of the ")
           << plan.tile.blockN << " keys of a step, got " << options.partKeys;
  remarkNumbers(forward, facts, plan);
  partKeys = options.partKeys;
  values = getValues();
  KernelOperands operands;
  operands.packing = packing;
  operands.pieceRows = plan.pieceRows;
  if (failed(buildAttention(plan, operands)))
    return failure();
  ForwardKernels kernels{1, packing.has_value()};
  if (host.splits) {
    FailureOr<int64_t> merges = buildMerge(packing);
    if (failed(merges))
      return failure();
    kernels.kernels += *merges;
  }
  if (unedited.o) {
    buildEdit();
    ++kernels.kernels;
  }
  return kernels;
}

FailureOr<ForwardKernels>
fa3::buildForwardKernels(HostFunction &host, gpu::GPUModuleOp module,
                         const ForwardOptions &options) {
  return ForwardBuilder(host, module).build(options);
}
