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
  if (host.getScored())
    buildScored();
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

/// Checks that operands agree, in extents and with what regions read.
void HostBuilder::requireOperands() {
  requireShapes();
  for (Role role : host.getScored().getRoles()) {
    bool isShape = llvm::is_contained(
        {Role::q, Role::k, Role::v, Role::o, Role::lse, Role::maxLogits}, role);
    Rows rows = getInfo(role).rows;
    if (!isShape && (rows == Rows::Query || rows == Rows::Key) &&
        given[role].front())
      requireSame(role);
  }
  for (unsigned i = 0, e = host.scales.size(); i < e; ++i)
    requireScales(i);
  for (unsigned i = 0, e = host.aux.size(); i < e; ++i)
    requireReads(i);
  for (unsigned i = 0, e = host.auxGrads.size(); i < e; ++i)
    requireAuxGradient(i);
}

/// Numbers that launches are given, and arrays with one for each head.
void HostBuilder::buildScalars() {
  Operands own = Operands::get(host.getScored());
  host.splits = host.values.lookupOrNull(own.splits);
  if (host.splits && !getConstantIntValue(host.splits))
    require(arith::CmpIOp::create(b, arith::CmpIPredicate::sge, host.splits,
                                  constant(0)),
            "splits is negative");
  for (Role role : getAllRoles())
    if (getInfo(role).rows == Rows::Head && given[role].front())
      requireEqual(dim(given[role].front(), 0), host.heads,
                   getInfo(role).name + " has another number of heads than q");
  host.maxQ = host.values.lookupOrNull(own.maxQ);
  buildScale();
}

void HostBuilder::viewOperands() {
  Layout layout = host.getScored().getLayout();
  bool isTransposed = host.forward && host.forward.getTransposedV();
  for (Role role : getAllRoles()) {
    const OperandInfo &info = getInfo(role);
    if (info.rows == Rows::None || !given[role].front())
      continue;
    Value own = given[role].front();
    if (role == Role::v && isTransposed)
      own = viewTransposed(own, layout);
    else if (info.columns != Columns::None)
      own = view(own, layout);
    host[role].front() = own;
  }
}

void HostBuilder::buildScored() {
  given = Operands::get(host.getScored()).map([&](Value value) {
    return host.values.lookupOrNull(value);
  });
  host.aux = given.aux;
  host.scales = given.scales;
  host.auxGrads = given.auxGrads;
  requireOperands();
  cloneScalars();
  buildScalars();
  viewOperands();
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
  auto quantizedNames = nameQuantized(function, op, arguments);
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
