//===- Passes.td - hopper to nvvm and llvm -----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_HOPPERTONVVM_PASSES
#define FA3_HOPPERTONVVM_PASSES

include "mlir/Pass/PassBase.td"
include "fa3/Options/Options.td"

def ConvertHopperToNVVM : Pass<"convert-hopper-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "kernels of hopper and warp -> llvm.func of nvvm, scf, arith, vector";
  let description = [{
    Turns every `gpu.func` kernel of the module into an `llvm.func` that holds no
    operation of hopper, warp or gpu any more. Arithmetic, vectors and structured
    control flow stay for the upstream conversions (see
    convert-kernel-to-llvm); `index` is 32 bits wide from here on.

    Input: kernels with `known_block_size`, groups with `at`, allocations with
    `offset`, waits with `pending`, that is, after hopper-pack-warpgroups,
    hopper-allocate-smem and hopper-insert-waits. Fails with a located diagnostic
    where one of them is missing or an operation has no instruction on sm_90a.

    Kernel arguments: a tensor map is passed by value as 128 bytes in parameter
    space, an address is a pointer to global memory. Each gets an attribute
    `hopper.access` (`read`, `write` or `readwrite`): what the kernel does
    through it.

    Groups become branches on the warp number. A group that holds neither
    fragments nor anything done by several warps together runs in one thread per
    replica; in other groups the elected thread's instructions are predicated.

    Products: one asm statement per instruction with the accumulator tied from
    input to output, so that neither LLVM nor ptxas has a reason to copy it.
    `hopper.wgmma.wait` and `hopper.wgmma.fence` tie their values too: arithmetic
    on registers is invisible to memory clobbers and would move past them.

    Example:
    ```mlir
    hopper.barrier.arrive %b[%i] : !hopper.barrier<2, 3>
    ```
    becomes
    ```mlir
    llvm.inline_asm has_side_effects "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}" %address, %elected : (i32, i1) -> ()
    ```
  }];
  let options = [
    Option_ReductionChains,
    Option_LLVMPasses,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect",
  ];
  let statistics = [
    Statistic<"numKernels", "kernels", "kernels converted">
  ];
}

def ConvertKernelToLLVM : Pass<"convert-kernel-to-llvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "arith, math, vector, cf, ub in kernels -> llvm, with 32-bit index";
  let description = [{
    The upstream conversions of these dialects in one step, so that all agree on
    the width of `index`.

    Input: `llvm.func` without structured control flow (convert-scf-to-cf).
    Output: llvm and nvvm only. Fails on any operation that is left.

    Example: `%r = arith.addi %a, %b : index` becomes `llvm.add %a, %b : i32`.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::vector::VectorDialect",
  ];
}

#endif // FA3_HOPPERTONVVM_PASSES
