//===- RelabelContractions.cpp - tile-relabel-contractions ----------------===//

#include "Utils.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Builders.h"
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

/// Relabels a tile in front of the conversions that make it: they work on
/// neighbouring registers, which are those that the operand has side by side.
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

static LogicalResult relabel(DotOp dot, int64_t &count) {
  if (dot.getLhsOrder() != LhsOrder::mk || !isComputed(dot.getLhs()) ||
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
  OpBuilder builder(dot);
  dot.getRhsMutable().assign(RelabelOp::create(
      builder, dot.getLoc(), rhs, dot.getRhs(), kn ? 0 : 1, *bits));
  ++count;
  return success();
}

namespace {
struct RelabelContractions
    : fa3::tile::impl::RelabelContractionsBase<RelabelContractions> {
  void runOnOperation() override {
    int64_t count = 0;
    WalkResult result = getOperation()->walk(
        [&](DotOp dot) { return WalkResult(relabel(dot, count)); });
    relabeled += count;
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
