# Self-contained tools (FA3_STATIC): LLVM, MLIR and the C++ runtime come from
# archives, only libc remains shared, because the runtime opens libcuda with
# dlopen.
#
# Debian's MLIR archives name the shared libLLVM (and some the shared libMLIR) as
# what they need, and LLVMSupport names the shared zstd and z3. The imported
# targets are changed here to name archives.

set(MLIR_LINK_MLIR_DYLIB OFF)
set(LLVM_LINK_LLVM_DYLIB OFF)

find_library(FA3_LIBZ libz.a REQUIRED)
find_library(FA3_LIBZSTD libzstd.a REQUIRED)

# Components of LLVM: IR and its passes, the code generator of the kernels, and
# the compiler of the reference on this machine's CPU.
llvm_map_components_to_libnames(fa3_llvm_archives
  AggressiveInstCombine Analysis BitReader BitWriter CodeGen Core Coroutines
  ExecutionEngine FrontendOpenMP IPO IRReader InstCombine JITLink Linker MC
  MCJIT NVPTXCodeGen NVPTXDesc NVPTXInfo OrcJIT OrcShared OrcTargetProcess
  Passes PerfJITEvents Remarks Support Target TargetParser TransformUtils native)

get_property(fa3_mlir_archives GLOBAL PROPERTY MLIR_ALL_LIBS)
foreach(archive IN LISTS fa3_mlir_archives)
  get_target_property(needs ${archive} INTERFACE_LINK_LIBRARIES)
  if(NOT needs)
    continue()
  endif()
  if("MLIR" IN_LIST needs)
    # Of the archives that need "all of MLIR" only the execution engine is used.
    list(REMOVE_ITEM needs MLIR)
    list(APPEND needs MLIRBuiltinToLLVMIRTranslation
      MLIRExecutionEngineUtils MLIRIR MLIRLLVMDialect
      MLIRLLVMToLLVMIRTranslation MLIROpenMPToLLVMIRTranslation
      MLIRTargetLLVMIRExport)
    list(REMOVE_ITEM needs ${archive})
  endif()
  if("LLVM" IN_LIST needs)
    list(REMOVE_ITEM needs LLVM)
    list(APPEND needs ${fa3_llvm_archives})
  endif()
  list(REMOVE_DUPLICATES needs)
  set_target_properties(${archive} PROPERTIES
    INTERFACE_LINK_LIBRARIES "${needs}")
endforeach()

# Nothing that is used reaches LLVMSupport's solver, so z3 is left out.
set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES
  "rt;dl;m;${FA3_LIBZ};${FA3_LIBZSTD};LLVMDemangle")

add_link_options(-static-libstdc++ -static-libgcc -Wl,--gc-sections -s)
