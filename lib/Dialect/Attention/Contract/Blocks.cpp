//===- Blocks.cpp - attention.list_blocks in host functions ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Attention/Contract/Blocks.h"
#include "HostArguments.h"
#include "fa3/Dialect/Attention/IR/BlockLists.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa3::attention;

LogicalResult fa3::attention::verifyBlockLists(func::FuncOp function,
                                               ForwardOp forward) {
  for (auto op : function.getBody().getOps<ListBlocksOp>()) {
    for (auto [number, value] : llvm::enumerate(op.getAux())) {
      if (isa<BlockArgument>(value))
        continue;
      InFlightDiagnostic diagnostic = op.emitOpError("expects auxiliary "
                                                     "operand ")
                                      << number
                                      << " to be an argument of the function";
      diagnostic.attachNote(value.getLoc()) << "it is computed here";
      return diagnostic;
    }
    // What forward and its descriptions read.
    SmallVector<Operation *> readers;
    if (forward) {
      readers = getDescriptions(forward);
      readers.push_back(forward);
    }
    for (OpResult result : op->getResults())
      for (Operation *user : result.getUsers()) {
        bool isRead = forward && llvm::is_contained(forward.getAux(), result) &&
                      llvm::any_of(readers, [&](Operation *reader) {
                        return reader->isAncestor(user);
                      });
        if (isRead || isa<func::ReturnOp, tensor::DimOp>(user))
          continue;
        InFlightDiagnostic diagnostic = op.emitOpError("expects result ")
                                        << result.getResultNumber()
                                        << " to be an auxiliary operand of "
                                           "'attention.forward' or returned";
        diagnostic.attachNote(user->getLoc()) << "it is used here";
        return diagnostic;
      }
  }
  return success();
}

void fa3::attention::nameBlockLists(func::FuncOp function,
                                    MutableArrayRef<HostArgument> arguments) {
  auto describe = [&](unsigned number, StringRef role,
                      ArrayRef<std::string> dims) {
    HostArgument &argument = arguments[number];
    if (!argument.role.empty())
      return;
    auto isTaken = [&](StringRef name) {
      return llvm::any_of(
          arguments, [&](HostArgument &other) { return other.role == name; });
    };
    std::string name = role.str();
    for (unsigned more = 1; isTaken(name); ++more)
      name = (role + Twine(more)).str();
    argument.role = name;
    argument.dims.assign(dims.begin(), dims.end());
  };
  for (auto op : function.getBody().getOps<ListBlocksOp>()) {
    for (auto [name, value] : {std::pair("batch", op.getBatch()),
                               {"heads", op.getHeads()},
                               {"queries", op.getQueries()},
                               {"keys", op.getKeys()}})
      if (auto argument = dyn_cast<BlockArgument>(value))
        describe(argument.getArgNumber(), name, {});
    for (auto [number, value] : llvm::enumerate(op.getAux())) {
      SmallVector<std::string> dims;
      int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
      for (int64_t dim = 0; dim < rank; ++dim)
        dims.push_back("n" + std::to_string(dim));
      describe(cast<BlockArgument>(value).getArgNumber(),
               "aux" + std::to_string(number), dims);
    }
    Operation *ret = function.getBody().front().getTerminator();
    SmallVector<std::string> dims = {"b", "h", "mq", "nk"};
    for (auto [position, value] : llvm::enumerate(ret->getOperands()))
      if (value.getDefiningOp() == op) {
        unsigned which = cast<OpResult>(value).getResultNumber();
        describe(function.getNumArguments() + position, kListNames[which],
                 ArrayRef(dims).take_front(which % 2 ? 4 : 3));
      }
  }
}
