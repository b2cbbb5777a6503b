//===- HostFunction.cpp - from tensors to the launch contract -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See HostFunction.h. The form of the function is checked before anything is
// built, so that a failure leaves the IR as it was.
//===----------------------------------------------------------------------===//

#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "HostArguments.h"
#include "HostForm.h"
#include "fa3/Dialect/Attention/IR/AuxPlace.h"
#include "fa3/Support/ContractNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include <cmath>

using namespace mlir;
using namespace fa3;
using namespace fa3::attention;

OpBuilder HostFunction::getBuilder() {
  return OpBuilder(function.getBody().front().getTerminator());
}

template <typename Op>
static Op findFirst(func::FuncOp function) {
  Op first;
  function.walk([&](Op op) {
    first = op;
    return WalkResult::interrupt();
  });
  return first;
}

ForwardOp fa3::attention::findForward(func::FuncOp function) {
  return findFirst<ForwardOp>(function);
}

BackwardOp fa3::attention::findBackward(func::FuncOp function) {
  return findFirst<BackwardOp>(function);
}

bool fa3::attention::hasAttention(func::FuncOp function) {
  return function
      .walk([](Operation *op) {
        return WalkResult(
            failure(isa<ScoredOpInterface>(op) || isPreparation(op)));
      })
      .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Code of the host function
//===----------------------------------------------------------------------===//

namespace {
/// Emits the body of a host function.
class HostBuilder {
public:
  HostBuilder(HostFunction &host, func::FuncOp source)
      : host(host), source(source),
        b(ImplicitLocOpBuilder::atBlockBegin(
            host.getScored() ? host.getScored()->getLoc() : source.getLoc(),
            &host.function.getBody().front())) {}

  void build();

private:
  Value constant(int64_t value);
  /// Extent `axis` of memref `argument`.
  Value dim(Value argument, int64_t axis);
  void require(Value condition, const Twine &message);
  void requireEqual(Value lhs, Value rhs, const Twine &message);
  void countSequences();
  void requireSame(Value x, Value y, const Twine &names);
  void requireShapes();
  StringRef getNameOf(Value array);
  void requireReads(unsigned number);
  void requireAuxGradient(unsigned position);
  /// Checks that `argument`, which holds the tensor that regions of `op` read,
  /// is large enough; `extents` are what bounds indices, by Extent.
  void requireReads(Operation *op, Value tensor, Value argument,
                    ArrayRef<Value> extents);
  void requireScales(unsigned operand);
  void cloneScalars();
  /// Copies what computes a scalar of the function on tensors, unless done.
  void cloneScalar(Value value);
  void cloneScalar(Operation &op);
  void buildForward();
  void buildBackward();
  void buildScale();
  void buildQuantization(HostQuantization &quantization);
  void buildRotation(HostQuantization &quantization);
  void buildUpdate(HostUpdate &update);
  void buildAppend(HostUpdate &update, Layout layout);
  Value provideRotated(HostUpdate &update, Layout layout);
  void buildBlockLists(HostBlockLists &lists);
  Value provideList(HostBlockLists &lists, OpResult result);
  Value view(Value argument, Layout layout);
  Value viewTransposed(Value argument, Layout layout);

  HostFunction &host;
  func::FuncOp source;
  ImplicitLocOpBuilder b;
  /// Arguments, in the order of their memory.
  Value q, k, v, o, lse;
  llvm::SmallDenseMap<int64_t, Value> constants;
  llvm::SmallDenseMap<std::pair<Value, int64_t>, Value> dims;
  /// Matrices by signs and type.
  llvm::SmallDenseMap<std::pair<Value, Type>, Value> matrices;
};
} // namespace

Value HostBuilder::constant(int64_t value) {
  Value &cached = constants[value];
  if (!cached)
    cached = arith::ConstantIndexOp::create(b, value);
  return cached;
}

Value HostBuilder::dim(Value argument, int64_t axis) {
  Value &cached = dims[{argument, axis}];
  if (cached)
    return cached;
  auto type = cast<MemRefType>(argument.getType());
  Value value = type.isDynamicDim(axis)
                    ? memref::DimOp::create(b, argument, constant(axis))
                    : constant(type.getDimSize(axis));
  return cached = value;
}

void HostBuilder::require(Value condition, const Twine &message) {
  cf::AssertOp::create(b, condition, b.getStringAttr(message));
}

void HostBuilder::requireEqual(Value lhs, Value rhs, const Twine &message) {
  // Static extents were compared by the verifier of the operation.
  if (lhs == rhs || (getConstantIntValue(lhs) && getConstantIntValue(rhs)))
    return;
  require(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lhs, rhs),
          message);
}

