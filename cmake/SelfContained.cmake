# Libraries and tools with LLVM, MLIR and the C++ runtime inside; only libc stays
# shared, because the runtime opens libcuda with dlopen. They are linked from the
# objects that the rest of the build tree compiles, so they cost a link only.
#
# Every library <name> has a second target <name>.static: the same archive, which
# asks for archives of MLIR in place of the shared libMLIR.

option(FA3_SELF_CONTAINED
  "Targets with LLVM inside: libfa3, the package's tools" ON)
find_library(FA3_LIBZ libz.a)
find_library(FA3_LIBZSTD libzstd.a)
if(FA3_SELF_CONTAINED AND
   NOT (FA3_LIBZ AND FA3_LIBZSTD AND TARGET MLIRIR AND TARGET LLVMSupport))
  message(STATUS
    "No archives of LLVM, MLIR, z or zstd: FA3_SELF_CONTAINED is switched off")
  set(FA3_SELF_CONTAINED OFF CACHE BOOL "" FORCE)
endif()

# A link with archives of LLVM takes GNU ld half a minute and lld three seconds.
find_program(FA3_LLD ld.lld PATHS "${LLVM_TOOLS_BINARY_DIR}" NO_DEFAULT_PATH)
set(fa3_static_link_options
  -static-libstdc++ -static-libgcc -Wl,--gc-sections -Wl,--build-id=sha1 -s)
if(FA3_LLD)
  get_filename_component(fa3_lld_dir "${FA3_LLD}" DIRECTORY)
  list(APPEND fa3_static_link_options -fuse-ld=lld "-B${fa3_lld_dir}")
endif()

# fa3_use_archives(): changes what imported archives of MLIR ask for. Debian's
# name the shared libLLVM (and some the shared libMLIR), and LLVMSupport names the
# shared zstd and z3.
function(fa3_use_archives)
  # IR and its passes, the code generator of the kernels, and the compiler of the
  # reference on this machine's CPU.
  llvm_map_components_to_libnames(llvm_archives
    AggressiveInstCombine Analysis BitReader BitWriter CodeGen Core Coroutines
    ExecutionEngine FrontendOpenMP IPO IRReader InstCombine JITLink Linker MC
    MCJIT NVPTXCodeGen NVPTXDesc NVPTXInfo OrcJIT OrcShared OrcTargetProcess
    Passes PerfJITEvents Remarks Support Target TargetParser TransformUtils
    native)
  get_property(mlir_archives GLOBAL PROPERTY MLIR_ALL_LIBS)
  foreach(archive IN LISTS mlir_archives)
    get_target_property(needs ${archive} INTERFACE_LINK_LIBRARIES)
    if(NOT needs)
      continue()
    endif()
    if("MLIR" IN_LIST needs)
      # Of those that need "all of MLIR" only the execution engine is used.
      list(REMOVE_ITEM needs MLIR)
      list(APPEND needs MLIRBuiltinToLLVMIRTranslation
        MLIRExecutionEngineUtils MLIRIR MLIRLLVMDialect
        MLIRLLVMToLLVMIRTranslation MLIROpenMPToLLVMIRTranslation
        MLIRTargetLLVMIRExport)
      list(REMOVE_ITEM needs ${archive})
    endif()
    if("LLVM" IN_LIST needs)
      list(REMOVE_ITEM needs LLVM)
      list(APPEND needs ${llvm_archives})
    endif()
    list(REMOVE_DUPLICATES needs)
    set_target_properties(${archive} PROPERTIES
      INTERFACE_LINK_LIBRARIES "${needs}")
  endforeach()
  # Nothing that is used reaches LLVMSupport's solver, so z3 is left out.
  set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES
    "rt;dl;m;${FA3_LIBZ};${FA3_LIBZSTD};LLVMDemangle")
endfunction()
if(FA3_SELF_CONTAINED)
  fa3_use_archives()
endif()

# fa3_map_to_static(<variable>): names of own libraries to those of their twins.
# The runtime links nothing of LLVM and has none; what is not in the shared
# libMLIR is named as it is.
macro(fa3_map_to_static variable)
  list(TRANSFORM ${variable} REPLACE "^(FA3.*)$" "\\1.static")
  list(TRANSFORM ${variable} REPLACE "^FA3Runtime.static$" FA3Runtime)
endmacro()

# fa3_add_static_library(<name> [FA3 own...] [MLIR upstream...]): <name>.static.
function(fa3_add_static_library name)
  if(NOT FA3_SELF_CONTAINED)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "MLIR;FA3" ${ARGN})
  get_target_property(directory ${name} ARCHIVE_OUTPUT_DIRECTORY)
  fa3_map_to_static(ARG_FA3)
  add_library(${name}.static STATIC IMPORTED GLOBAL)
  set_target_properties(${name}.static PROPERTIES
    IMPORTED_LOCATION "${directory}/lib${name}.a"
    INTERFACE_LINK_LIBRARIES "${ARG_FA3};${ARG_MLIR}")
  add_dependencies(${name}.static ${name})
endfunction()

# fa3_link_archives(<target> [FA3 own...] [MLIR upstream...])
function(fa3_link_archives target)
  cmake_parse_arguments(ARG "" "" "MLIR;FA3" ${ARGN})
  fa3_map_to_static(ARG_FA3)
  target_link_libraries(${target} PRIVATE ${ARG_FA3} ${ARG_MLIR})
  target_link_options(${target} PRIVATE ${fa3_static_link_options})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
endfunction()

# fa3_add_static_tool(<tool> [FA3 own...] [MLIR upstream...]): <tool>-static, made
# on demand in the folder static/bin of the build tree, under the tool's name.
function(fa3_add_static_tool tool)
  if(NOT FA3_SELF_CONTAINED)
    return()
  endif()
  add_executable(${tool}-static EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${tool}>)
  fa3_link_archives(${tool}-static ${ARGN})
  set_target_properties(${tool}-static PROPERTIES
    OUTPUT_NAME ${tool}
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/static/bin)
endfunction()
