//===- HopperBase.td - the hopper dialect ------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_HOPPER_BASE
#define FA3_HOPPER_BASE

include "mlir/IR/OpBase.td"

def Hopper_Dialect : Dialect {
  let name = "hopper";
  let cppNamespace = "::fa3::hopper";
  let summary = "which instructions: mbarriers, TMA, wgmma, per-thread fragments";
  let description = [{
    Instructions of sm_90a, one operation per idea of the PTX ISA. Code inside a
    `warp.group` runs on all threads of the group in step: scalars are the same
    in every thread, a `vector` is the part of a tile that one thread holds (a
    *fragment*; `#hopper.fragment` says which part).

    Operations on barriers and TMA are performed by one thread of the group, its
    *elected thread* (thread 0); the others pass by.

    A host function says how kernels are launched: `hopper.launch` with
    arguments computed from memrefs and scalars. It is what the launch manifest
    is written from.
  }];
  let dependentDialects = ["::fa3::warp::WarpDialect", "::mlir::LLVM::LLVMDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

#endif // FA3_HOPPER_BASE
