//===- Cost.cpp - work of one attention -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Cost.h"
#include "fa3/Dialect/Tile/Analysis/AffineForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa3;
using attention::HostFunction;
using tile::AffineForm;

namespace {
/// Bounds j <= i + upper and j >= i + lower of a mask_mod region, as forms over
/// the extents of the host function.
class Band {
public:
  Band(Region &keep, HostFunction &host);

  /// Twice the area of the visible pairs.
  Value buildTwiceArea(ImplicitLocOpBuilder &b) const;
  /// Keys between both bounds, if that is a constant.
  std::optional<int64_t> getWidth() const;

private:
  void read(Value condition);
  void readComparison(arith::CmpIOp compare);
  /// Twice the area of the pairs with j <= i + e.
  Value buildTwiceBelow(ImplicitLocOpBuilder &b, const AffineForm &e) const;

  Region &keep;
  AffineForm queries, keys;
  std::optional<AffineForm> upper, lower;
};
} // namespace

Band::Band(Region &keep, HostFunction &host)
    : keep(keep), queries(tile::getAffineForm(host.queries)),
      keys(tile::getAffineForm(host.keys)) {
  if (!keep.empty())
    read(keep.front().getTerminator()->getOperand(0));
}

std::optional<int64_t> Band::getWidth() const {
  if (!upper || !lower)
    return std::nullopt;
  AffineForm width = *upper - *lower;
  if (!width.isConstant())
    return std::nullopt;
  return std::max<int64_t>(width.constant + 1, 0);
}

void Band::read(Value condition) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
    read(both.getLhs());
    read(both.getRhs());
  } else if (auto compare = condition.getDefiningOp<arith::CmpIOp>()) {
    if (compare.getLhs().getType().isIndex())
      readComparison(compare);
  }
}

void Band::readComparison(arith::CmpIOp compare) {
  using Predicate = arith::CmpIPredicate;
  AffineForm lhs = tile::getAffineForm(compare.getLhs());
  AffineForm rhs = tile::getAffineForm(compare.getRhs());
  AffineForm form; // not negative where the comparison holds
  switch (compare.getPredicate()) {
  case Predicate::sle:
    form = rhs - lhs;
    break;
  case Predicate::slt:
    form = rhs - lhs + AffineForm(-1);
    break;
  case Predicate::sge:
    form = lhs - rhs;
    break;
  case Predicate::sgt:
    form = lhs - rhs + AffineForm(-1);
    break;
  default:
    return;
  }
  int64_t ofQuery = 0, ofKey = 0;
  AffineForm rest(form.constant);
  for (auto [atom, coefficient] : form.terms) {
    if (auto length = atom.getDefiningOp<attention::LengthOp>())
      rest += (length.getSequence() == attention::Sequence::query ? queries
                                                                  : keys) *
              coefficient;
    else if (atom == keep.getArgument(2))
      ofQuery = coefficient;
    else if (atom == keep.getArgument(3))
      ofKey = coefficient;
    else
      return;
  }
  // Of several bounds on one side the first counts, unless another is narrower
  // for certain.
  if (ofKey == -1 && ofQuery == 1) {
    if (!upper || tile::provesNonNegative(*upper - rest))
      upper = rest;
  } else if (ofKey == 1 && ofQuery == -1) {
    if (!lower || tile::provesNonNegative(rest * -1 - *lower))
      lower = rest * -1;
  }
}

/// The square of the positive part of a form; null if that is 0 for certain.
static Value buildSquare(ImplicitLocOpBuilder &b, const AffineForm &form) {
  if (tile::provesNonNegative(form * -1))
    return {};
  Value value = tile::materialize(b, b.getLoc(), form);
  if (!tile::provesNonNegative(form))
    value =
        arith::MaxSIOp::create(b, value, arith::ConstantIndexOp::create(b, 0));
  return arith::MulIOp::create(b, value, value);
}

/// The sum over i of min(max(i + e, 0), keys), twice. Each of its corners is
/// where a square begins.
Value Band::buildTwiceBelow(ImplicitLocOpBuilder &b,
                            const AffineForm &e) const {
  Value area = arith::ConstantIndexOp::create(b, 0);
  auto add = [&](const AffineForm &corner, bool isPositive) {
    Value square = buildSquare(b, corner);
    if (!square)
      return;
    area = isPositive ? arith::AddIOp::create(b, area, square).getResult()
                      : arith::SubIOp::create(b, area, square).getResult();
  };
  add(e + queries, true);
  add(e + queries - keys, false);
  add(e, false);
  add(e - keys, true);
  return area;
}

