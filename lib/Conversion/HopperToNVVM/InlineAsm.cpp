//===- InlineAsm.cpp - PTX statements in the llvm dialect -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "InlineAsm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fa3;

/// Register class of the NVPTX inline assembly constraints.
static StringRef getRegisterClass(Type type) {
  if (type.isF32())
    return "f";
  if (type.isF64())
    return "d";
  if (type.isInteger(1))
    return "b";
  if (type.isInteger(16))
    return "h";
  if (type.isInteger(32))
    return "r";
  // Addresses and 64-bit integers.
  return "l";
}

unsigned InlineAsm::addOutput(Type type, bool early) {
  constraints.push_back(((early ? "=&" : "=") + getRegisterClass(type)).str());
  outputs.push_back(type);
  return outputs.size() - 1;
}

unsigned InlineAsm::addInput(Value value) {
  constraints.push_back(getRegisterClass(value.getType()).str());
  inputs.push_back(value);
  return outputs.size() + inputs.size() - 1;
}

void InlineAsm::addTied(Value value, unsigned output) {
  constraints.push_back(std::to_string(output));
  inputs.push_back(value);
}

SmallVector<Value> InlineAsm::emit(const Twine &text) {
  Type result;
  if (outputs.size() == 1)
    result = outputs.front();
  else if (!outputs.empty())
    result = LLVM::LLVMStructType::getLiteral(builder.getContext(), outputs);
  constraints.push_back("~{memory}");
  auto op = LLVM::InlineAsmOp::create(
      builder, loc, result ? TypeRange(result) : TypeRange(), inputs,
      text.str(), llvm::join(constraints, ","), /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      /*asm_dialect=*/LLVM::AsmDialectAttr(), /*operand_attrs=*/ArrayAttr());
  if (outputs.size() <= 1)
    return llvm::to_vector_of<Value>(op->getResults());
  SmallVector<Value> values;
  for (int64_t i = 0, e = outputs.size(); i < e; ++i)
    values.push_back(
        LLVM::ExtractValueOp::create(builder, loc, op.getRes(), i));
  return values;
}

void fa3::emitPredicatedAsm(OpBuilder &builder, Location loc, Value predicate,
                            const Twine &text, ValueRange inputs) {
  InlineAsm statement(builder, loc);
  for (Value input : inputs)
    statement.addInput(input);
  if (!predicate) {
    statement.emit(text);
    return;
  }
  unsigned number = statement.addInput(predicate);
  statement.emit("@$" + Twine(number) + " " + text);
}

/// Elements of the type that share one 32-bit register; 0 if there is no form.
static int64_t getElementsPerRegister(Type element) {
  if (element.isIndex())
    return 1;
  if (!element.isIntOrFloat())
    return 0;
  switch (element.getIntOrFloatBitWidth()) {
  case 8:
    return 4;
  case 16:
    return 2;
  case 32:
  case 64:
    return 1;
  default:
    return 0;
  }
}

bool fa3::isPackable(VectorType type) {
  int64_t perRegister = getElementsPerRegister(type.getElementType());
  return type.getRank() == 1 && perRegister != 0 &&
         type.getNumElements() % perRegister == 0;
}

SmallVector<Value> fa3::unpackRegisters(OpBuilder &builder, Location loc,
                                        Value fragment) {
  auto type = cast<VectorType>(fragment.getType());
  int64_t perRegister = getElementsPerRegister(type.getElementType());
  auto packed = VectorType::get(type.getNumElements() / perRegister,
                                builder.getI32Type());
  if (type.getElementType().isIndex())
    fragment = arith::IndexCastOp::create(builder, loc, packed, fragment);
  else if (perRegister != 1)
    fragment = vector::BitCastOp::create(builder, loc, packed, fragment);
  return llvm::to_vector_of<Value>(
      vector::ToElementsOp::create(builder, loc, fragment).getElements());
}

Value fa3::packRegisters(OpBuilder &builder, Location loc, ValueRange registers,
                         VectorType type) {
  int64_t perRegister = getElementsPerRegister(type.getElementType());
  auto packed = VectorType::get(type.getNumElements() / perRegister,
                                registers.front().getType());
  Value fragment =
      vector::FromElementsOp::create(builder, loc, packed, registers);
  if (type.getElementType().isIndex())
    return arith::IndexCastOp::create(builder, loc, type, fragment);
  if (perRegister != 1)
    return vector::BitCastOp::create(builder, loc, type, fragment);
  return fragment;
}
