//===- Quantization.cpp - attention.quantize in host functions ------------===//

#include "fa3/Dialect/Attention/Utils/Quantization.h"
#include "fa3/Support/ContractNames.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::attention;

StringRef fa3::attention::getQuantizedOperand(QuantizeOp op,
                                              ForwardOp forward) {
  if (!forward)
    return {};
  for (auto [name, operand] : {std::pair("q", Value(forward.getQ())),
                               {"k", Value(forward.getK())},
                               {"v", Value(forward.getV())}})
    if (operand.getDefiningOp() == op)
      return name;
  return {};
}

static LogicalResult verifyArgument(QuantizeOp op, StringRef name,
                                    Value value) {
  if (isa<BlockArgument>(value))
    return success();
  InFlightDiagnostic diagnostic = op.emitOpError("expects ")
                                  << name
                                  << " to be an argument of the function";
  diagnostic.attachNote(value.getLoc()) << "it is computed here";
  return diagnostic;
}

static LogicalResult verifyResult(QuantizeOp op, StringRef name, Value result,
                                  ForwardOp forward) {
  bool isUsed = false;
  for (OpOperand &use : result.getUses()) {
    Operation *user = use.getOwner();
    if (user != forward && !isa<func::ReturnOp, tensor::DimOp>(user)) {
      InFlightDiagnostic diagnostic =
          op.emitOpError("expects its ")
          << name << " to be used by 'attention.forward' or returned";
      diagnostic.attachNote(user->getLoc()) << "they are used here";
      return diagnostic;
    }
    isUsed |= !isa<tensor::DimOp>(user);
  }
  if (!isUsed)
    return op.emitOpError("expects its ")
           << name << " to be used by 'attention.forward' or returned";
  return success();
}

LogicalResult fa3::attention::verifyQuantizations(func::FuncOp function,
                                                  ForwardOp forward) {
  for (auto op : function.getBody().getOps<QuantizeOp>()) {
    if (failed(verifyArgument(op, "the source", op.getSource())) ||
        (op.getRotation() &&
         failed(verifyArgument(op, "the matrix", op.getRotation()))) ||
        failed(verifyResult(op, "values", op.getValues(), forward)) ||
        failed(verifyResult(op, "scales", op.getScales(), forward)))
      return failure();
    if (!getQuantizedOperand(op, forward).empty() &&
        op.getLayout() != forward.getLayout())
      return op.emitOpError("expects the layout of the attention that takes "
                            "its values, '")
             << stringifyLayout(forward.getLayout()) << "', got '"
             << stringifyLayout(op.getLayout()) << "'";
  }
  return success();
}

Value fa3::attention::allocateWorkspace(ImplicitLocOpBuilder &b,
                                        RankedTensorType type,
                                        ValueRange extents, const Twine &name) {
  SmallVector<Value> dynamic;
  for (auto [dim, extent] : llvm::enumerate(extents))
    if (type.isDynamicDim(dim))
      dynamic.push_back(extent);
  auto alloc = memref::AllocOp::create(
      b, MemRefType::get(type.getShape(), type.getElementType()), dynamic);
  alloc->setAttr(kArgumentNameAttr, b.getStringAttr(name));
  return alloc;
}