Value Band::buildTwiceArea(ImplicitLocOpBuilder &b) const {
  Value area;
  if (upper) {
    area = buildTwiceBelow(b, *upper);
  } else {
    Value ofKeys = tile::materialize(b, b.getLoc(), keys);
    Value ofQueries = tile::materialize(b, b.getLoc(), queries);
    Value all = arith::MulIOp::create(b, ofQueries, ofKeys);
    area = arith::MulIOp::create(b, all, arith::ConstantIndexOp::create(b, 2));
  }
  if (!lower)
    return area;
  AffineForm hidden = *lower + AffineForm(-1);
  area = arith::SubIOp::create(b, area, buildTwiceBelow(b, hidden));
  if (upper && !tile::provesNonNegative(*upper - hidden))
    area =
        arith::MaxSIOp::create(b, area, arith::ConstantIndexOp::create(b, 0));
  return area;
}

static Value scale(ImplicitLocOpBuilder &b, Value value, int64_t factor) {
  return arith::MulIOp::create(b, value,
                               arith::ConstantIndexOp::create(b, factor));
}

/// `perPair` operations, halved, for every visible pair.
static Value buildPairs(ImplicitLocOpBuilder &b, HostFunction &host,
                        int64_t perPair) {
  Value area = Band(host.getScored().getMaskMod(), host).buildTwiceArea(b);
  Value heads = arith::MulIOp::create(b, host.batch, host.heads);
  return scale(b, arith::MulIOp::create(b, heads, area), perPair);
}

Value fa3::buildFlops(ImplicitLocOpBuilder &b, HostFunction &host) {
  return buildPairs(
      b, host, host.forward.getScoreDim() + host.forward.getValueHeadDim());
}

Value fa3::buildBackwardFlops(ImplicitLocOpBuilder &b, HostFunction &host) {
  return buildPairs(b, host,
                    3 * host.backward.getHeadDim() +
                        2 * host.backward.getValueHeadDim());
}

std::optional<int64_t> fa3::getWidthOfBand(HostFunction &host) {
  return Band(host.forward.getMaskMod(), host).getWidth();
}

/// Bytes of what an attention reads and writes of queries and of keys, each
/// array once.
static Value buildBytesOfArrays(ImplicitLocOpBuilder &b,
                                const HostFunction &host, int64_t terms,
                                int64_t headDim, int64_t valueHeadDim) {
  using namespace attention;
  int64_t ofQuery = 0, ofKey = 0;
  for (Role role : getAllRoles()) {
    const OperandInfo &info = getInfo(role);
    if ((info.rows != Rows::Query && info.rows != Rows::Key) ||
        !host[role].front())
      continue;
    int64_t columns = info.columns == Columns::Element ? headDim
                      : info.columns == Columns::Terms ? terms * headDim
                      : info.columns == Columns::Value ? valueHeadDim
                                                       : 1;
    auto type = cast<MemRefType>(host[role].front().getType());
    // k and v may hold two numbers in an element.
    if (info.rows == Rows::Key && info.columns != Columns::None)
      columns = type.getShape().back();
    (info.rows == Rows::Query ? ofQuery : ofKey) +=
        columns * type.getElementTypeBitWidth() / 8;
  }
  auto rows = [&](Value heads, Value length) -> Value {
    return arith::MulIOp::create(b, arith::MulIOp::create(b, host.batch, heads),
                                 length);
  };
  Value bytesOfKeys = scale(b, rows(host.keyHeads, host.keys), ofKey);
  Value bytesOfQueries = scale(b, rows(host.heads, host.queries), ofQuery);
  return arith::AddIOp::create(b, bytesOfQueries, bytesOfKeys);
}

Value fa3::buildBytes(ImplicitLocOpBuilder &b, HostFunction &host) {
  attention::ForwardOp op = host.forward;
  return buildBytesOfArrays(b, host, op.getQTerms(), op.getHeadDim(),
                            op.getValueHeadDim());
}

Value fa3::buildBackwardBytes(ImplicitLocOpBuilder &b, HostFunction &host) {
  attention::BackwardOp op = host.backward;
  return buildBytesOfArrays(b, host, /*terms=*/1, op.getHeadDim(),
                            op.getValueHeadDim());
}
