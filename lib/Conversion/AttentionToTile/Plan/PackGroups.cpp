//===- PackGroups.cpp - the heads of a group as rows ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "PackGroups.h"
#include "fa3/Tuning/TileChoice.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa3;
using attention::ForwardOp;

/// A read of an auxiliary operand at an index that depends on the head or the
/// query, if there is one: a row has both.
static tensor::ExtractOp findReadByRow(ForwardOp forward) {
  llvm::DenseSet<Value> byRow;
  tensor::ExtractOp found;
  for (Region *region :
       {&forward.getScoreMod(), &forward.getMaskMod(), &forward.getKeepMod()}) {
    if (region->empty())
      continue;
    unsigned last = region->getNumArguments() - 1;
    byRow.insert(region->getArgument(last - 2)); // head
    byRow.insert(region->getArgument(last - 1)); // query
    for (Operation &op : region->front()) {
      bool depends = llvm::any_of(
          op.getOperands(), [&](Value value) { return byRow.contains(value); });
      if (!depends)
        continue;
      byRow.insert_range(op.getResults());
      if (auto extract = dyn_cast<tensor::ExtractOp>(op); extract && !found)
        found = extract;
    }
  }
  return found;
}

/// Whether a query's place depends on its head otherwise than by being in it,
/// which is its last index but one.
static bool dependsOnHead(Region *place) {
  if (!place)
    return false;
  Operation *yield = place->front().getTerminator();
  return llvm::any_of(place->getArgument(1).getUses(), [&](OpOperand &use) {
    return use.getOwner() != yield ||
           use.getOperandNumber() + 2 != yield->getNumOperands();
  });
}

/// Whether keys are visible by query.
static bool isMaskedByQuery(ForwardOp forward) {
  Region &mask = forward.getMaskMod();
  return !mask.empty() &&
         !mask.getArgument(mask.getNumArguments() - 2).use_empty();
}

/// Heads of k by the types of q or k and `group`; dynamic if nothing says it.
static int64_t getStaticKeyHeads(ForwardOp forward) {
  int64_t heads = forward.getQ().getType().getDimSize(
      forward.getHeadAxisOf(forward.getQ()));
  if (std::optional<int64_t> group = forward.getGroup();
      group && !ShapedType::isDynamic(heads))
    return heads / *group;
  return forward.getK().getType().getDimSize(
      forward.getHeadAxisOf(forward.getK()));
}

/// Whether the queries of all heads of a group share their scales.
static bool hasSharedScales(ForwardOp forward, int64_t keyHeads) {
  if (!forward.hasScales())
    return true;
  int64_t heads =
      cast<RankedTensorType>(forward.getScales()[0].getType()).getDimSize(1);
  bool isOfKeyHeads = !ShapedType::isDynamic(heads) && heads == keyHeads;
  return forward.getScaleRows(0) == 0 && (heads == 1 || isOfKeyHeads);
}

std::optional<int64_t> fa3::getStaticQueries(ForwardOp forward) {
  APInt most;
  if (forward.getMaxQ() &&
      matchPattern(forward.getMaxQ(), m_ConstantInt(&most)))
    return std::max<int64_t>(most.getSExtValue(), 0);
  RankedTensorType q = forward.getQ().getType();
  int64_t axis = forward.getSequenceAxisOf(forward.getQ());
  if (forward.hasPlace(attention::Sequence::query) || q.isDynamicDim(axis))
    return std::nullopt;
  return q.getDimSize(axis);
}

