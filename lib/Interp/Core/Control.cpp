//===- Control.cpp - loops, branches, calls, assertions -------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Elementwise.h"
#include "Engine.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace fa3::interp;

namespace {

//===----------------------------------------------------------------------===//
// scf
//===----------------------------------------------------------------------===//

struct ForExtra : Extra {
  Code body;
  CellId induction = 0;
  Moves enter, iterate, leave;
  bool isUnsigned = false;
};

LogicalResult runFor(Context &c, const Instr &in) {
  const auto &loop = in.get<ForExtra>();
  int64_t lower = c.integer(in.in[0]), upper = c.integer(in.in[1]);
  int64_t step = c.integer(in.in[2]);
  if (step <= 0)
    return c.error(in) << "'scf.for' has a step of " << step
                       << ", it has to be positive";
  uint64_t count = 0;
  if (loop.isUnsigned
          ? static_cast<uint64_t>(lower) < static_cast<uint64_t>(upper)
          : lower < upper)
    count = llvm::divideCeil(static_cast<uint64_t>(upper) -
                                 static_cast<uint64_t>(lower),
                             static_cast<uint64_t>(step));
  loop.enter.apply(c.cells);
  int64_t induction = lower;
  for (uint64_t i = 0; i < count; ++i, induction += step) {
    c.cells[loop.induction].i = induction;
    if (failed(runCode(c, loop.body)))
      return failure();
    loop.iterate.apply(c.cells);
  }
  loop.leave.apply(c.cells);
  return success();
}

/// Cells of iteration arguments or results for values, which are buffers if
/// the targets are.
SmallVector<CellId> alike(Decoder &d, Operation *op, ValueRange values,
                          ValueRange targets) {
  SmallVector<CellId> ids;
  for (auto [value, target] : llvm::zip_equal(values, targets))
    ids.push_back(d.isBuffered(target)
                      ? d.asBuffer(op, value, d.getCount(target))
                      : d.cell(value));
  return ids;
}

/// Decodes a region whose terminator's last operands become `targets`. Where a
/// target differs between threads and a yielded value does not, it is spread.
LogicalResult decodeYielding(Decoder &d, Region &region, Code &code,
                             ValueRange targets, SmallVector<CellId> &yields) {
  if (failed(d.decodeRegion(region, code)))
    return failure();
  Operation *terminator = region.front().getTerminator();
  OperandRange values = terminator->getOperands().take_back(targets.size());
  for (auto [i, value, target] : llvm::enumerate(values, targets)) {
    if (d.isBuffered(target) && !d.isBuffered(value)) {
      d.appendTo(code, [&, value = value, target = target] {
        yields.push_back(d.asBuffer(terminator, value, d.getCount(target)));
      });
      continue;
    }
    yields.push_back(d.cell(value));
  }
  return success();
}

LogicalResult checkUniform(Decoder &d, Operation *op, ValueRange values) {
  for (Value value : values)
    if (d.isVarying(value))
      return op->emitError("'") << op->getName()
                                << "' depends on a value that differs between "
                                   "threads";
  return success();
}

LogicalResult decodeFor(Decoder &d, scf::ForOp op) {
  if (failed(checkUniform(
          d, op, op->getOperands().take_front(op.getNumControlOperands()))))
    return failure();
  auto *extra = d.makeExtra<ForExtra>();
  extra->isUnsigned = op.getUnsignedCmp();
  SmallVector<CellId> inits =
      alike(d, op, op.getInitArgs(), op.getRegionIterArgs());
  SmallVector<CellId> yields;
  if (failed(decodeYielding(d, op.getRegion(), extra->body,
                            op.getRegionIterArgs(), yields)))
    return failure();
  extra->induction = d.cell(op.getInductionVar());
  ArrayRef<CellId> arguments = d.cells(ValueRange(op.getRegionIterArgs()));
  extra->enter = d.makeMoves(inits, arguments);
  extra->iterate = d.makeMoves(yields, arguments);
  extra->leave = d.makeMoves(arguments, d.cells(op.getResults()));
  d.emit(op, runFor, extra);
  return success();
}

struct IfExtra : Extra {
  Code then, otherwise;
  Moves thenMoves, otherwiseMoves;
};

LogicalResult runIf(Context &c, const Instr &in) {
  const auto &branch = in.get<IfExtra>();
  bool taken = c.integer(in.in[0]);
  if (failed(runCode(c, taken ? branch.then : branch.otherwise)))
    return failure();
  (taken ? branch.thenMoves : branch.otherwiseMoves).apply(c.cells);
  return success();
}

LogicalResult decodeIf(Decoder &d, scf::IfOp op) {
  auto *extra = d.makeExtra<IfExtra>();
  SmallVector<CellId> yields;
  if (failed(decodeYielding(d, op.getThenRegion(), extra->then, op.getResults(),
                            yields)))
    return failure();
  extra->thenMoves = d.makeMoves(yields, d.cells(op.getResults()));
  if (!op.getElseRegion().empty()) {
    yields.clear();
    if (failed(decodeYielding(d, op.getElseRegion(), extra->otherwise,
                              op.getResults(), yields)))
      return failure();
    extra->otherwiseMoves = d.makeMoves(yields, d.cells(op.getResults()));
  }
  d.emit(op, runIf, extra);
  return success();
}

struct WhileExtra : Extra {
  Code before, after;
  CellId condition = 0;
  Moves enter, pass, leave, iterate;
};

LogicalResult runWhile(Context &c, const Instr &in) {
  const auto &loop = in.get<WhileExtra>();
  loop.enter.apply(c.cells);
  while (true) {
    if (failed(runCode(c, loop.before)))
      return failure();
    if (!c.integer(loop.condition))
      break;
    loop.pass.apply(c.cells);
    if (failed(runCode(c, loop.after)))
      return failure();
    loop.iterate.apply(c.cells);
  }
  loop.leave.apply(c.cells);
  return success();
}

LogicalResult decodeWhile(Decoder &d, scf::WhileOp op) {
  scf::ConditionOp condition = op.getConditionOp();
  if (failed(checkUniform(d, op, condition.getCondition())))
    return failure();
  auto *extra = d.makeExtra<WhileExtra>();
  ValueRange before = op.getBeforeArguments(), after = op.getAfterArguments();
  SmallVector<CellId> inits = alike(d, op, op.getInits(), before);
  SmallVector<CellId> passed, yields;
  if (failed(decodeYielding(d, op.getBefore(), extra->before, after, passed)) ||
      failed(decodeYielding(d, op.getAfter(), extra->after, before, yields)))
    return failure();
  extra->condition = d.cell(condition.getCondition());
  extra->enter = d.makeMoves(inits, d.cells(before));
  extra->pass = d.makeMoves(passed, d.cells(after));
  extra->leave = d.makeMoves(passed, d.cells(op.getResults()));
  extra->iterate = d.makeMoves(yields, d.cells(before));
  d.emit(op, runWhile, extra);
  return success();
}

//===----------------------------------------------------------------------===//
// Assertions and calls
//===----------------------------------------------------------------------===//

LogicalResult runAssert(Context &c, const Instr &in) {
  if (c.integer(in.in[0]))
    return success();
  return c.error(in) << "assertion failed: "
                     << cast<cf::AssertOp>(in.op).getMsg();
}

struct CallExtra : Extra {
  Operation *callee = nullptr;
};

LogicalResult runCall(Context &c, const Instr &in) {
  const Function *callee = c.engine.getFunction(in.get<CallExtra>().callee);
  if (!callee)
    return failure();
  SmallVector<Cell> arguments, results;
  for (CellId id : in.in)
    arguments.push_back(c.cells[id]);
  if (failed(c.engine.call(&c, *callee, arguments, results)))
    return failure();
  for (auto [id, value] : llvm::zip_equal(in.out, results))
    c.cells[id] = value;
  return success();
}

LogicalResult decodeCall(Decoder &d, func::CallOp op) {
  auto *extra = d.makeExtra<CallExtra>();
  extra->callee = SymbolTable::lookupNearestSymbolFrom(op, op.getCalleeAttr());
  if (!extra->callee)
    return op.emitError("calls an unknown function ") << op.getCalleeAttr();
  d.emit(op, runCall, extra);
  return success();
}

//===----------------------------------------------------------------------===//
// affine
//===----------------------------------------------------------------------===//

struct AffineExtra : Extra {
  AffineMap map;
};

/// The result of an affine expression; empty on a division by zero.
std::optional<int64_t> evaluate(AffineExpr expression, unsigned dims,
                                ArrayRef<int64_t> values) {
  if (auto dim = dyn_cast<AffineDimExpr>(expression))
    return values[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expression))
    return values[dims + symbol.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expression))
    return constant.getValue();
  auto binary = cast<AffineBinaryOpExpr>(expression);
  std::optional<int64_t> lhs = evaluate(binary.getLHS(), dims, values);
  std::optional<int64_t> rhs = evaluate(binary.getRHS(), dims, values);
  if (!lhs || !rhs)
    return std::nullopt;
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return *lhs + *rhs;
  case AffineExprKind::Mul:
    return *lhs * *rhs;
  default:
    break;
  }
  if (*rhs <= 0)
    return std::nullopt;
  switch (binary.getKind()) {
  case AffineExprKind::Mod:
    return llvm::mod(*lhs, *rhs);
  case AffineExprKind::FloorDiv:
    return llvm::divideFloorSigned(*lhs, *rhs);
  default:
    return llvm::divideCeilSigned(*lhs, *rhs);
  }
}

