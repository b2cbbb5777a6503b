//===- RepeatedElements.cpp - registers of a thread that are alike --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Integers of coordinates that several registers of a thread have in common are
// computed once: the number of a block of rows, or a random number for it. Such
// a vector is a shuffle of a narrower one, and so is what integer arithmetic
// makes of several of them.
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "fa3/Dialect/Tile/Analysis/AffineForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include <map>

using namespace mlir;
using namespace fa3;

namespace {
/// Bits of coordinates: (coord >> shift) & mask.
struct CoordBits {
  tile::CoordOp coord;
  unsigned shift = 0;
  std::optional<uint32_t> mask;

  uint32_t apply(uint32_t value) const {
    value >>= shift;
    return mask ? value & *mask : value;
  }
};

/// A vector whose element r is element mask[r] of a narrower one, or a scalar
/// in all of them.
struct Repetition {
  Value source;
  SmallVector<int64_t> mask;
};
} // namespace

/// The bits that a chain of shifts and masks by constants takes of coordinates.
static std::optional<CoordBits> getCoordBits(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto coord = dyn_cast<tile::CoordOp>(op))
    return CoordBits{coord};
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    Type from = getElementTypeOrSelf(op->getOperand(0).getType()),
         to = getElementTypeOrSelf(value.getType());
    if ((from.isIndex() && to.isInteger(32)) ||
        (from.isInteger(32) && to.isIndex()))
      return getCoordBits(op->getOperand(0));
    return std::nullopt;
  }
  APInt constant;
  if (!isa<arith::ShRUIOp, arith::AndIOp>(op) ||
      !matchPattern(op->getOperand(1), m_ConstantInt(&constant)) ||
      !constant.isIntN(32))
    return std::nullopt;
  std::optional<CoordBits> bits = getCoordBits(op->getOperand(0));
  if (!bits)
    return std::nullopt;
  auto number = static_cast<uint32_t>(constant.getZExtValue());
  if (isa<arith::AndIOp>(op)) {
    bits->mask = bits->mask ? *bits->mask & number : number;
    return bits;
  }
  if (number >= 32 || bits->shift + number >= 32)
    return std::nullopt;
  bits->shift += number;
  if (bits->mask)
    bits->mask = *bits->mask >> number;
  return bits;
}

/// What lanes and warps add to the coordinate, as bits, if these are theirs
/// alone.
static std::optional<uint32_t> getThreadBits(const LinearLayout &layout,
                                             unsigned dim) {
  uint32_t bits = 0;
  for (ArrayRef<LinearLayout::Basis> bases :
       {layout.getLaneBases(), layout.getWarpBases()})
    for (const LinearLayout::Basis &basis : bases) {
      auto own = static_cast<uint32_t>(basis[dim]);
      if (bits & own)
        return std::nullopt;
      bits |= own;
    }
  for (int64_t r = 0; r < layout.getNumRegisters(); ++r)
    if (bits & static_cast<uint32_t>(layout.getRegisterOffset(r)[dim]))
      return std::nullopt;
  return bits;
}

/// The classes of equal keys: the first member of each, and the class of each
/// key.
template <typename Key>
static SmallVector<int64_t> classify(ArrayRef<Key> keys,
                                     SmallVectorImpl<int64_t> &classOf) {
  std::map<Key, int64_t> classes;
  SmallVector<int64_t> first;
  for (auto [i, key] : llvm::enumerate(keys)) {
    auto [it, isNew] = classes.try_emplace(key, first.size());
    if (isNew)
      first.push_back(i);
    classOf.push_back(it->second);
  }
  return first;
}

