//===- HostFunction.cpp - from tensors to the launch contract -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See HostFunction.h. The form of the function is checked before anything is
// built, so that a failure leaves the IR as it was.
//===----------------------------------------------------------------------===//

#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "HostArguments.h"
#include "HostBuilder.h"
#include "HostForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
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

void HostBuilder::build() {
  for (HostQuantization &quantization : host.quantizations)
    buildQuantization(quantization);
  for (HostUpdate &update : host.updates)
    buildUpdate(update);
  for (HostBlockLists &lists : host.blockLists)
    buildBlockLists(lists);
  if (host.merge)
    buildHostMerge(b, host);
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
      double greatest = getGreatestScale(op);
      Value most = arith::ConstantOp::create(b, b.getF32FloatAttr(greatest));
      require(
          arith::CmpFOp::create(b, arith::CmpFPredicate::OLE, host.scale, most),
          host.backward ? "scale exceeds 2^10" : "scale exceeds 2^16");
    }
  } else {
    int64_t columns =
        host.forward ? host.forward.getScoreDim() : op.getHeadDim();
    double scale = 1 / std::sqrt(static_cast<double>(columns));
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
  if (backward.getMaxQ())
    host.maxQ = lookup(backward.getMaxQ());
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
  maxLogits = host.values.lookupOrNull(forward.getMaxLogits());
  for (Value value : forward.getAux())
    host.aux.push_back(lookup(value));
  for (Value value : forward.getScales())
    host.scales.push_back(lookup(value));

  requireShapes();
  Value qv = host.values.lookupOrNull(forward.getQv());
  if (qv)
    requireSame(q, qv, "q and qv");
  Value previousO = host.values.lookupOrNull(forward.getPreviousO());
  host.previousLse = host.values.lookupOrNull(forward.getPreviousLse());
  if (previousO) {
    requireSame(q, previousO, "q and previous_o");
    requireSame(q, host.previousLse, "q and previous_lse");
  }
  for (unsigned i = 0, e = host.scales.size(); i < e; ++i)
    requireScales(i);
  for (unsigned i = 0, e = host.aux.size(); i < e; ++i)
    requireReads(i);
  cloneScalars();

  if (forward.getSplits()) {
    host.splits = lookup(forward.getSplits());
    if (!getConstantIntValue(host.splits))
      require(arith::CmpIOp::create(b, arith::CmpIPredicate::sge, host.splits,
                                    constant(0)),
              "splits is negative");
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
  if (qv)
    host.qv = view(qv, forward.getLayout());
  if (previousO)
    host.previousO = view(previousO, forward.getLayout());
  host.k = view(k, forward.getLayout());
  host.v = forward.getTransposedV() ? viewTransposed(v, forward.getLayout())
                                    : view(v, forward.getLayout());
  host.o = view(o, forward.getLayout());
  host.lse = lse;
  if (Value plain = host.values.lookupOrNull(forward.getPlain())) {
    requireSame(q, plain, "q and o_plain");
    host.plain = view(plain, forward.getLayout());
  }
  host.maxLogits = maxLogits;
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
  nameMerge(function, arguments);
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
  for (auto op : function.getBody().getOps<MergeOp>())
    host.merge.emplace().op = op;
  HostBuilder(host, function).build();
  return host;
}
