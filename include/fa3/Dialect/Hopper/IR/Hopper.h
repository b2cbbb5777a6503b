//===- Hopper.h - the hopper dialect ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Instructions of sm_90a; see HopperBase.td.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_HOPPER_IR_HOPPER_H
#define FA3_DIALECT_HOPPER_IR_HOPPER_H

#include "fa3/Dialect/Warp/IR/Warp.h"
#include "fa3/Layout/LinearLayout.h"
#include "fa3/Machine/Chip.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

namespace fa3 {
llvm::hash_code hash_value(const LinearLayout &layout);
} // namespace fa3

namespace fa3::hopper {

struct MachineResource
    : public mlir::SideEffects::Resource::Base<MachineResource> {
  llvm::StringRef getName() final { return "HopperMachine"; }
};

} // namespace fa3::hopper

#include "fa3/Dialect/Hopper/IR/HopperDialect.h.inc"
#include "fa3/Dialect/Hopper/IR/HopperEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "fa3/Dialect/Hopper/IR/HopperAttributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "fa3/Dialect/Hopper/IR/HopperTypes.h.inc"
#define GET_OP_CLASSES
#include "fa3/Dialect/Hopper/IR/HopperOps.h.inc"

#endif // FA3_DIALECT_HOPPER_IR_HOPPER_H
