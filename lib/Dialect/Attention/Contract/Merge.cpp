//===- Merge.cpp - attention.merge in host functions ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "fa3/Dialect/Attention/Contract/Merge.h"
#include "HostArguments.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa3::attention;

//===----------------------------------------------------------------------===//
// Form and names
//===----------------------------------------------------------------------===//

LogicalResult fa3::attention::verifyMerge(func::FuncOp function) {
  if (!llvm::hasSingleElement(function.getBody()))
    return success();
  Block &body = function.getBody().front();
  for (auto op : function.getBody().getOps<MergeOp>()) {
    for (Operation &other : body) {
      if (&other == op ||
          (!isa<ScoredOpInterface>(other) && !isPreparation(&other)))
        continue;
      InFlightDiagnostic diagnostic = op.emitOpError(
          "expects no other operation on attention in its function");
      diagnostic.attachNote(other.getLoc()) << "one is here";
      return diagnostic;
    }
    for (auto [name, value] : {std::pair("parts", Value(op.getParts())),
                               {"lse_parts", op.getLseParts()},
                               {"sinks", op.getSinks()}}) {
      if (!value || isa<BlockArgument>(value))
        continue;
      InFlightDiagnostic diagnostic = op.emitOpError("expects ")
                                      << name
                                      << " to be an argument of the function";
      diagnostic.attachNote(value.getLoc()) << "it is computed here";
      return diagnostic;
    }
    auto isReturned = [](Value value) {
      return llvm::any_of(value.getUsers(), llvm::IsaPred<func::ReturnOp>);
    };
    if (!isReturned(op.getO()))
      return op.emitOpError("expects o to be returned");
    for (Operation *user : op.getLse().getUsers())
      if (isa<tensor::DimOp>(user) && !isReturned(op.getLse()))
        return user->emitError("asks for an extent of a result that is not "
                               "returned");
  }
  return success();
}

void fa3::attention::nameMerge(func::FuncOp function,
                               MutableArrayRef<HostArgument> arguments) {
  for (auto op : function.getBody().getOps<MergeOp>()) {
    SmallVector<std::string> ofLse = {"h", "s"};
    if (op.getRankOfO() == 4)
      ofLse.insert(ofLse.begin(), "b");
    SmallVector<std::string> ofO(op.getRankOfO(), "d");
    for (auto [axis, name] : llvm::enumerate(ofLse))
      ofO[op.getAxisOfO(axis)] = name;
    auto describe = [&](unsigned number, StringRef role,
                        SmallVector<std::string> dims, bool isOfParts) {
      HostArgument &argument = arguments[number];
      // One argument in two roles keeps the name of the first.
      if (!argument.role.empty())
        return;
      argument.role = role.str();
      if (isOfParts)
        dims.insert(dims.begin(), "parts");
      argument.dims = dims;
    };
    auto ofArgument = [](Value value) {
      return cast<BlockArgument>(value).getArgNumber();
    };
    describe(ofArgument(op.getParts()), "o_parts", ofO, true);
    describe(ofArgument(op.getLseParts()), "lse_parts", ofLse, true);
    if (op.getSinks())
      describe(ofArgument(op.getSinks()), "sinks", {"h"}, false);
    Operation *ret = function.getBody().front().getTerminator();
    for (auto [position, value] : llvm::enumerate(ret->getOperands())) {
      bool isLse = value == op.getLse();
      describe(function.getNumArguments() + position, isLse ? "lse" : "o",
               isLse ? ofLse : ofO, false);
    }
  }
}

//===----------------------------------------------------------------------===//
// Code of the host function
//===----------------------------------------------------------------------===//

void fa3::attention::buildHostMerge(ImplicitLocOpBuilder &b,
                                    HostFunction &host) {
  HostMerge &merge = *host.merge;
  MergeOp op = merge.op;
  Value parts = host.values.lookup(op.getParts()),
        lseParts = host.values.lookup(op.getLseParts()),
        o = host.values.lookup(op.getO()),
        lse = host.values.lookupOrNull(op.getLse());
  auto requireSame = [&](Value x, int64_t xAxis, Value y, int64_t yAxis,
                         const Twine &message) {
    // Static extents were compared by the verifier of the operation.
    auto isStatic = [](Value memref, int64_t axis) {
      return !cast<MemRefType>(memref.getType()).isDynamicDim(axis);
    };
    if (isStatic(x, xAxis) && isStatic(y, yAxis))
      return;
    Value ofY = memref::DimOp::create(b, y, yAxis);
    Value isSame = arith::CmpIOp::create(
        b, arith::CmpIPredicate::eq, memref::DimOp::create(b, x, xAxis), ofY);
    cf::AssertOp::create(b, isSame, b.getStringAttr(message));
  };
  requireSame(parts, 0, lseParts, 0, "o_parts and lse_parts differ in parts");
  int64_t rank = op.getRankOfO() - 1;
  for (int64_t axis = 0; axis < rank; ++axis) {
    StringRef what = axis < rank - 2    ? "batch"
                     : axis == rank - 2 ? "heads"
                                        : "rows";
    int64_t ofO = op.getAxisOfO(axis);
    requireSame(o, ofO, parts, ofO + 1, "o and o_parts differ in " + what);
    requireSame(o, ofO, lseParts, axis + 1,
                "o and lse_parts differ in " + what);
    if (lse)
      requireSame(o, ofO, lse, axis, "o and lse differ in " + what);
  }
  if (op.getSinks()) {
    merge.sinks = host.values.lookup(op.getSinks());
    requireSame(o, op.getHeadAxis(), merge.sinks, 0,
                "sinks has another number of heads than o");
  }
  auto view = [&](Value array) -> Value {
    if (op.getLayout() == Layout::bhsd)
      return array;
    auto order = llvm::to_vector(
        llvm::seq<unsigned>(0, cast<MemRefType>(array.getType()).getRank()));
    std::swap(order[order.size() - 3], order[order.size() - 2]);
    AffineMap map = AffineMap::getPermutationMap(order, b.getContext());
    return memref::TransposeOp::create(b, array, AffineMapAttr::get(map));
  };
  merge.parts = view(parts);
  merge.o = view(o);
  merge.lseParts = lseParts;
  merge.lse = lse;
}
