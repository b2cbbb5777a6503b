//===- Passes.td - fa3-lower-host --------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_CONVERSION_LOWERHOST_PASSES
#define FA3_CONVERSION_LOWERHOST_PASSES

include "mlir/Pass/PassBase.td"

def LowerHost : Pass<"fa3-lower-host", "::mlir::ModuleOp"> {
  let summary = "host functions and calls of attention -> calls of the C runtime";
  let description = [{
    Input: a program on memrefs with `attention.call`, and host functions that
    launch kernels. Output: the same without fa3's dialects, ready for the
    conversions of upstream to LLVM.

    The body of a host function becomes a call of `fa3_host_launch`
    (fa3/Runtime/fa3_host.h) with its arguments as an array of `fa3_arg`; manifest
    and kernels become globals, and the modules of kernels go. The runtime loads
    the kernels with the first call, checks arguments against the manifest, makes
    the tensor maps and launches. Kernels have to be lowered to LLVM
    (fa3-lower-to-nvvm-pipeline).

    With `image=ir` the host function and its kernels are carried as text in
    place of PTX, and `fa3_host_launch` runs them in the interpreter, on the CPU,
    on arrays in host memory. They may be at any level from tile to hopper, or
    attention on memrefs by definition needs no pass like this at all
    (attention-to-reference).

    With `memory=host` arrays are in host memory: a call copies them to the device,
    waits, and copies back what it writes. It is the simple way to put attention
    into a program whose other operations run on the CPU.

    An argument of type !llvm.ptr with the attribute `attention.stream` is the
    stream of its function: what the function calls is launched on it, and not on
    that of the thread. With `workspace=program` memory between the kernels of a
    call is a `memref.alloc` in front of the call, of a static size where shapes
    are static, so that passes on buffers see it; nothing frees it here.

    Fails at calls on tensors (bufferize first), at kernels that are not lowered,
    and at arguments that a manifest does not know.

    [Notes](PassNotes.md#fa3-lower-host) say more.

    Example:
    ```mlir
    attention.call @f(%q, %k, %v : ..) outs(%o : ..)
    // becomes
    call @f(%q, %k, %v, %o) : ..
    func.func private @f(%q: memref<2x?x8x64xf16, strided<[?, ?, ?, ?], offset: ?>>, ..) {
      %args = llvm.alloca %n x !llvm.struct<"fa3_arg", ..> : (i64) -> !llvm.ptr
      ..
      llvm.call @fa3_host_launch(%program, %args, %n) : (!llvm.ptr, !llvm.ptr, i64) -> ()
      return
    }
    llvm.mlir.global internal @f_program() : ..
    ```
  }];
  let options = [
    Option<"image", "image", "::fa3::HostImage", "::fa3::HostImage::PTX",
           "what the program carries of its kernels",
           [{::llvm::cl::values(
               clEnumValN(::fa3::HostImage::PTX, "ptx", "PTX and manifest"),
               clEnumValN(::fa3::HostImage::IR, "ir",
                          "text for the interpreter"))}]>,
    Option<"memory", "memory", "::fa3::HostMemory", "::fa3::HostMemory::Device",
           "where the arrays of the program are",
           [{::llvm::cl::values(
               clEnumValN(::fa3::HostMemory::Device, "device",
                          "on the device"),
               clEnumValN(::fa3::HostMemory::Host, "host",
                          "in host memory: copied around every call"))}]>,
    Option<"launch", "launch", "::fa3::HostLaunch", "::fa3::HostLaunch::Runtime",
           "what launches kernels",
           [{::llvm::cl::values(
               clEnumValN(::fa3::HostLaunch::Runtime, "runtime",
                          "fa3's C runtime"),
               clEnumValN(::fa3::HostLaunch::GPU, "gpu",
                          "gpu.launch_func, with upstream's wrappers"))}]>,
    Option<"workspace", "workspace", "::fa3::HostWorkspace",
           "::fa3::HostWorkspace::Runtime",
           "whose memory is between the kernels of a call",
           [{::llvm::cl::values(
               clEnumValN(::fa3::HostWorkspace::Runtime, "runtime",
                          "of the runtime, kept from call to call"),
               clEnumValN(::fa3::HostWorkspace::Program, "program",
                          "allocated in front of every call"))}]>,
    Option<"chip", "chip", "std::string", "\"sm_90a\"", "target chip">,
    Option<"ptxVersion", "ptx-version", "unsigned", "90",
           "PTX ISA version times ten">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::NVVM::NVVMDialect",
                           "::mlir::scf::SCFDialect"];
  let statistics = [
    Statistic<"numCalls", "calls", "calls of attention lowered">,
    Statistic<"numEmbedded", "embedded", "host functions with kernels">];
}

def MergeVariants : Pass<"fa3-merge-variants", "::mlir::ModuleOp"> {
  let summary = "variants of a host function, each in a module of its own -> one "
                "host function that chooses at the launch";
  let description = [{
    Input: a module of modules, the *variants*. Each has the same host function,
    which launches kernels of its own, and the module of these kernels
    (gpu.module). Each but the last also has a *condition*: a function with the
    arguments of the host function and one result of type i1. Output: the host
    function with the launches of all variants, and one module with all kernels.
    The first variant whose condition holds is launched, the last one if none
    does.

    Fails, before anything changes, at a variant without a host function or a
    condition, or with more than one of these or of modules of kernels; at host
    functions and conditions whose arguments differ; at control flow in either.
    A module without modules in it stays as it is.

    [Notes](PassNotes.md#fa3-merge-variants) say more.

    Example:
    ```mlir
    module @short {
      func.func private @is_short(%a: memref<?xf32>) -> i1 { .. }
      func.func @f(%a: memref<?xf32>) { tile.launch @k::@f blocks %m args(%a) }
      gpu.module @k { gpu.func @f(..) kernel { .. } }
    }
    module @long {
      func.func @f(%a: memref<?xf32>) { tile.launch @k::@f blocks %n args(%a) }
      gpu.module @k { gpu.func @f(..) kernel { .. } }
    }
    // becomes
    func.func @f(%a: memref<?xf32>) {
      %short = ..
      scf.if %short {
        tile.launch @k::@f blocks %m args(%a)
      } else {
        tile.launch @k::@f_1 blocks %n args(%a)
      }
    }
    gpu.module @k { gpu.func @f(..) kernel { .. }  gpu.func @f_1(..) kernel { .. } }
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
  let statistics = [
    Statistic<"numVariants", "variants", "variants of host functions">];
}

#endif // FA3_CONVERSION_LOWERHOST_PASSES