/// Two arrays agree in batch, heads and length; one of rank 3 has them in this
/// order.
void HostBuilder::requireSame(Value x, Value y, const Twine &names) {
  ScoredOpInterface op = host.getScored();
  int64_t axes[] = {0, op.getHeadAxis(), op.getSequenceAxis()};
  static constexpr StringRef what[] = {"batch", "heads", "length"};
  bool isRow = cast<MemRefType>(y.getType()).getRank() == 3;
  for (int64_t i = 0; i < 3; ++i)
    requireEqual(dim(x, axes[i]), dim(y, isRow ? i : axes[i]),
                 names + " differ in " + what[i]);
}

/// The sequences that the code of lengths and places has integers for.
void HostBuilder::countSequences() {
  ForwardOp forward = host.forward;
  if (!forward || !forward.hasPlace(Sequence::query)) {
    host.batch = dim(q, 0);
    return;
  }
  BatchExtent &from = host.batchExtent;
  for (auto [number, value] : llvm::enumerate(host.aux)) {
    forEachRead(forward, number, [&](tensor::ExtractOp extract) {
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
  ForwardOp forward = host.forward;
  int64_t headOfQ = op.getHeadAxisOf(op.getQ()),
          headOfK = op.getHeadAxisOf(op.getK()),
          queryAxis = op.getSequenceAxisOf(op.getQ()),
          keyAxis = op.getSequenceAxisOf(op.getK());
  bool placesQ = forward && forward.hasPlace(Sequence::query),
       placesK = forward && forward.hasPlace(Sequence::key);
  countSequences();
  host.heads = dim(q, headOfQ);
  host.keyHeads = dim(k, headOfK);
  host.queries = dim(q, queryAxis);
  host.keys = dim(k, keyAxis);

  if (!placesK) {
    requireEqual(host.batch, dim(k, 0), "q and k differ in batch");
    requireEqual(host.batch, dim(v, 0), "q and v differ in batch");
  } else {
    for (int64_t axis = 0; axis < std::min(headOfK, keyAxis); ++axis)
      requireEqual(dim(k, axis), dim(v, axis),
                   "k and v differ in dimension " + Twine(axis));
  }
  requireEqual(host.keyHeads, dim(v, headOfK), "k and v differ in heads");
  requireEqual(host.keys,
               dim(v, forward && forward.getTransposedV() ? 3 : keyAxis),
               "k and v differ in length");
  int64_t outer = std::min(headOfQ, queryAxis);
  auto differ = [&](StringRef name, int64_t axis) {
    return "q and " + name.str() + " differ in " +
           (placesQ ? "dimension " + std::to_string(axis) : "batch");
  };
  for (int64_t axis = 0; axis < outer; ++axis)
    requireEqual(dim(q, axis), dim(o, axis), differ("o", axis));
  requireEqual(host.heads, dim(o, headOfQ), "q and o differ in heads");
  requireEqual(host.queries, dim(o, queryAxis), "q and o differ in length");
  if (lse) {
    for (int64_t axis = 0; axis < outer; ++axis)
      requireEqual(dim(q, axis), dim(lse, axis), differ("lse", axis));
    requireEqual(host.heads, dim(lse, outer), "q and lse differ in heads");
    requireEqual(host.queries, dim(lse, outer + 1),
                 "q and lse differ in length");
  }

  std::optional<int64_t> keyHeads = getConstantIntValue(host.keyHeads);
  if (!keyHeads)
    require(arith::CmpIOp::create(b, arith::CmpIPredicate::sge, host.keyHeads,
                                  constant(1)),
            "k has no heads");
  if (keyHeads != 1 && !(keyHeads && getConstantIntValue(host.heads))) {
    Value rest = arith::RemSIOp::create(b, host.heads, host.keyHeads);
    require(
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rest, constant(0)),
        "the heads of q are not a multiple of the heads of k");
  }
}

/// The name of an argument, or of memory that the function allocates.
StringRef HostBuilder::getNameOf(Value array) {
  if (auto argument = dyn_cast<BlockArgument>(array))
    return host.function
        .getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                      kArgumentNameAttr)
        .getValue();
  Operation *memory =
      array.getDefiningOp<memref::CastOp>().getSource().getDefiningOp();
  return memory->getAttrOfType<StringAttr>(kArgumentNameAttr).getValue();
}

void HostBuilder::requireReads(unsigned number) {
  Value extents[] = {host.batch, host.heads, host.queries, host.keys,
                     host.keyHeads};
  ScoredOpInterface op = host.getScored();
  requireReads(op, op.getAux()[number], host.aux[number], extents);
}

void HostBuilder::requireReads(Operation *op, Value tensor, Value argument,
                               ArrayRef<Value> extents) {
  auto forward = dyn_cast<ForwardOp>(op);
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
        static constexpr StringRef names[] = {"batches", "heads of q",
                                              "queries", "keys", "heads of k"};
        unsigned which = static_cast<unsigned>(bound->extent);
        // Of queries and keys that have places no extent is known.
        if (forward && ((bound->extent == Extent::Queries &&
                         forward.hasPlace(Sequence::query)) ||
                        (bound->extent == Extent::Keys &&
                         forward.hasPlace(Sequence::key))))
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
  Value extents[] = {host.batch, host.heads, host.queries, host.keys,
                     constant(1)};
  static constexpr StringRef names[] = {"batches", "heads of q", "queries",
                                        "keys", "1"};
  // The verifier has looked at the place.
  FailureOr<AuxPlace> place = getAuxPlace(host.backward, number);
  for (auto [axis, index] : llvm::enumerate(place->indices)) {
    auto which = static_cast<unsigned>(index);
    Value extent = dim(aux, axis);
    // Static extents may be what no verifier has compared.
    std::optional<int64_t> own = getConstantIntValue(extent),
                           wanted = getConstantIntValue(extents[which]);
    if (extent != extents[which] && (!own || own != wanted))
      require(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, extent,
                                    extents[which]),
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
  int64_t rows = host.forward.getScaleRows(operand);
  if (rows == 0) {
    requireEqual(dim(scales, 2), constant(1),
                 kScaleNames[operand] +
                     " has more than one scale for a sequence");
    return;
  }
  Value length = operand == 0 ? host.queries : host.keys;
  Value blocks = arith::CeilDivSIOp::create(b, length, constant(rows));
  require(arith::CmpIOp::create(b, arith::CmpIPredicate::sge, dim(scales, 2),
                                blocks),
          kScaleNames[operand] + " has fewer scales than there are blocks of " +
              Twine(rows) + " rows");
}

void HostBuilder::cloneScalar(Operation &op) {
  auto extent = dyn_cast<tensor::DimOp>(op);
  if (!extent) {
    b.clone(op, host.values);
    return;
  }
  Value memref = host.values.lookup(extent.getSource());
  Value axis = host.values.lookup(extent.getIndex());
  host.values.map(extent.getResult(),
                  memref::DimOp::create(b, extent.getLoc(), memref, axis));
}

void HostBuilder::cloneScalar(Value value) {
  if (host.values.contains(value))
    return;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    cloneScalar(operand);
  cloneScalar(*op);
}

void HostBuilder::cloneScalars() {
  for (Operation &op : source.getBody().front().without_terminator()) {
    bool isDone =
        op.getNumResults() != 0 && host.values.contains(op.getResult(0));
    if (!isDone && !isa<ScoredOpInterface>(op) && !isPreparation(&op))
      cloneScalar(op);
  }
}

/// A list, which the caller gives memory for or the function allocates.
Value HostBuilder::provideList(HostBlockLists &lists, OpResult result) {
  static constexpr StringRef names[] = {"count", "index", "full_count",
                                        "full_index"},
                             dimensions[] = {"batches", "heads",
                                             "blocks of queries",
                                             "blocks of keys"};
  auto type = cast<RankedTensorType>(result.getType());
  StringRef name = names[result.getResultNumber()];
  Value argument = host.values.lookupOrNull(result);
  SmallVector<Value> extents = {lists.batch, lists.heads, lists.queryBlocks,
                                lists.keyBlocks};
  extents.resize(type.getRank());
  for (auto [axis, extent] : llvm::enumerate(extents)) {
    Value given = argument                  ? dim(argument, axis)
                  : type.isDynamicDim(axis) ? extent
                                            : constant(type.getDimSize(axis));
    std::optional<int64_t> own = getConstantIntValue(given),
                           wanted = getConstantIntValue(extent);
    if (given == extent || (own && own == wanted))
      continue;
    require(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, given, extent),
            name + " has another extent in dimension " + Twine(axis) +
                " than there are " + dimensions[axis]);
  }
  if (argument)
    return argument;
  Value memory = allocateWorkspace(b, type, extents, name);
  memory = memref::CastOp::create(
      b, getStridedType(type, type.getElementType()), memory);
  for (auto [axis, extent] : llvm::enumerate(extents))
    dims[{memory, axis}] = extent;
  host.values.map(result, memory);
  return memory;
}

void HostBuilder::buildBlockLists(HostBlockLists &lists) {
  ListBlocksOp op = lists.op;
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value value : captured)
    if (value.getType().isIntOrIndexOrFloat())
      cloneScalar(value);
  auto atLeast = [&](int64_t least, Value value) -> Value {
    if (std::optional<int64_t> number = getConstantIntValue(value))
      return constant(std::max(*number, least));
    return arith::MaxSIOp::create(b, value, constant(least));
  };
  for (auto [from, to] : {std::pair(op.getBatch(), &lists.batch),
                          {op.getHeads(), &lists.heads},
                          {op.getQueries(), &lists.queries},
                          {op.getKeys(), &lists.keys}}) {
    cloneScalar(from);
    Value number = host.values.lookup(from);
    // Extents are no less than 0.
    *to = number.getDefiningOp<memref::DimOp>() ? number : atLeast(0, number);
  }
  auto countBlocks = [&](Value rows, int64_t size) -> Value {
    if (std::optional<int64_t> number = getConstantIntValue(rows))
      return constant(std::max<int64_t>(llvm::divideCeil(*number, size), 1));
    return atLeast(1, arith::CeilDivSIOp::create(b, rows, constant(size)));
  };
  lists.queryBlocks = countBlocks(lists.queries, op.getSizes()[0]);
  lists.keyBlocks = countBlocks(lists.keys, op.getSizes()[1]);
  lists.count = provideList(lists, op->getResult(0));
  lists.index = provideList(lists, op->getResult(1));
  lists.fullCount = provideList(lists, op->getResult(2));
  lists.fullIndex = provideList(lists, op->getResult(3));
  Value extents[] = {lists.batch, lists.heads, lists.queries, lists.keys,
                     lists.heads};
  for (Value tensor : op.getAux()) {
    lists.aux.push_back(host.values.lookup(tensor));
    requireReads(op, tensor, lists.aux.back(), extents);
  }
}

