//===- Access.cpp - what a function reads and writes ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Hopper/IR/HopperExactOps.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Dialect/Tile/IR/TileExactOps.h"
#include "fa3/Interp/Interpreter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::interp;

namespace {
/// Follows a memref, tensor map or address through views and calls.
class AccessFollower {
public:
  Access result;

  void follow(Value value) {
    if (!seen.insert(value).second)
      return;
    for (OpOperand &use : value.getUses())
      visit(use);
  }

private:
  void visit(OpOperand &use) {
    Operation *op = use.getOwner();
    llvm::TypeSwitch<Operation *>(op)
        .Case<memref::TransposeOp, memref::CastOp, memref::SubViewOp,
              memref::ExpandShapeOp, hopper::EncodeOp, hopper::AddressOp>(
            [&](auto view) { follow(view->getResult(0)); })
        .Case<memref::DimOp, memref::ExtractStridedMetadataOp,
              memref::DeallocOp>([](auto) {})
        .Case<tile::LoadOp, tile::LoadAsyncOp, tile::GatherOp,
              tile::ScalarLoadOp, tile::SearchOp, memref::LoadOp,
              hopper::TmaLoadOp, hopper::FragmentLoadOp, hopper::GatherOp,
              hopper::ScalarLoadOp, hopper::SearchOp, tile::LoadExactOp,
              hopper::LoadExactOp>([&](auto) { result.read = true; })
        .Case<memref::StoreOp, hopper::RecordOp>(
            [&](auto) { result.written = true; })
        .Case<tile::StoreOp, tile::StoreAsyncOp, hopper::TmaStoreOp,
              hopper::FragmentStoreOp>([&](auto store) {
          result.written = true;
          result.read |= store.getAdd();
        })
        .Case<tile::AddExactOp, hopper::AddExactOp>(
            [&](auto) { result.read = result.written = true; })
        .Case<tile::ClearFlagOp, tile::SetFlagOp, hopper::FlagClearOp,
              hopper::FlagSetOp>([&](auto) { result.written = true; })
        .Case<tile::AwaitFlagsOp, hopper::FlagAwaitOp>(
            [&](auto) { result.read = true; })
        .Case([&](memref::CopyOp copy) {
          (use.getOperandNumber() == 0 ? result.read : result.written) = true;
        })
        .Case([&](tile::LaunchOp launch) {
          enter(op, launch.getKernelAttr(), launch.getKernelArgs(), use.get());
        })
        .Case([&](hopper::LaunchOp launch) {
          enter(op, launch.getKernelAttr(), launch.getKernelArgs(), use.get());
        })
        .Case([&](func::CallOp call) {
          enter(op, call.getCalleeAttr(), call.getOperands(), use.get());
        })
        .Default([&](Operation *) { result.read = result.written = true; });
  }

  void enter(Operation *op, SymbolRefAttr symbol, OperandRange operands,
             Value value) {
    auto callee = dyn_cast_or_null<FunctionOpInterface>(
        SymbolTable::lookupNearestSymbolFrom(op, symbol));
    if (!callee || callee.isExternal() ||
        callee.getNumArguments() != operands.size()) {
      result.read = result.written = true;
      return;
    }
    for (auto [argument, operand] : llvm::zip(callee.getArguments(), operands))
      if (operand == value)
        follow(argument);
  }

  llvm::SmallPtrSet<Value, 8> seen;
};
} // namespace

SmallVector<Access>
fa3::interp::getArgumentAccess(FunctionOpInterface function) {
  SmallVector<Access> accesses;
  for (BlockArgument argument : function.getArguments()) {
    AccessFollower follower;
    follower.follow(argument);
    accesses.push_back(follower.result);
  }
  return accesses;
}
