//===- RelabelContractions.cpp - tile-relabel-contractions ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Utils.h"
#include "PartialSums.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

namespace fa3::tile {
#define GEN_PASS_DEF_RELABELCONTRACTIONS
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

using Basis = LinearLayout::Basis;

/// Matches bits of the coordinate along `dim` of two lists of bases that agree
/// elsewhere: bit target[i] of `to` is bit source[i] of `from`.
static bool matchBases(ArrayRef<Basis> from, ArrayRef<Basis> to, unsigned dim,
                       SmallVectorImpl<int64_t> &bitOf) {
  if (from.size() != to.size())
    return false;
  for (auto [a, b] : llvm::zip(from, to)) {
    if (a[1 - dim] != b[1 - dim] || (a[dim] == 0) != (b[dim] == 0))
      return false;
    if (a[dim] == 0)
      continue;
    unsigned target = llvm::Log2_64(b[dim]);
    if (bitOf.size() <= target)
      bitOf.resize(target + 1, -1);
    bitOf[target] = llvm::Log2_64(a[dim]);
  }
  return true;
}

/// The permutation of coordinate bits along `dim` after which a tile of layout
/// `from` is one of layout `to`, up to the order of registers. Empty if there
/// is none.
static std::optional<SmallVector<int64_t>>
findRelabeling(const LinearLayout &from, const LinearLayout &to, unsigned dim) {
  SmallVector<int64_t> bitOf;
  if (!matchBases(from.getLaneBases(), to.getLaneBases(), dim, bitOf) ||
      !matchBases(from.getWarpBases(), to.getWarpBases(), dim, bitOf))
    return std::nullopt;
  // Registers may be renamed: what moves along `dim` is matched in order.
  auto alongDim = [&](ArrayRef<Basis> bases) {
    SmallVector<Basis> result;
    for (const Basis &basis : bases)
      if (basis[dim])
        result.push_back(basis);
    return result;
  };
  if (!matchBases(alongDim(from.getRegisterBases()),
                  alongDim(to.getRegisterBases()), dim, bitOf))
    return std::nullopt;
  // Bits that stay need not be mentioned.
  while (!bitOf.empty() &&
         bitOf.back() == static_cast<int64_t>(bitOf.size()) - 1)
    bitOf.pop_back();
  if (!isPermutationVector(bitOf))
    return std::nullopt;
  std::optional<LinearLayout> relabeled = from.relabeled(dim, bitOf);
  if (!relabeled || !to.getRegistersIn(*relabeled))
    return std::nullopt;
  return bitOf;
}

/// Whether a tile depends on the result of a product: it is computed in
/// registers, in the layout of an accumulator.
static bool isComputed(Value value) {
  SmallVector<Value> worklist = {value};
  llvm::DenseSet<Operation *> seen;
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (isa<DotOp>(op))
      return true;
    llvm::append_range(worklist, op->getOperands());
  }
  return false;
}

/// Whether the layout of a tile follows from that of an accumulator: it depends
/// on a product or, if its own product is not used, on statistics of rows,
/// which loops carry beside the accumulator that they belong to.
static bool isTiedToAccumulator(Value value) {
  SmallVector<Value> worklist = {value};
  llvm::DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    if (!isTile(next.getType()) || !seen.insert(next).second)
      continue;
    Operation *op = next.getDefiningOp();
    if (op ? isa<DotOp, ReduceOp>(op)
           : isa<scf::ForOp>(next.getParentBlock()->getParentOp()))
      return true;
    if (!op)
      continue;
    llvm::append_range(worklist, op->getOperands());
  }
  return false;
}

/// Relabels a tile in front of the conversions that make it: they work on
/// neighboring registers, which are those that the operand has side by side.
static void relabelSource(OpOperand &operand, ArrayRef<int64_t> bits,
                          unsigned dim) {
  Operation *op = operand.get().getDefiningOp();
  if (op && isElementwise(op) && op->getNumOperands() == 1 && op->hasOneUse())
    return relabelSource(op->getOpOperand(0), bits, dim);
  OpBuilder builder(operand.getOwner());
  operand.set(RelabelOp::create(builder, operand.getOwner()->getLoc(),
                                operand.get().getType(), operand.get(), dim,
                                bits));
}

//===----------------------------------------------------------------------===//
// The order of the rows of another operand
//===----------------------------------------------------------------------===//

namespace {
/// Computes a tile with its columns in another order, by giving that order to
/// the rows of an operand of the product that it depends on.
class ColumnReorder {
public:
  explicit ColumnReorder(SmallVector<int64_t> bits) : bits(std::move(bits)) {}

  /// Whether that can be done for the operand and all that depends on the
  /// product.
  bool prepare(OpOperand &tile);
  /// Gives the operand the new order, and lets the other users of what was
  /// reordered use the new values.
  void build(OpOperand &tile);

private:
  bool collect(Value value);
  Value reorder(Value value);

  SmallVector<int64_t> bits;
  /// Operations that are repeated in the new order, in their own order.
  llvm::SetVector<Operation *> repeated;
  llvm::DenseMap<Value, Value> reordered;
  /// Right operands of products with their rows in the new order.
  llvm::DenseMap<Value, Value> rowsOf;
  SmallVector<OpOperand *> reductions;
};
} // namespace

