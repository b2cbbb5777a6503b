//===- HostChecks.cpp - what a launch requires of its arguments -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Extents that must agree, elements that regions read, extents of scales and of
// gradients. Each check is a cf.assert of the host function.
//===----------------------------------------------------------------------===//

#include "HostArguments.h"
#include "HostBuilder.h"
#include "fa3/Dialect/Attention/IR/AuxPlace.h"
#include "fa3/Support/ContractNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::attention;

/// An array agrees with q, k or v, whose rows or columns it has, in batch, or
/// what places have in its stead, heads and length; one without elements has
/// them in this order.
void HostBuilder::requireSame(Role role) {
  const OperandInfo &info = getInfo(role);
  bool isQuery = info.rows == Rows::Query;
  Role with = isQuery                          ? Role::q
              : info.columns == Columns::Value ? Role::v
                                               : Role::k;
  std::string names = (getInfo(with).name + " and " + info.name).str();
  ScoredOpInterface op = host.getScored();
  Value x = given[with].front(), y = given[role].front();
  int64_t rank = cast<MemRefType>(x.getType()).getRank() - 1;
  bool isRow = info.columns == Columns::None;
  bool isSwapped = op.getLayout() == Layout::bshd;
  auto nameOf = [&](int64_t axis) -> std::string {
    if (axis >= rank - 2)
      return axis == rank - 2 ? "heads" : "length";
    return op.hasPlace(isQuery ? Sequence::query : Sequence::key)
               ? "dimension " + std::to_string(axis)
               : "batch";
  };
  for (int64_t i = 0; i < rank; ++i) {
    int64_t axis = i;
    if (isSwapped && i >= rank - 2)
      axis = i == rank - 2 ? rank - 1 : rank - 2;
    Value ofY = dim(y, isRow ? i : axis), ofX = dim(x, axis);
    requireEqual(ofX, ofY, names + " differ in " + nameOf(i));
  }
}

/// The sequences that the code of lengths and places has integers for.
void HostBuilder::countSequences() {
  ScoredOpInterface op = host.getScored();
  if (!op.hasPlace(Sequence::query)) {
    host.batch = dim(given.q, 0);
    return;
  }
  BatchExtent &from = host.batchExtent;
  for (auto [number, value] : llvm::enumerate(host.aux)) {
    forEachRead(op, number, [&](tensor::ExtractOp extract) {
      for (auto [axis, index] : llvm::enumerate(extract.getIndices())) {
        std::optional<IndexBound> bound = getBound(index);
        if (!bound || bound->extent != Extent::Batch ||
            (from.aux && *from.aux != number))
          continue;
        from.aux = number;
        from.axis = axis;
        from.more = std::max(from.more, bound->more);
      }
    });
    if (from.aux)
      break;
  }
  Value extent = dim(host.aux[*from.aux], from.axis);
  if (from.more) {
    extent = arith::SubIOp::create(b, extent, constant(from.more));
    extent = arith::MaxSIOp::create(b, extent, constant(0));
  }
  host.batch = extent;
}

void HostBuilder::requireShapes() {
  ScoredOpInterface op = host.getScored();
  countSequences();
  host.heads = dim(given.q, op.getHeadAxisOf(op.getQ()));
  host.keyHeads = dim(given.k, op.getHeadAxisOf(op.getK()));
  host.queries = dim(given.q, op.getSequenceAxisOf(op.getQ()));
  host.keys = dim(given.k, op.getSequenceAxisOf(op.getK()));
  requireShapesOfKeys();
  for (Role role : {Role::o, Role::lse, Role::maxLogits})
    if (given[role].front())
      requireSame(role);
  requireGroup();
}