/// Memory for what is not returned; checks of the shapes of what is.
void HostBuilder::buildQuantization(HostQuantization &quantization) {
  QuantizeOp op = quantization.op;
  Value source = host.values.lookup(op.getSource());
  SmallVector<Value, 4> extents;
  for (int64_t axis = 0; axis < 4; ++axis)
    extents.push_back(dim(source, axis));
  quantization.batch = extents[0];
  quantization.heads = extents[op.getHeadAxis()];
  quantization.rows = extents[op.getSequenceAxis()];
  Value blocks = constant(1);
  if (op.getRows())
    blocks = arith::CeilDivSIOp::create(b, quantization.rows,
                                        constant(op.getRows()));
  SmallVector<Value, 3> scaleExtents = {quantization.batch, quantization.heads,
                                        blocks};
  auto scaleType = cast<RankedTensorType>(op.getScales().getType());
  for (auto [axis, extent] : llvm::enumerate(scaleExtents)) {
    if (scaleType.isDynamicDim(axis))
      continue;
    Value own = extent;
    extent = constant(scaleType.getDimSize(axis));
    bool isShared = axis < 2 && scaleType.getDimSize(axis) == 1;
    if (!isShared)
      requireEqual(own, extent,
                   quantization.name + " has another extent than its scales, " +
                       Twine(scaleType.getDimSize(axis)) + " in dimension " +
                       Twine(axis));
  }

  auto provide = [&](Value result, ValueRange wanted, StringRef suffix) {
    auto type = cast<RankedTensorType>(result.getType());
    if (Value argument = host.values.lookupOrNull(result)) {
      for (auto [axis, extent] : llvm::enumerate(wanted))
        if (type.isDynamicDim(axis))
          requireEqual(dim(argument, axis), extent,
                       quantization.name + suffix +
                           " has another extent in dimension " + Twine(axis) +
                           " than " + quantization.name + " asks for");
      return argument;
    }
    Value memory =
        allocateWorkspace(b, type, wanted, quantization.name + suffix);
    memory = memref::CastOp::create(
        b, getStridedType(type, type.getElementType()), memory);
    for (auto [axis, extent] : llvm::enumerate(wanted))
      dims[{memory, axis}] = extent;
    host.values.map(result, memory);
    return memory;
  };
  quantization.source = view(source, op.getLayout());
  extents.back() = constant(op.getTerms() * op.getHeadDim());
  quantization.values =
      view(provide(op.getValues(), extents, "8"), op.getLayout());
  quantization.scales = provide(op.getScales(), scaleExtents, "_scale");
  if (op.getRotation())
    buildRotation(quantization);
}

