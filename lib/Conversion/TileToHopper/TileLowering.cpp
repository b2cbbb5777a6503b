//===- TileLowering.cpp - tile values become fragments --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "KernelLowering.h"
#include "fa3/Dialect/Tile/Analysis/AffineForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using namespace mlir;
using namespace fa3;

FailureOr<LinearLayout> KernelLowering::getLayout(Operation *op, Type type) {
  std::optional<LinearLayout> layout =
      tile::getLinearLayout(tile::getTileType(type));
  if (layout)
    return *layout;
  return op->emitOpError("has no lowering to hopper: ")
         << type << " has no register layout";
}

hopper::FragmentAttr KernelLowering::fragment(const LinearLayout &layout) {
  return hopper::FragmentAttr::get(b.getContext(), layout);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static bool isZero(Value value) {
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

Value KernelLowering::fenceInFrontOfLoop(Value lhs) {
  Value made = get(lhs);
  Operation *inner = made.getParentBlock()->findAncestorOpInBlock(
      *b.getInsertionBlock()->getParentOp());
  bool isInLoop = false;
  for (Operation *op = b.getInsertionBlock()->getParentOp(); inner && !isInLoop;
       op = op->getParentOp()) {
    isInLoop = isa<LoopLikeOpInterface>(op);
    if (op == inner)
      break;
  }
  if (!isInLoop)
    return {};
  Value &fenced = fencedOutside[made];
  if (!fenced) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(made);
    fenced = hopper::WgmmaFenceOp::create(b, made).getResults().front();
  }
  return fenced;
}

/// Whether an instruction multiplies such operands, K filled up to `k`.
static LogicalResult verifyProduct(tile::DotAsyncOp op,
                                   const tile::DotShape &shape, int64_t k,
                                   int64_t kStep) {
  constexpr int64_t kAnyColumns = 32; // of integers, at most
  Type element = tile::getTileType(op.getRhs().getType()).getElementType();
  int64_t nStep = !isa<FloatType>(element) && shape.n > kAnyColumns ? 16 : 8;
  // Columns that pad K in shared memory are zero on both sides.
  bool isPaddable = op.getRhsOrder() == tile::RhsOrder::nk &&
                    op.getLhsOrder() == tile::LhsOrder::mk &&
                    !isa<RankedTensorType>(op.getLhs().getType());
  if (shape.m % 64 == 0 && shape.n % nStep == 0 && shape.n <= 256 &&
      (k == shape.k || isPaddable))
    return success();
  return op.emitOpError("has no wgmma: expects m a multiple of 64, n a "
                        "multiple of ")
         << nStep << " up to 256, and k a multiple of " << kStep
         << " unless it runs along the columns of both operands, "
         << "got " << shape.m << ", " << shape.n << " and " << shape.k;
}

/// Whether the layout of a left operand in registers is what the instruction
/// reads.
LogicalResult KernelLowering::verifyLhsLayout(tile::DotAsyncOp op,
                                              const tile::DotShape &shape) {
  RankedTensorType tile = tile::getTileType(op.getLhs().getType());
  std::optional<LinearLayout> expected =
      LinearLayout::operandA(shape.m, shape.k, tile.getElementTypeBitWidth());
  FailureOr<LinearLayout> layout = getLayout(op, tile);
  if (failed(layout))
    return failure();
  if (op.getLhsOrder() == tile::LhsOrder::mk && expected &&
      *expected == *layout)
    return success();
  return op.emitOpError("has no wgmma: the layout of lhs in registers is "
                        "not that of the A operand, and no conversion "
                        "exists");
}

LogicalResult KernelLowering::placeConstant(tile::DotAsyncOp op) {
  DenseElementsAttr constant;
  if (!matchPattern(op.getRhs(), m_Constant(&constant)))
    return success();
  auto it = constants.find(constant);
  if (it == constants.end())
    return op.emitOpError("has no wgmma: expects products with constants in "
                          "groups");
  const Ring *ring = it->second.get();
  views[op.getRhs()] = {ring,   &ring->fields.front(),
                        i32(0), i32(0),
                        i32(0), tile::getTileType(op.getRhs().getType())};
  return success();
}

Value KernelLowering::describe(Value operand, bool isKMajor) {
  const View &view = views[operand];
  auto major = isKMajor ? hopper::Major::k : hopper::Major::mn;
  auto type = hopper::DescType::get(b.getContext(), view.memory->type.getRows(),
                                    view.tile.getElementType(),
                                    view.memory->type.getSwizzle(), major);
  return hopper::DescOp::create(b, type, view.memory->buffer, view.index,
                                view.row, view.column);
}

/// The left operand in registers behind a fence that stands already; null if
/// there is none.
Value KernelLowering::getFencedLhs(Value lhs) {
  // Products before this one may still read what they share with it.
  if (lhs == lastLhs && fencedLhs.getParentBlock() == b.getInsertionBlock())
    return fencedLhs;
  if (lhs.getDefiningOp<tile::ReadOp>())
    return get(lhs);
  return fenceInFrontOfLoop(lhs);
}

/// What a product adds to: null for zero, since the first step ignores
/// registers.
Value KernelLowering::getStart(Value acc) {
  if (auto pend = acc.getDefiningOp<tile::PendOp>();
      pend && isZero(pend.getValue()))
    acc = pend.getValue();
  return isZero(acc) ? Value() : values[acc].front();
}

/// Fences the registers of a product that no fence stands in front of yet.
void KernelLowering::fenceOperands(tile::DotAsyncOp op, Value &lhs,
                                   bool isFenced, Value &start) {
  bool fencesStart = start && isa<VectorType>(start.getType());
  SmallVector<Value> registers;
  if (!isFenced)
    registers.push_back(lhs);
  if (fencesStart)
    registers.push_back(start);
  auto fence = hopper::WgmmaFenceOp::create(b, registers);
  if (!isFenced) {
    lhs = fence.getResults().front();
    lastLhs = op.getLhs();
    fencedLhs = lhs;
  }
  if (fencesStart)
    start = fence.getResults().back();
}

LogicalResult KernelLowering::lowerDot(tile::DotAsyncOp op) {
  RankedTensorType lhsTile = tile::getTileType(op.getLhs().getType());
  RankedTensorType rhsTile = tile::getTileType(op.getRhs().getType());
  tile::DotShape shape =
      tile::getDotShape(lhsTile, rhsTile, op.getLhsOrder(), op.getRhsOrder());
  int64_t kStep = 256 / rhsTile.getElementTypeBitWidth();
  int64_t k = llvm::alignTo(shape.k, kStep);
  if (failed(verifyProduct(op, shape, k, kStep)) || failed(placeConstant(op)))
    return failure();

  Value rhs = describe(op.getRhs(), op.getRhsOrder() == tile::RhsOrder::nk);
  bool isFenced = true;
  Value lhs;
  if (isa<RankedTensorType>(op.getLhs().getType())) {
    lhs = getFencedLhs(op.getLhs());
    isFenced = lhs != nullptr;
    if (!isFenced)
      lhs = get(op.getLhs());
    if (failed(verifyLhsLayout(op, shape)))
      return failure();
  } else {
    lhs = describe(op.getLhs(), op.getLhsOrder() == tile::LhsOrder::mk);
  }
  Value start = getStart(op.getAcc());
  fenceOperands(op, lhs, isFenced, start);

  SmallVector<Type> types;
  if (failed(convertType(op.getLoc(), op.getResult().getType(), types)))
    return failure();
  Value result = hopper::WgmmaOp::create(b, types.front(), lhs, rhs, start,
                                         shape.m, shape.n, k);
  Value group = hopper::WgmmaCommitOp::create(b).getGroup();
  set(op.getResult(), {result, group});
  set(op.getDone(), group);
  return success();
}

LogicalResult KernelLowering::lowerPend(tile::PendOp op) {
  SmallVector<Type> types;
  if (failed(convertType(op.getLoc(), op.getResult().getType(), types)))
    return failure();
  set(op.getResult(),
      {hopper::InflightReadyOp::create(b, types.front(), get(op.getValue())),
       hopper::GroupReadyOp::create(b)});
  return success();
}

LogicalResult KernelLowering::lowerAwait(tile::AwaitOp op) {
  const Values &pending = values[op.getPending()];
  auto wait = hopper::WgmmaWaitOp::create(b, ValueRange{pending[1]},
                                          ValueRange{pending[0]},
                                          get(op.getKeep()), IntegerAttr());
  set(op.getResult(), wait.getResults().front());
  for (auto [from, to] :
       llvm::zip(op.getKept(), wait.getResults().drop_front()))
    set(from, to);
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions, broadcasts, coordinates
//===----------------------------------------------------------------------===//

/// Registers of `source` rearranged so that register r of `to` holds what its
/// element, without dimension `dim`, has in `from`.
Value KernelLowering::shuffleLike(Value source, const LinearLayout &from,
                                  const LinearLayout &to, int64_t dim) {
  std::map<int64_t, int64_t> registerOf;
  for (int64_t r = 0; r < from.getNumRegisters(); ++r)
    registerOf[from.getRegisterOffset(r).front()] = r;
  SmallVector<int64_t> mask;
  for (int64_t r = 0; r < to.getNumRegisters(); ++r)
    mask.push_back(registerOf.at(to.getRegisterOffset(r)[1 - dim]));
  return vector::ShuffleOp::create(b, source, source, mask);
}

LogicalResult KernelLowering::lowerBroadcast(tile::BroadcastOp op) {
  FailureOr<LinearLayout> from = getLayout(op, op.getSource().getType());
  FailureOr<LinearLayout> to = getLayout(op, op.getResult().getType());
  if (failed(from) || failed(to))
    return failure();
  if (to->slice(op.getDim()) != *from)
    return op.emitOpError("has no lowering to hopper: the layout of the "
                          "operand is not a slice of the result's");
  set(op.getResult(),
      shuffleLike(get(op.getSource()), *from, *to, op.getDim()));
  return success();
}

LogicalResult KernelLowering::lowerReduce(tile::ReduceOp op) {
  FailureOr<LinearLayout> layout = getLayout(op, op.getSource().getType());
  FailureOr<LinearLayout> target = getLayout(op, op.getResult().getType());
  if (failed(layout) || failed(target))
    return failure();
  int64_t dim = op.getDim();
  if (layout->crossesWarpsAlong(dim))
    return op.emitOpError("has no lowering to hopper: the dimension is spread "
                          "over warps");
  SmallVector<Type> types;
  if (failed(convertType(op.getLoc(), op.getResult().getType(), types)))
    return failure();
  auto kind = op.getKind() == tile::ReduceKind::add ? hopper::Combine::add
                                                    : hopper::Combine::max;
  Value result = hopper::FragmentReduceOp::create(
      b, types.front(), kind, get(op.getSource()), dim,
      op.getModuloAttr() ? op.getModuloAttr() : IntegerAttr(),
      fragment(*layout));
  if (!op.getModulo()) {
    SmallVector<int64_t> bits;
    for (unsigned bit : layout->getLaneBitsAlong(dim))
      bits.push_back(bit);
    result =
        hopper::LaneReduceOp::create(b, result.getType(), kind, result, bits);
  }
  if (op.getInit()) {
    Value init = get(op.getInit());
    result = kind == hopper::Combine::add
                 ? arith::AddFOp::create(b, result, init).getResult()
                 : arith::MaxNumFOp::create(b, result, init).getResult();
  }
  set(op.getResult(), result);
  return success();
}

LogicalResult
KernelLowering::lowerRenamed(Operation *op,
                             std::optional<LinearLayout> renamed) {
  Value result = op->getResult(0);
  FailureOr<LinearLayout> to = getLayout(op, result.getType());
  if (failed(to))
    return failure();
  std::optional<SmallVector<int64_t>> registers;
  if (renamed)
    registers = to->getRegistersIn(*renamed);
  if (!registers)
    return op->emitOpError("has no lowering to hopper: elements would have to "
                           "go to other threads");
  Value source = get(op->getOperand(0));
  if (!llvm::equal(*registers, llvm::seq<int64_t>(0, registers->size())))
    source = vector::ShuffleOp::create(b, source, source, *registers);
  set(result, source);
  return success();
}

LogicalResult KernelLowering::lowerRelabel(tile::RelabelOp op) {
  FailureOr<LinearLayout> from = getLayout(op, op.getSource().getType());
  if (failed(from))
    return failure();
  return lowerRenamed(op, from->relabeled(op.getDim(), op.getBits()));
}

LogicalResult KernelLowering::lowerTranspose(tile::TransposeOp op) {
  FailureOr<LinearLayout> from = getLayout(op, op.getSource().getType());
  if (failed(from))
    return failure();
  return lowerRenamed(op, from->transposed());
}

/// The registers that hold the part, which every thread has for itself.
LogicalResult KernelLowering::lowerSlice(tensor::ExtractSliceOp op) {
  FailureOr<LinearLayout> from = getLayout(op, op.getSource().getType());
  FailureOr<LinearLayout> to = getLayout(op, op.getResult().getType());
  if (failed(from) || failed(to))
    return failure();
  auto refuse = [&] {
    return op.emitOpError("has no lowering to hopper: expects a part that "
                          "every thread holds of its own elements");
  };
  if (!op.getOffsets().empty() || !op.hasUnitStride() ||
      from->getRank() != to->getRank() ||
      from->getLaneBases() != to->getLaneBases() ||
      from->getWarpBases() != to->getWarpBases())
    return refuse();
  std::map<LinearLayout::Basis, int64_t> registerOf;
  for (int64_t r = 0; r < from->getNumRegisters(); ++r)
    registerOf[from->getRegisterOffset(r)] = r;
  SmallVector<int64_t> mask;
  for (int64_t r = 0; r < to->getNumRegisters(); ++r) {
    LinearLayout::Basis offset = to->getRegisterOffset(r);
    for (auto [extent, start] : llvm::zip(offset, op.getStaticOffsets()))
      extent += start;
    auto it = registerOf.find(offset);
    if (it == registerOf.end())
      return refuse();
    mask.push_back(it->second);
  }
  Value source = get(op.getSource());
  set(op.getResult(),
      vector::ShuffleOp::create(b, source, source, mask).getResult());
  return success();
}

LogicalResult KernelLowering::lowerCoord(tile::CoordOp op) {
  FailureOr<LinearLayout> layout = getLayout(op, op.getResult().getType());
  SmallVector<Type> types;
  if (failed(layout) ||
      failed(convertType(op.getLoc(), op.getResult().getType(), types)))
    return failure();
  set(op.getResult(),
      hopper::CoordOp::create(b, types.front(), op.getDim(),
                              get(op.getOffset()), fragment(*layout))
          .getResult());
  return success();
}

/// The quotients, or remainders, of coordinates along the first dimension by a
/// power of two are those along one of two dimensions that take its place:
/// registers of a thread are then constants apart. Nothing for other divisions.
std::optional<LogicalResult> KernelLowering::lowerCoordDivision(Operation *op) {
  auto coord = op->getOperand(0).getDefiningOp<tile::CoordOp>();
  APInt constant;
  if (!coord || coord.getDim() != 0 ||
      !matchPattern(op->getOperand(1), m_ConstantInt(&constant)))
    return std::nullopt;
  int64_t divisor = constant.getSExtValue();
  int64_t extent = coord.getResult().getType().getDimSize(0);
  tile::AffineForm first = tile::getAffineForm(coord.getOffset());
  if (divisor <= 0 || !llvm::isPowerOf2_64(divisor) || extent % divisor ||
      !tile::provesMultipleOf(first, divisor) ||
      !tile::provesNonNegative(first))
    return std::nullopt;
  FailureOr<LinearLayout> layout = getLayout(op, op->getResult(0).getType());
  SmallVector<Type> types;
  if (failed(layout) ||
      failed(convertType(op->getLoc(), op->getResult(0).getType(), types)))
    return failure();
  bool isQuotient = isa<arith::DivUIOp>(op);
  Value offset = i32(0);
  if (isQuotient)
    offset =
        b.createOrFold<arith::DivUIOp>(get(coord.getOffset()), i32(divisor));
  set(op->getResult(0),
      hopper::CoordOp::create(b, types.front(), isQuotient ? 0 : 1, offset,
                              fragment(layout->folded(divisor)))
          .getResult());
  return success();
}

LogicalResult KernelLowering::lowerWhere(tile::WhereOp op) {
  Value condition = get(op.getCondition());
  SmallVector<Value> otherwise = llvm::map_to_vector(
      op.getOtherwise(), [&](Value value) { return get(value); });
  Value any = hopper::VoteAnyOp::create(b, b.getI1Type(), condition);
  auto branch = hopper::WarpIfOp::create(b, TypeRange(ValueRange(otherwise)),
                                         any, otherwise);
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&branch.getBody());
  if (failed(lowerBlock(op.getBody().front())))
    return failure();
  b.setLoc(op.getLoc());
  FailureOr<LinearLayout> from = getLayout(op, op.getCondition().getType());
  if (failed(from))
    return failure();
  SmallVector<Value> merged;
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    FailureOr<LinearLayout> to =
        getLayout(op, cast<RankedTensorType>(result.getType()));
    if (failed(to))
      return failure();
    Value chosen = from->getRank() < to->getRank()
                       ? shuffleLike(condition, *from, *to, 1)
                       : condition;
    merged.push_back(arith::SelectOp::create(
        b, chosen, get(op.getYield().getOperand(i)), otherwise[i]));
    set(result, branch.getResult(i));
  }
  hopper::YieldOp::create(b, merged);
  return success();
}

LogicalResult KernelLowering::lowerDivision(Operation *op) {
  std::optional<LogicalResult> done = lowerCoordDivision(op);
  return done ? *done : lowerGeneric(op);
}

void KernelLowering::addTiles(Lowerings &lowerings) {
  lowerings.add(&KernelLowering::lowerDot);
  lowerings.add(&KernelLowering::lowerPend);
  lowerings.add(&KernelLowering::lowerAwait);
  lowerings.add(&KernelLowering::lowerReduce);
  lowerings.add(&KernelLowering::lowerBroadcast);
  lowerings.add(&KernelLowering::lowerRelabel);
  lowerings.add(&KernelLowering::lowerTranspose);
  lowerings.add(&KernelLowering::lowerUnpack);
  lowerings.add(&KernelLowering::lowerSlice);
  lowerings.add(&KernelLowering::lowerCoord);
  lowerings.addAll<arith::DivUIOp, arith::RemUIOp>(
      &KernelLowering::lowerDivision);
  lowerings.add(&KernelLowering::lowerWhere);
}
