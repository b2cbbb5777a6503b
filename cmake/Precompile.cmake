# SPDX-License-Identifier: Apache-2.0
# Upstream headers that many files parse, compiled once (FA3_PRECOMPILE). Most of
# the time of a build goes into parsing them: a file of a pass takes 24 s without
# and 11 s with them. Own headers are no part of this, so that a change to one
# recompiles what includes it and nothing else; every file still includes all that
# it uses, for builds without.

# fa3_add_precompiled(<name> headers...): for fa3_precompile(<target> <name>).
function(fa3_add_precompiled name)
  if(FA3_PRECOMPILE)
    # CMake hangs them on a target, which has to compile something.
    set(source "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "")
    add_library(${name} OBJECT "${source}")
    llvm_update_compile_flags(${name})
    target_precompile_headers(${name} PRIVATE ${ARGN})
  endif()
endfunction()

# fa3_precompile(<target> <name>): to be called once for a target.
function(fa3_precompile target name)
  if(FA3_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()

fa3_add_precompiled(FA3Precompiled
  "<mlir/Dialect/Arith/IR/Arith.h>"
  "<mlir/Dialect/Func/IR/FuncOps.h>"
  "<mlir/Dialect/GPU/IR/GPUDialect.h>"
  "<mlir/Dialect/Math/IR/Math.h>"
  "<mlir/Dialect/MemRef/IR/MemRef.h>"
  "<mlir/Dialect/SCF/IR/SCF.h>"
  "<mlir/Dialect/Tensor/IR/Tensor.h>"
  "<mlir/Dialect/Vector/IR/VectorOps.h>"
  "<mlir/IR/ImplicitLocOpBuilder.h>"
  "<mlir/Pass/PassManager.h>")

# For what writes or reads NVVM, whose header alone takes half a minute.
fa3_add_precompiled(FA3PrecompiledNVVM
  "<mlir/Dialect/Arith/IR/Arith.h>"
  "<mlir/Dialect/GPU/IR/GPUDialect.h>"
  "<mlir/Dialect/LLVMIR/NVVMDialect.h>"
  "<mlir/Dialect/MemRef/IR/MemRef.h>"
  "<mlir/Dialect/SCF/IR/SCF.h>"
  "<mlir/Dialect/Vector/IR/VectorOps.h>"
  "<mlir/IR/ImplicitLocOpBuilder.h>"
  "<mlir/Pass/PassManager.h>"
  "<mlir/Transforms/DialectConversion.h>")