/// The matrix that is given, or memory for it, shared by all that have the same
/// signs.
void HostBuilder::buildRotation(HostQuantization &quantization) {
  QuantizeOp op = quantization.op;
  Value given = host.values.lookup(op.getRotation());
  quantization.rotation = given;
  if (cast<MemRefType>(given.getType()).getRank() == 2)
    return;
  int64_t d = op.getHeadDim();
  auto type = RankedTensorType::get(
      {d, d},
      cast<RankedTensorType>(op.getSource().getType()).getElementType());
  Value &matrix = matrices[{given, type}];
  if (!matrix) {
    matrix = allocateWorkspace(b, type, {constant(d), constant(d)}, "rotation");
    quantization.signs = given;
  }
  quantization.rotation = matrix;
}

/// Memory for turned rows that are not returned; checks of the shape of what
/// is.
Value HostBuilder::provideRotated(HostUpdate &update, Layout layout) {
  RotaryOp op = update.rotary;
  RankedTensorType type = op.getResult().getType();
  Value source = host.values.lookup(op.getSource());
  SmallVector<Value, 4> extents;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    extents.push_back(dim(source, axis));
  if (Value argument = host.values.lookupOrNull(op.getResult())) {
    for (auto [axis, extent] : llvm::enumerate(extents))
      requireEqual(dim(argument, axis), extent,
                   update.name + "_rotated has another extent in dimension " +
                       Twine(axis) + " than " + update.name);
    return view(argument, layout);
  }
  Value memory = allocateWorkspace(b, type, extents, update.name + "_rotated");
  memory = memref::CastOp::create(
      b, getStridedType(type, type.getElementType()), memory);
  for (auto [axis, extent] : llvm::enumerate(extents))
    dims[{memory, axis}] = extent;
  host.values.map(op.getResult(), memory);
  return view(memory, layout);
}