FailureOr<std::optional<GroupPacking>>
fa3::chooseGroupPacking(const attention::HostFunction &host,
                        options::Choice choice) {
  using Result = std::optional<GroupPacking>;
  ForwardOp forward = host.forward;
  if (choice == options::Choice::False)
    return Result();
  auto refuse = [&](auto &&explain) -> FailureOr<Result> {
    if (choice == options::Choice::Auto)
      return Result();
    explain(forward.emitOpError("cannot have the heads of a group packed into "
                                "rows: "));
    return failure();
  };
  std::optional<int64_t> group = forward.getStaticGroup();
  if (!group)
    return refuse([](InFlightDiagnostic error) {
      error << "expects numbers of heads, or a group, that are known to the "
               "compiler";
    });
  if (*group == 1)
    return Result();
  Result packing = packGroup(*group);
  if (!packing)
    return refuse([&](InFlightDiagnostic error) {
      error << "a group has " << *group << ", expects at most " << kReplicaRows
            << " or a number that one up to that divides";
    });
  packing->keyHeads = getStaticKeyHeads(forward);
  Region *blocks = forward.findList(attention::Sequence::query);
  if (blocks && !blocks->getArgument(1).use_empty())
    return refuse([](InFlightDiagnostic error) {
      error << "blocks of keys are listed by head";
    });
  if (tensor::ExtractOp extract = findReadByRow(forward))
    return refuse([&](InFlightDiagnostic error) {
      error << "an auxiliary operand is read by head or query";
      error.attachNote(extract.getLoc()) << "it is read here";
    });
  if (dependsOnHead(forward.findPlace(attention::Sequence::query)))
    return refuse([](InFlightDiagnostic error) {
      error << "the place of a query depends on its head";
    });
  // Parts of a group are not told apart by scales of key heads.
  if (!hasSharedScales(forward, packing->parts == 1 ? packing->keyHeads : 1))
    return refuse([&](InFlightDiagnostic error) {
      error << "expects scales of q for ";
      if (!ShapedType::isDynamic(packing->keyHeads))
        error << "the " << packing->keyHeads << " key heads or for ";
      error << "all, and for all rows";
    });
  if (packing->parts > 1 && !ShapedType::isDynamic(packing->keyHeads))
    packing->keyHeads *= packing->parts;
  if (choice == options::Choice::True)
    return packing;
  GroupFacts facts = {forward.getValueHeadDim(),
                      isMaskedByQuery(forward),
                      blocks != nullptr,
                      !forward.getKeepMod().empty(),
                      static_cast<bool>(host.splits),
                      getStaticQueries(forward)};
  return isPackingBetter(*packing, facts) ? packing : Result();
}

std::optional<GroupPacking>
fa3::chooseHeadPacking(const attention::HostFunction &host) {
  ForwardOp forward = host.forward;
  RankedTensorType q = forward.getQ().getType();
  int64_t axis = forward.getHeadAxisOf(forward.getQ());
  if (q.isDynamicDim(axis) ||
      dependsOnHead(forward.findPlace(attention::Sequence::query)))
    return std::nullopt;
  int64_t heads = q.getDimSize(axis), together = getMostHeadsTogether(heads);
  if (together == 1)
    return std::nullopt;
  return GroupPacking{heads / together, together,
                      static_cast<int64_t>(llvm::PowerOf2Ceil(together))};
}

Value fa3::viewGroups(ImplicitLocOpBuilder &b, Value array, unsigned head,
                      const GroupPacking &packing) {
  if (!array)
    return {};
  auto type = cast<MemRefType>(array.getType());
  bool isKnown = !ShapedType::isDynamic(packing.keyHeads);
  if (isKnown && type.isDynamicDim(head)) {
    // The host function checks that the arrays agree in heads.
    SmallVector<int64_t> known(type.getShape());
    known[head] = packing.keyHeads * packing.heads;
    type = MemRefType::Builder(type).setShape(known);
    array = memref::CastOp::create(b, type, array);
  }
  // The dimension of the heads becomes two.
  SmallVector<int64_t> shape(type.getShape());
  shape[head] = packing.heads;
  shape.insert(shape.begin() + head, packing.keyHeads);
  SmallVector<ReassociationIndices> parts;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    int64_t first = dim + (dim > head ? 1 : 0);
    parts.push_back({first});
    if (dim == head)
      parts.back().push_back(first + 1);
  }
  FailureOr<MemRefType> expanded =
      memref::ExpandShapeOp::computeExpandedType(type, shape, parts);
  assert(succeeded(expanded) && "arrays have strides");
  SmallVector<OpFoldResult> extents;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    Value extent;
    if (type.isDynamicDim(dim))
      extent = memref::DimOp::create(b, array, dim);
    if (dim == head) {
      if (!isKnown)
        extent = arith::DivUIOp::create(
            b, extent, arith::ConstantIndexOp::create(b, packing.heads));
      extents.push_back(isKnown ? OpFoldResult(b.getIndexAttr(packing.keyHeads))
                                : OpFoldResult(extent));
      extents.push_back(b.getIndexAttr(packing.heads));
      continue;
    }
    extents.push_back(extent
                          ? OpFoldResult(extent)
                          : OpFoldResult(b.getIndexAttr(type.getDimSize(dim))));
  }
  Value view =
      memref::ExpandShapeOp::create(b, *expanded, array, parts, extents);
  // The head of the group behind the query.
  auto order = llvm::to_vector(llvm::seq<unsigned>(0, shape.size()));
  std::swap(order[head + 1], order[head + 2]);
  AffineMap map = AffineMap::getPermutationMap(order, b.getContext());
  return memref::TransposeOp::create(b, view, AffineMapAttr::get(map));
}
