//===- ProgressPatterns.cpp - additions in one order ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A group of one warp has registers to remember what it has seen, so that it
// asks less often. Others ask each time, with all their threads: a loop of one
// of them would be a branch in which ptxas 13.0 keeps nothing in uniform
// registers, and spills what these held.
//===----------------------------------------------------------------------===//

#include "../InlineAsm.h"
#include "../Patterns.h"
#include "fa3/Dialect/Hopper/IR/ProgressOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

namespace {
/// What a group knows from one position to the next. LLVM makes registers of
/// it.
struct ProgressState {
  /// The element that it has read last, and how many bytes in front of that of
  /// the tile before.
  Value seen, back;

  /// That of the kernel; an operation that is found in the entry block.
  static ProgressState get(OpBuilder &builder, Operation *op);
  void start(OpBuilder &builder, Location loc) const;

private:
  static constexpr llvm::StringLiteral kName = "fa3.progress";
};

struct ProgressPassPattern : KernelPattern<ProgressPassOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(ProgressPassOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    constexpr int64_t kBytes = 4;
    Value before = getElementAddress(rewriter, loc, adaptor.getPointer(),
                                     adaptor.getIndices(), adaptor.getStrides(),
                                     rewriter.getI32Type());
    Value stride = adaptor.getStrides().drop_back().back();
    Value own = LLVM::GEPOp::create(rewriter, loc, before.getType(),
                                    rewriter.getI32Type(), before,
                                    ArrayRef<LLVM::GEPArg>{stride});
    Value bytes = arith::MulIOp::create(
        rewriter, loc, stride,
        arith::ConstantOp::create(rewriter, loc,
                                  rewriter.getI64IntegerAttr(kBytes)));
    Value elected = info.getOf(op).getPredicate();
    if (!elected)
      elected =
          arith::ConstantOp::create(rewriter, loc, rewriter.getBoolAttr(true));
    Value inputs[] = {adaptor.getPosition(), own, before, bytes, elected};
    emit(op, inputs, rewriter);
    rewriter.eraseOp(op);
    return success();
  }

private:
  static void emit(ProgressPassOp op, ArrayRef<Value> inputs,
                   OpBuilder &builder);
};
} // namespace

ProgressState ProgressState::get(OpBuilder &builder, Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  Block &entry = function.getFunctionBody().front();
  SmallVector<Value> known;
  for (auto variable : entry.getOps<LLVM::AllocaOp>())
    if (variable->hasAttr(kName))
      known.push_back(variable);
  if (!known.empty())
    return {known[0], known[1]};
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&entry);
  Location loc = op->getLoc();
  Value one =
      arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(1));
  auto variable = [&](Type type) -> Value {
    auto result = LLVM::AllocaOp::create(
        builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), type,
        one);
    result->setAttr(kName, builder.getUnitAttr());
    return result;
  };
  Type word = builder.getI32Type();
  ProgressState state;
  state.seen = variable(word);
  state.back = variable(builder.getI64Type());
  state.start(builder, loc);
  return state;
}

void ProgressState::start(OpBuilder &builder, Location loc) const {
  auto set = [&](Value variable, TypedAttr value) {
    LLVM::StoreOp::create(
        builder, loc, arith::ConstantOp::create(builder, loc, value), variable);
  };
  set(seen, builder.getI32IntegerAttr(-1));
  set(back, builder.getI64IntegerAttr(0));
}

/// Tells the position: the own bulk copies are complete. They belong to another
/// proxy than loads and stores of progress.
static constexpr char kTelling[] =
    "@elected cp.async.bulk.wait_group 0;\n"
    "@elected fence.proxy.async.global;\n"
    "@elected st.release.gpu.global.s32 [own], position;\n";

/// Reads the elements in front until one is further than the position: those of
/// tiles that have ended say nothing of the tiles before them.
static std::string getWaiting() {
  return "setp.gt.s32 go, seen, position;\n"
         "@go bra GO_${:uid};\n"
         "sub.s64 at, before, back;\n"
         "LOOK_${:uid}:\n"
         "ld.acquire.gpu.global.s32 seen, [at];\n"
         "setp.eq.s32 ended, seen, " +
         std::to_string(kEndOfProgress) +
         ";\n"
         "@ended add.s64 back, back, stride;\n"
         "@ended sub.s64 at, at, stride;\n"
         "@ended bra LOOK_${:uid};\n"
         "setp.le.s32 again, seen, position;\n"
         "@again bra LOOK_${:uid};\n"
         "@elected fence.proxy.async.global;\n"
         "GO_${:uid}:\n";
}

void ProgressPassPattern::emit(ProgressPassOp op, ArrayRef<Value> inputs,
                               OpBuilder &builder) {
  Location loc = op.getLoc();
  auto group = op->getParentOfType<warp::GroupOp>();
  std::optional<ProgressState> state;
  if (group && group.getWarps() == 1)
    state = ProgressState::get(builder, op);
  bool remembers = state && !op.getEnd();
  InlineAsm pass(builder, loc);
  SmallVector<Value> variables, values;
  if (remembers)
    variables = {state->seen, state->back};
  for (Value variable : variables) {
    Type type = cast<LLVM::AllocaOp>(variable.getDefiningOp()).getElemType();
    values.push_back(LLVM::LoadOp::create(builder, loc, type, variable));
    pass.addOutput(type, /*early=*/true);
  }
  std::string text = "{\n.reg .pred go, again, ended, elected;\n"
                     ".reg .b32 seen, position;\n"
                     ".reg .b64 at, back, own, before, stride;\n"
                     "mov.b32 seen, -1;\nmov.b64 back, 0;\n";
  unsigned number = 0;
  const char *const states[] = {"b32 seen", "b64 back"};
  for (auto [name, value] : llvm::zip(states, values)) {
    pass.addTied(value, number);
    text += ("mov." + Twine(name) + ", $" + Twine(number++) + ";\n").str();
  }
  number *= 2;
  const char *const names[] = {"b32 position", "b64 own", "b64 before",
                               "b64 stride", "pred elected"};
  for (auto [name, input] : llvm::zip_equal(names, inputs)) {
    pass.addInput(input);
    text += ("mov." + Twine(name) + ", $" + Twine(number++) + ";\n").str();
  }
  if (!op.getEnd())
    text += getWaiting();
  text += kTelling;
  if (remembers)
    text += "mov.b32 $0, seen;\nmov.b64 $1, back;\n";
  SmallVector<Value> results = pass.emit(text + "}");
  for (auto [variable, value] : llvm::zip(variables, results))
    LLVM::StoreOp::create(builder, loc, value, variable);
  if (state && op.getEnd())
    state->start(builder, loc);
}

void fa3::populateProgressPatterns(RewritePatternSet &patterns,
                                   const TypeConverter &converter,
                                   const KernelInfo &info) {
  patterns.add<ProgressPassPattern>(converter, patterns.getContext(), info);
}