void HostBuilder::buildAppend(HostUpdate &update, Layout layout) {
  AppendOp op = update.append;
  Value cache = host.values.lookup(op.getCache());
  int64_t rank = cast<MemRefType>(cache.getType()).getRank();
  update.target = view(cache, layout);
  update.first = host.values.lookup(op.getFirst());
  host.values.map(op.getResult(), cache);
  requireEqual(update.heads, dim(cache, AppendOp::getHeadAxis(layout, rank)),
               update.name + " and what is appended to it differ in heads");
  if (op.getPlace().empty())
    requireEqual(update.batch, dim(cache, 0),
                 update.name + " and what is appended to it differ in batch");
  requireEqual(dim(update.first, 0), update.batch,
               "there is not one first position for every batch of what is "
               "appended to " +
                   update.name);
  Value extents[] = {update.batch, update.heads, Value(), Value(),
                     update.heads};
  for (Value tensor : op.getAux()) {
    Value argument = host.values.lookup(tensor);
    update.aux.push_back(argument);
    requireReads(op, tensor, argument, extents);
    // Whatever a number says, an element is read.
    for (int64_t axis = 0, end = cast<MemRefType>(argument.getType()).getRank();
         axis < end; ++axis)
      if (!getConstantIntValue(dim(argument, axis)))
        require(arith::CmpIOp::create(b, arith::CmpIPredicate::sge,
                                      dim(argument, axis), constant(1)),
                "an array that says where keys of " + update.name +
                    " are has no elements in dimension " + Twine(axis));
  }
}