bool KernelLowering::lowerCoordBits(Operation *op) {
  std::optional<CoordBits> bits = getCoordBits(op->getResult(0));
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!bits || !type || type.getRank() != 1)
    return false;
  // Low bits of the offset are 0: it adds nothing to those of the element, and
  // nothing at all where only these are wanted.
  tile::AffineForm first = tile::getAffineForm(bits->coord.getOffset());
  unsigned width = bits->mask ? 32 - llvm::countl_zero(*bits->mask) : 32;
  bool isLow =
      bits->shift + width < 31 &&
      tile::provesMultipleOf(first, int64_t(1) << (bits->shift + width));
  if (!isLow &&
      (bits->mask || !tile::provesMultipleOf(first, int64_t(1) << bits->shift)))
    return false;
  std::optional<LinearLayout> layout =
      tile::getLinearLayout(bits->coord.getResult().getType());
  unsigned dim = bits->coord.getDim();
  std::optional<uint32_t> ofThread;
  if (layout)
    ofThread = getThreadBits(*layout, dim);
  if (!ofThread)
    return false;
  SmallVector<int32_t> parts;
  for (int64_t r = 0; r < layout->getNumRegisters(); ++r)
    parts.push_back(static_cast<int32_t>(
        bits->apply(static_cast<uint32_t>(layout->getRegisterOffset(r)[dim]))));
  SmallVector<int64_t> classOf;
  SmallVector<int64_t> members = classify(ArrayRef<int32_t>(parts), classOf);
  if (members.size() == parts.size())
    return false;

  Type i32Type = b.getI32Type();
  int64_t count = members.size();
  auto narrow = VectorType::get(count, i32Type);
  auto constants =
      llvm::map_to_vector(members, [&](int64_t r) { return parts[r]; });
  Value sum = arith::ConstantOp::create(
      b, DenseElementsAttr::get(narrow, ArrayRef<int32_t>(constants)));
  auto add = [&](Value term) { sum = arith::AddIOp::create(b, term, sum); };
  if (bits->apply(*ofThread) != 0) {
    // Register 0 is at the coordinate that the thread has.
    auto all = VectorType::get(layout->getNumRegisters(), i32Type);
    Value coords =
        hopper::CoordOp::create(b, all, dim, i32(0), fragment(*layout));
    Value own = vector::ShuffleOp::create(b, coords, coords,
                                          SmallVector<int64_t>(count, 0));
    auto splat = [&](uint32_t value) -> Value {
      return arith::ConstantOp::create(
          b, DenseElementsAttr::get(
                 narrow, b.getI32IntegerAttr(static_cast<int32_t>(value))));
    };
    if (bits->shift)
      own = arith::ShRUIOp::create(b, own, splat(bits->shift));
    if (bits->mask)
      own = arith::AndIOp::create(b, own, splat(*bits->mask));
    add(own);
  }
  if (!isLow) {
    Value offset = get(bits->coord.getOffset());
    if (bits->shift)
      offset = arith::ShRUIOp::create(b, offset, i32(bits->shift));
    add(vector::BroadcastOp::create(b, narrow, offset));
  }
  set(op->getResult(0),
      vector::ShuffleOp::create(b, sum, sum, classOf).getResult());
  return true;
}

/// How a vector repeats what it is made of; none if nothing says it does.
static Repetition getRepetition(Value vector) {
  auto type = cast<VectorType>(vector.getType());
  Repetition result{
      vector, llvm::to_vector(llvm::seq<int64_t>(0, type.getNumElements()))};
  while (auto shuffle = result.source.getDefiningOp<vector::ShuffleOp>()) {
    if (shuffle.getV1() != shuffle.getV2() ||
        llvm::is_contained(shuffle.getMask(), -1))
      break;
    result.source = shuffle.getV1();
    int64_t size = cast<VectorType>(result.source.getType()).getNumElements();
    for (int64_t &element : result.mask)
      element = shuffle.getMask()[element] % size;
  }
  bool isSplat = matchPattern(result.source, m_Constant()) && [&] {
    DenseElementsAttr elements;
    return matchPattern(result.source, m_Constant(&elements)) &&
           elements.isSplat();
  }();
  auto broadcast = result.source.getDefiningOp<vector::BroadcastOp>();
  isSplat |= broadcast && !isa<VectorType>(broadcast.getSourceType());
  if (isSplat)
    llvm::fill(result.mask, 0);
  return result;
}

bool KernelLowering::lowerRepeated(Operation *op, ValueRange operands,
                                   Type resultType) {
  auto type = dyn_cast<VectorType>(resultType);
  auto isIntegers = [&](Type other) {
    auto vector = dyn_cast<VectorType>(other);
    return vector && type && vector.getShape() == type.getShape() &&
           vector.getElementType().isInteger();
  };
  if (!isIntegers(resultType) || !llvm::all_of(operands.getTypes(), isIntegers))
    return false;
  auto repetitions = llvm::map_to_vector(operands, getRepetition);
  SmallVector<std::vector<int64_t>> keys(type.getNumElements());
  for (const Repetition &repetition : repetitions)
    for (auto [key, element] : llvm::zip(keys, repetition.mask))
      key.push_back(element);
  SmallVector<int64_t> classOf;
  SmallVector<int64_t> members =
      classify(ArrayRef<std::vector<int64_t>>(keys), classOf);
  int64_t count = members.size();
  if (count > type.getNumElements() / 2)
    return false;
  SmallVector<Value> narrow;
  for (const Repetition &repetition : repetitions) {
    auto mask = llvm::map_to_vector(
        members, [&](int64_t member) { return repetition.mask[member]; });
    auto source = cast<VectorType>(repetition.source.getType());
    bool isWhole = source.getNumElements() == count &&
                   llvm::equal(mask, llvm::seq<int64_t>(0, count));
    narrow.push_back(isWhole
                         ? repetition.source
                         : vector::ShuffleOp::create(b, repetition.source,
                                                     repetition.source, mask)
                               .getResult());
  }
  OperationState state(op->getLoc(), op->getName(), narrow,
                       VectorType::get(count, type.getElementType()),
                       op->getAttrs());
  Value result = b.create(state)->getResult(0);
  set(op->getResult(0),
      vector::ShuffleOp::create(b, result, result, classOf).getResult());
  return true;
}
