//===- AttentionDialect.cpp - the attention dialect -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa3::attention;

#include "fa3/Dialect/Attention/IR/AttentionAttrInterfaces.cpp.inc"
#include "fa3/Dialect/Attention/IR/AttentionDialect.cpp.inc"
#include "fa3/Dialect/Attention/IR/AttentionEnums.cpp.inc"
#include "fa3/Dialect/Attention/IR/AttentionOpInterfaces.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "fa3/Dialect/Attention/IR/AttentionTypes.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "fa3/Dialect/Attention/IR/AttentionAttributes.cpp.inc"

void AttentionDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "fa3/Dialect/Attention/IR/AttentionTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fa3/Dialect/Attention/IR/AttentionAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "fa3/Dialect/Attention/IR/AttentionOps.cpp.inc"
      >();
}