void HostBuilder::buildUpdate(HostUpdate &update) {
  RotaryOp rotary = update.rotary;
  Layout layout = rotary ? rotary.getLayout() : update.append.getLayout();
  Value source = host.values.lookup(rotary ? rotary.getSource()
                                           : update.append.getSource());
  update.batch = dim(source, 0);
  update.heads = dim(source, AppendOp::getHeadAxis(layout, 4));
  update.rows = dim(source, AppendOp::getRowAxis(layout, 4));
  update.source = view(source, layout);
  // One launch does all of them.
  requireEqual(host.updates.front().batch, update.batch,
               "what is turned or appended differs in batch");
  if (rotary) {
    update.cos = host.values.lookup(rotary.getCos());
    update.sin = host.values.lookup(rotary.getSin());
    update.angle = host.values.lookup(rotary.getFirst());
    requireEqual(dim(update.cos, 0), dim(update.sin, 0),
                 "cos and sin differ in positions");
    requireEqual(dim(update.angle, 0), update.batch,
                 "there is not one first position for every batch of " +
                     update.name);
    require(arith::CmpIOp::create(b, arith::CmpIPredicate::sge,
                                  dim(update.cos, 0), constant(1)),
            "cos and sin have no positions");
  }
  if (update.append) {
    buildAppend(update, layout);
    // Of a result that is nowhere, extents may be asked for.
    if (rotary && !host.values.contains(rotary.getResult()) &&
        !isInMemory(rotary))
      host.values.map(rotary.getResult(), source);
  } else {
    update.target = provideRotated(update, layout);
  }
}

Value HostBuilder::view(Value argument, Layout layout) {
  if (layout == Layout::bhsd)
    return argument;
  auto order = llvm::to_vector(
      llvm::seq<int64_t>(0, cast<MemRefType>(argument.getType()).getRank()));
  std::swap(order[order.size() - 3], order[order.size() - 2]);
  AffineMap map = AffineMap::getPermutationMap(order, b.getContext());
  return memref::TransposeOp::create(b, argument, AffineMapAttr::get(map));
}