/// apply has one result; min and max choose among several.
template <typename OpType>
LogicalResult runAffine(Context &c, const Instr &in) {
  AffineMap map = in.get<AffineExtra>().map;
  SmallVector<int64_t> values = c.integers(in.in);
  std::optional<int64_t> best;
  for (AffineExpr expression : map.getResults()) {
    std::optional<int64_t> value =
        evaluate(expression, map.getNumDims(), values);
    if (!value)
      return c.error(in) << "'" << in.op->getName()
                         << "' divides by a number that is not positive";
    if (!best)
      best = value;
    else if (std::is_same_v<OpType, affine::AffineMaxOp>)
      best = std::max(*best, *value);
    else
      best = std::min(*best, *value);
  }
  c.cells[in.out[0]].i = *best;
  return success();
}

template <typename OpType>
void addAffine(Registry &registry) {
  registry.add<OpType>([](Decoder &d, OpType op) {
    auto *extra = d.makeExtra<AffineExtra>();
    extra->map = op.getMap();
    d.emit(op, runAffine<OpType>, extra);
    return success();
  });
}

} // namespace

void fa3::interp::populateControl(Registry &r) {
  r.add<scf::ForOp>(decodeFor, /*varying=*/true);
  r.add<scf::WhileOp>(decodeWhile, /*varying=*/true);
  r.add<scf::IfOp>(decodeIf);
  r.addPlain<cf::AssertOp>(runAssert);
  r.add<func::CallOp>(decodeCall);
  addAffine<affine::AffineApplyOp>(r);
  addAffine<affine::AffineMinOp>(r);
  addAffine<affine::AffineMaxOp>(r);
}