void HostBuilder::requireShapesOfKeys() {
  ScoredOpInterface op = host.getScored();
  ForwardOp forward = host.forward;
  int64_t headOfK = op.getHeadAxisOf(op.getK()),
          keyAxis = op.getSequenceAxisOf(op.getK());
  if (!op.hasPlace(Sequence::key)) {
    requireEqual(host.batch, dim(given.k, 0), "q and k differ in batch");
    requireEqual(host.batch, dim(given.v, 0), "q and v differ in batch");
  } else {
    for (int64_t axis = 0; axis < std::min(headOfK, keyAxis); ++axis) {
      Value ofV = dim(given.v, axis), ofK = dim(given.k, axis);
      requireEqual(ofK, ofV, "k and v differ in dimension " + Twine(axis));
    }
  }
  requireEqual(host.keyHeads, dim(given.v, headOfK), "k and v differ in heads");
  requireEqual(host.keys,
               dim(given.v, forward && forward.getTransposedV() ? 3 : keyAxis),
               "k and v differ in length");
}

void HostBuilder::requireGroup() {
  std::optional<int64_t> keyHeads = getConstantIntValue(host.keyHeads);
  if (!keyHeads)
    require(arith::CmpIOp::create(b, arith::CmpIPredicate::sge, host.keyHeads,
                                  constant(1)),
            "k has no heads");
  std::optional<int64_t> group =
      host.forward ? host.forward.getGroup() : host.backward.getGroup();
  if (group) {
    Value all = arith::MulIOp::create(b, host.keyHeads, constant(*group));
    requireEqual(host.heads, all,
                 "q does not have " + Twine(*group) +
                     " heads for each of those of k");
  } else if (keyHeads != 1 && !(keyHeads && getConstantIntValue(host.heads))) {
    Value rest = arith::RemSIOp::create(b, host.heads, host.keyHeads);
    require(
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rest, constant(0)),
        "the heads of q are not a multiple of the heads of k");
  }
}

void HostBuilder::requireReads(unsigned number) {
  ScoredOpInterface op = host.getScored();
  Value extents[] = {host.batch, host.heads,    host.queries,
                     host.keys,  host.keyHeads, constant(op.getValueHeadDim())};
  requireReads(op, op.getAux()[number], host.aux[number], extents);
}

void HostBuilder::requireReads(Operation *op, Value tensor, Value argument,
                               ArrayRef<Value> extents) {
  auto scored = dyn_cast<ScoredOpInterface>(op);
  auto type = cast<MemRefType>(argument.getType());
  StringRef name = getNameOf(argument);
  llvm::DenseSet<std::tuple<int64_t, int64_t, int64_t>> done;

  forEachRead(op, tensor, [&](tensor::ExtractOp extract) {
    for (auto [axis, index] : llvm::enumerate(extract.getIndices())) {
      Value needed;
      std::string what;
      if (std::optional<int64_t> literal = getConstantIntValue(index)) {
        if (!type.isDynamicDim(axis) && *literal < type.getDimSize(axis))
          continue;
        if (!done.insert({axis, -1, *literal}).second)
          continue;
        needed = constant(*literal + 1);
        what = "elements read";
      } else if (std::optional<IndexBound> bound = getBound(index)) {
        static constexpr StringRef names[] = {"batches",    "heads of q",
                                              "queries",    "keys",
                                              "heads of k", "columns of o"};
        unsigned which = static_cast<unsigned>(bound->extent);
        // Of queries and keys that have places no extent is known.
        if (scored &&
            ((bound->extent == Extent::Queries &&
              scored.hasPlace(Sequence::query)) ||
             (bound->extent == Extent::Keys && scored.hasPlace(Sequence::key))))
          continue;
        if (!done.insert({axis, which, bound->more}).second)
          continue;
        needed = extents[which];
        what = names[which];
        if (bound->more) {
          needed = arith::AddIOp::create(b, needed, constant(bound->more));
          what = "needed for all " + what;
        }
        std::optional<int64_t> count = getConstantIntValue(needed);
        if (count && !type.isDynamicDim(axis) &&
            *count <= type.getDimSize(axis))
          continue;
      } else {
        // Of lengths and places: what it may be is the matter of who wrote it.
        if (!isComputedIndex(extract, index))
          continue;
        // What lies outside reads as 0, in place of an element. Lists that are
        // made by the function have one.
        if ((!type.isDynamicDim(axis) && type.getDimSize(axis) > 0) ||
            !isa<BlockArgument>(argument))
          continue;
        if (!done.insert({axis, -2, 0}).second)
          continue;
        needed = constant(1);
        what = "elements read";
      }
      require(
          arith::CmpIOp::create(b, arith::CmpIPredicate::sge,
                                dim(argument, axis), needed),
          name + " has fewer entries in dimension " + Twine(axis) + " than " +
              (StringRef(what).starts_with("needed") ? what
                                                     : "there are " + what));
    }
  });
}