/// A view of what holds the sequence where others hold the elements.
Value HostBuilder::viewTransposed(Value argument, Layout layout) {
  SmallVector<int64_t> order = {0, 1, 3, 2};
  if (layout == Layout::bshd)
    order = {0, 2, 3, 1};
  AffineMap map = AffineMap::getPermutationMap(order, b.getContext());
  return memref::TransposeOp::create(b, argument, AffineMapAttr::get(map));
}

void HostBuilder::build() {
  for (HostQuantization &quantization : host.quantizations)
    buildQuantization(quantization);
  for (HostUpdate &update : host.updates)
    buildUpdate(update);
  for (HostBlockLists &lists : host.blockLists)
    buildBlockLists(lists);
  if (host.forward)
    buildForward();
  else if (host.backward)
    buildBackward();
  else
    cloneScalars();
  func::ReturnOp::create(b);
}

void HostBuilder::buildScale() {
  ScoredOpInterface op = host.getScored();
  if (op.getScale()) {
    host.scale = host.values.lookup(op.getScale());
    if (!matchPattern(host.scale, m_Constant())) {
      Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
      require(
          arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, host.scale, zero),
          "scale is not positive");
      Value most =
          arith::ConstantOp::create(b, b.getF32FloatAttr(kGreatestScale));
      require(
          arith::CmpFOp::create(b, arith::CmpFPredicate::OLE, host.scale, most),
          "scale exceeds 2^27");
    }
  } else {
    double scale = 1 / std::sqrt(static_cast<double>(op.getHeadDim()));
    if (host.forward)
      if (FloatAttr literal = host.forward.getLiteralScaleAttr())
        scale = literal.getValueAsDouble();
    host.scale = arith::ConstantOp::create(
        b, b.getF32FloatAttr(static_cast<float>(scale)));
  }
}

void HostBuilder::buildBackward() {
  BackwardOp backward = host.backward;
  auto lookup = [&](Value value) { return host.values.lookup(value); };
  q = lookup(backward.getQ());
  k = lookup(backward.getK());
  v = lookup(backward.getV());
  o = lookup(backward.getO());
  lse = lookup(backward.getLse());
  Value outGrad = lookup(backward.getOutGrad());
  Value gradients[] = {lookup(backward.getDq()), lookup(backward.getDk()),
                       lookup(backward.getDv())};
  for (Value value : backward.getAux())
    host.aux.push_back(lookup(value));

  requireShapes();
  requireSame(q, outGrad, "q and do");
  if (backward.getLseGrad()) {
    host.lseGrad = lookup(backward.getLseGrad());
    requireSame(q, host.lseGrad, "q and dlse");
  }
  requireSame(q, gradients[0], "q and dq");
  requireSame(k, gradients[1], "k and dk");
  requireSame(v, gradients[2], "v and dv");
  for (unsigned i = 0, e = host.aux.size(); i < e; ++i)
    requireReads(i);
  for (auto [position, gradient] : llvm::enumerate(backward.getAuxGrads())) {
    host.auxGrads.push_back(lookup(gradient));
    requireAuxGradient(position);
  }
  cloneScalars();
  buildScale();

  Layout layout = backward.getLayout();
  host.q = view(q, layout);
  host.k = view(k, layout);
  host.v = view(v, layout);
  host.o = view(o, layout);
  host.lse = lse;
  host.outGrad = view(outGrad, layout);
  host.dq = view(gradients[0], layout);
  host.dk = view(gradients[1], layout);
  host.dv = view(gradients[2], layout);
}