bool ColumnReorder::collect(Value value) {
  RankedTensorType type = getTileType(value.getType());
  if (!type || isSameAlongRows(value) || !isComputed(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (type.getRank() != 2 || !op)
    return false;
  if (repeated.contains(op))
    return true;
  if (auto dot = dyn_cast<DotOp>(op)) {
    auto load = dot.getRhs().getDefiningOp<LoadOp>();
    if (dot.getRhsOrder() != RhsOrder::nk || !load ||
        isComputed(dot.getLhs()) || !collect(dot.getAcc()))
      return false;
  } else if (!isElementwise(op) ||
             !llvm::all_of(op->getOperands(),
                           [&](Value operand) { return collect(operand); })) {
    return false;
  }
  repeated.insert(op);
  return true;
}

bool ColumnReorder::prepare(OpOperand &tile) {
  if (!collect(tile.get()))
    return false;
  for (Operation *op : repeated)
    for (OpOperand &use : op->getResult(0).getUses()) {
      Operation *user = use.getOwner();
      if (repeated.contains(user) || &use == &tile)
        continue;
      auto reduce = dyn_cast<ReduceOp>(user);
      if (!reduce || reduce.getDim() != 1 || use.getOperandNumber() != 0 ||
          (reduce.getModulo() && !findTotals(reduce)))
        return false;
      reductions.push_back(&use);
    }
  return true;
}

/// A value of the program in the new order.
Value ColumnReorder::reorder(Value value) {
  RankedTensorType type = getTileType(value.getType());
  if (!type || isSameAlongRows(value))
    return value;
  Value &result = reordered[value];
  if (!result) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    result = RelabelOp::create(builder, value.getLoc(), type, value, 1, bits);
  }
  return result;
}

void ColumnReorder::build(OpOperand &tile) {
  for (Operation *op : repeated) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    IRMapping mapping;
    if (auto dot = dyn_cast<DotOp>(op)) {
      Value rhs = dot.getRhs();
      // Products of one sum may have it in common.
      Value &rows = rowsOf[rhs];
      if (!rows)
        rows = RelabelOp::create(builder, op->getLoc(), rhs.getType(), rhs, 0,
                                 bits);
      mapping.map(rhs, rows);
      mapping.map(dot.getAcc(), reorder(dot.getAcc()));
    } else {
      for (Value operand : op->getOperands())
        mapping.map(operand, reorder(operand));
    }
    reordered[op->getResult(0)] = builder.clone(*op, mapping)->getResult(0);
  }
  tile.set(reorder(tile.get()));
  for (OpOperand *operand : reductions)
    operand->set(reordered.lookup(operand->get()));
  for (Operation *op : llvm::reverse(repeated))
    op->erase();
}

/// Sums over the columns of the right operand, which no copy can permute: the
/// left operand takes their order if the rows of what it is computed from can.
static bool reorderSource(DotOp dot, ArrayRef<int64_t> bits) {
  Value source = dot.getLhs();
  while (!source.getDefiningOp<RelabelOp>())
    source = source.getDefiningOp()->getOperand(0);
  auto relabel = source.getDefiningOp<RelabelOp>();
  ColumnReorder reorder{invertPermutationVector(bits)};
  if (!reorder.prepare(relabel.getSourceMutable()))
    return false;
  reorder.build(relabel.getSourceMutable());
  return true;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

static LogicalResult relabel(DotOp dot, int64_t &count) {
  if (dot.getLhsOrder() != LhsOrder::mk || !isTiedToAccumulator(dot.getLhs()) ||
      !isTile(dot.getLhs().getType()) || !isTile(dot.getRhs().getType()))
    return success();
  RankedTensorType lhs = getTileType(dot.getLhs().getType());
  RankedTensorType rhs = getTileType(dot.getRhs().getType());
  // Layouts of 64 rows repeat; columns that the layouts do not take are refused
  // where they are assigned.
  constexpr int64_t kRows = 64, kColumn = 1;
  int64_t columns = lhs.getDimSize(1);
  std::optional<LinearLayout> from = LinearLayout::accumulator(kRows, columns);
  std::optional<LinearLayout> to =
      LinearLayout::operandA(kRows, columns, lhs.getElementTypeBitWidth());
  if (!from || !to || *from == *to)
    return success();
  std::optional<SmallVector<int64_t>> bits =
      findRelabeling(*from, *to, kColumn);
  if (!bits)
    return dot.emitOpError("has a left operand in registers that no order of "
                           "summation brings to the layout of the A operand");
  bool kn = dot.getRhsOrder() == RhsOrder::kn;
  relabelSource(dot.getLhsMutable(), *bits, kColumn);
  ++count;
  if (!kn && reorderSource(dot, *bits))
    return success();
  OpBuilder builder(dot);
  dot.getRhsMutable().assign(RelabelOp::create(
      builder, dot.getLoc(), rhs, dot.getRhs(), kn ? 0 : 1, *bits));
  return success();
}

namespace {
struct RelabelContractions
    : fa3::tile::impl::RelabelContractionsBase<RelabelContractions> {
  void runOnOperation() override {
    int64_t count = 0;
    SmallVector<DotOp> dots;
    getOperation()->walk([&](DotOp dot) {
      if (isTiedToAccumulator(dot.getLhs()))
        dots.push_back(dot);
    });
    LogicalResult result = success();
    for (DotOp dot : dots)
      if (succeeded(result))
        result = relabel(dot, count);
    relabeled += count;
    if (failed(result))
      signalPassFailure();
  }
};
} // namespace
