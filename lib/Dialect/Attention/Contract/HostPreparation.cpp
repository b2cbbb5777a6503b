//===- HostPreparation.cpp - what runs in front of attention --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Quantizations, rotations, appends to a cache and lists of blocks: their
// extents, checks, and memory for what is not returned.
//===----------------------------------------------------------------------===//

#include "HostBuilder.h"
#include "fa3/Dialect/Attention/Contract/Captures.h"
#include "fa3/Dialect/Attention/IR/BlockLists.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::attention;

/// A list, which the caller gives memory for or the function allocates.
Value HostBuilder::provideList(HostBlockLists &lists, OpResult result) {
  static constexpr StringRef dimensions[] = {
      "batches", "heads", "blocks of queries", "blocks of keys"};
  auto type = cast<RankedTensorType>(result.getType());
  StringRef name = kListNames[result.getResultNumber()];
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
  for (Value value : getCapturedScalars(op.getOperation()))
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
  if (!op.findPlace())
    requireEqual(update.batch, dim(cache, 0),
                 update.name + " and what is appended to it differ in batch");
  requireEqual(dim(update.first, 0), update.batch,
               "there is not one first position for every batch of what is "
               "appended to " +
                   update.name);
  if (op.getScales()) {
    update.scales = host.values.lookup(op.getScales());
    Value extents[] = {update.batch, update.heads, constant(1)};
    for (auto [axis, extent] : llvm::enumerate(extents))
      if (Value own = dim(update.scales, axis); getConstantIntValue(own) != 1)
        requireEqual(own, extent,
                     "scales of " + update.name +
                         " and what is appended to "
                         "it differ in dimension " +
                         Twine(axis));
  }
  Value extents[] = {update.batch, update.heads, Value(), Value(),
                     update.heads};
  for (Value tensor : op.getAux()) {
    Value argument = host.values.lookup(tensor);
    update.aux.push_back(argument);
    requireReads(op, tensor, argument, extents);
    // Whatever a number says, an element is read.
    for (int64_t axis = 0, end = cast<MemRefType>(argument.getType()).getRank();
         axis < end; ++axis)
      if (!getConstantIntValue(dim(argument, axis))) {
        Value one = constant(1);
        require(arith::CmpIOp::create(b, arith::CmpIPredicate::sge,
                                      dim(argument, axis), one),
                "an array that says where keys of " + update.name +
                    " are has no elements in dimension " + Twine(axis));
      }
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
    Value sines = dim(update.sin, 0), cosines = dim(update.cos, 0);
    requireEqual(cosines, sines, "cos and sin differ in positions");
    requireEqual(dim(update.angle, 0), update.batch,
                 "there is not one first position for every batch of " +
                     update.name);
    Value one = constant(1);
    require(arith::CmpIOp::create(b, arith::CmpIPredicate::sge, cosines, one),
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