void HostBuilder::buildForward() {
  ForwardOp forward = host.forward;
  auto lookup = [&](Value value) { return host.values.lookup(value); };
  q = lookup(forward.getQ());
  k = lookup(forward.getK());
  v = lookup(forward.getV());
  o = lookup(forward.getO());
  lse = host.values.lookupOrNull(forward.getLse());
  for (Value value : forward.getAux())
    host.aux.push_back(lookup(value));
  for (Value value : forward.getScales())
    host.scales.push_back(lookup(value));

  requireShapes();
  for (unsigned i = 0, e = host.scales.size(); i < e; ++i)
    requireScales(i);
  for (unsigned i = 0, e = host.aux.size(); i < e; ++i)
    requireReads(i);
  cloneScalars();

  if (forward.getSplits()) {
    host.splits = lookup(forward.getSplits());
    if (!getConstantIntValue(host.splits))
      require(arith::CmpIOp::create(b, arith::CmpIPredicate::sge, host.splits,
                                    constant(1)),
              "splits is less than 1");
  }
  if (forward.getSinks()) {
    host.sinks = lookup(forward.getSinks());
    requireEqual(dim(host.sinks, 0), host.heads,
                 "sinks has another number of heads than q");
  }
  if (forward.getMaxQ())
    host.maxQ = lookup(forward.getMaxQ());
  buildScale();

  host.q = view(q, forward.getLayout());
  host.k = view(k, forward.getLayout());
  host.v = forward.getTransposedV() ? viewTransposed(v, forward.getLayout())
                                    : view(v, forward.getLayout());
  host.o = view(o, forward.getLayout());
  host.lse = lse;
}

//===----------------------------------------------------------------------===//
// Entry
//===----------------------------------------------------------------------===//

FailureOr<HostFunction>
fa3::attention::createHostFunction(func::FuncOp function,
                                   const HostFunctionOptions &options) {
  HostFunction host;
  host.forward = findForward(function);
  if (!host.forward)
    host.backward = findBackward(function);
  if (!hasAttention(function))
    return function.emitError("expects to hold an 'attention.forward'");
  ScoredOpInterface op = host.getScored();
  if (failed(verifyForm(function, op)))
    return failure();

  SmallVector<HostArgument> arguments =
      collectArguments(function, op, options.outputType);
  if (op)
    nameTensors(op, arguments);
  auto quantizedNames = nameQuantized(function, host.forward, arguments);
  auto updateNames = nameUpdates(function, arguments);
  nameBlockLists(function, arguments);
  SmallVector<Type> types;
  SmallVector<Location> locs;
  SmallVector<DictionaryAttr> attributes;
  for (auto [number, argument] : llvm::enumerate(arguments)) {
    types.push_back(argument.type);
    locs.push_back(argument.loc);
    attributes.push_back(nameArgument(argument, number));
  }
  if (failed(verifyNames(function, attributes)))
    return failure();

  OpBuilder builder(function);
  host.function = func::FuncOp::create(
      builder, function.getLoc(), function.getName(),
      builder.getFunctionType(types, {}), function.getSymVisibilityAttr(),
      /*arg_attrs=*/nullptr, /*res_attrs=*/nullptr);
  host.function->setDiscardableAttrs(function->getDiscardableAttrDictionary());
  host.function.setAllArgAttrs(attributes);
  Block *block = builder.createBlock(&host.function.getBody(), {}, types, locs);

  unsigned number = 0;
  for (BlockArgument argument : function.getArguments())
    host.values.map(argument, block->getArgument(number++));
  auto ret = cast<func::ReturnOp>(function.getBody().front().getTerminator());
  for (Value value : ret.getOperands())
    host.values.map(value, block->getArgument(number++));
  for (auto op : function.getBody().getOps<QuantizeOp>()) {
    HostQuantization &quantization = host.quantizations.emplace_back();
    quantization.op = op;
    quantization.name = quantizedNames.lookup(op);
  }
  function.walk([&](Operation *op) {
    auto rotary = dyn_cast<RotaryOp>(op);
    auto append = dyn_cast<AppendOp>(op);
    if ((!rotary && !append) || (rotary && !isInMemory(rotary)))
      return;
    HostUpdate &update = host.updates.emplace_back();
    update.append = append;
    update.rotary = append ? getAppendedRotary(append) : rotary;
    update.name = updateNames.lookup(op);
  });
  for (auto op : function.getBody().getOps<ListBlocksOp>())
    host.blockLists.emplace_back().op = op;
  HostBuilder(host, function).build();
  return host;
}