/// Of an operand with a gradient every element is read, and the gradient has as
/// many.
void HostBuilder::requireAuxGradient(unsigned position) {
  int64_t number = host.backward.getAuxNumbers()[position];
  Value aux = host.aux[number], gradient = host.auxGrads[position];
  auto getName = [&](Value argument) {
    return host.function
        .getArgAttrOfType<StringAttr>(
            cast<BlockArgument>(argument).getArgNumber(), kArgumentNameAttr)
        .getValue();
  };
  Value extents[] = {host.batch,   host.heads,
                     host.queries, host.keys,
                     constant(1),  constant(host.backward.getValueHeadDim())};
  static constexpr StringRef names[] = {
      "batches", "heads of q", "queries", "keys", "1", "columns of o"};
  // The verifier has looked at the place.
  FailureOr<AuxPlace> place = getAuxPlace(host.backward, number);
  for (auto [axis, index] : llvm::enumerate(place->indices)) {
    auto which = static_cast<unsigned>(index);
    Value extent = dim(aux, axis);
    // Static extents may be what no verifier has compared. A table may have
    // any.
    bool isTable = index == AuxIndex::Computed;
    Value wanted = isTable ? extent : extents[which];
    std::optional<int64_t> own = getConstantIntValue(extent);
    if (extent != wanted && (!own || own != getConstantIntValue(wanted)))
      require(
          arith::CmpIOp::create(b, arith::CmpIPredicate::eq, extent, wanted),
          getName(aux) + " has a gradient: its dimension " + Twine(axis) +
              " has another extent than there are " + names[which]);
    requireEqual(extent, dim(gradient, axis),
                 getName(aux) + " and " + getName(gradient) +
                     " differ in dimension " + Twine(axis));
  }
}

/// Extents of scales: those of batch and heads share evenly, and there is a
/// scale for every block of rows.
void HostBuilder::requireScales(unsigned operand) {
  Value scales = host.scales[operand];
  auto requireShare = [&](int64_t axis, Value count, StringRef what) {
    Value extent = dim(scales, axis);
    if (getConstantIntValue(extent) == 1 || extent == count)
      return;
    // An extent of 0 is as wrong as one that does not divide.
    Value atLeastOne = arith::MaxSIOp::create(b, extent, constant(1));
    Value rest = arith::RemSIOp::create(b, count, atLeastOne);
    Value isShare =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rest, constant(0));
    Value isSome = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, extent,
                                         constant(1));
    require(arith::AndIOp::create(b, isShare, isSome),
            kScaleNames[operand] + " has a number of " + what +
                " that does not divide that of q");
  };
  requireShare(0, host.batch, "batches");
  requireShare(1, host.heads, "heads");
  int64_t rows = host.getScored().getScaleRows(operand);
  if (rows == 0) {
    Value one = constant(1);
    requireEqual(dim(scales, 2), one,
                 kScaleNames[operand] +
                     " has more than one scale for a sequence");
    return;
  }
  bool isOfKeys = operand == 1 || operand == 2;
  Value length = isOfKeys ? host.keys : host.queries;
  Value blocks = arith::CeilDivSIOp::create(b, length, constant(rows));
  require(arith::CmpIOp::create(b, arith::CmpIPredicate::sge, dim(scales, 2),
                                blocks),
          kScaleNames[operand] + " has fewer scales than there are blocks of " +
              Twine(rows) + " rows");
}
