# SPDX-License-Identifier: Apache-2.0
# Libraries and tools with LLVM, MLIR and the C++ runtime inside; only libc stays
# shared, because the runtime opens libcuda with dlopen. They are linked from the
# objects that the rest of the build tree compiles, so they cost a link only. They
# run with an older C library (OldGlibc.cmake).
#
# Every library <name>, own or upstream, has a twin <name>.static: the same archive,
# which asks for archives in place of the shared libMLIR and libLLVM.

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

# fa3_map_to_static(<variable>): names of libraries to those of their twins. The
# runtime links nothing of LLVM and has none.
macro(fa3_map_to_static variable)
  list(TRANSFORM ${variable} REPLACE "^((FA3|MLIR|LLVM).*)$" "\\1.static")
  list(TRANSFORM ${variable} REPLACE "^FA3Runtime.static$" FA3Runtime)
endmacro()

function(fa3_is_archive target result)
  set(type "")
  if(TARGET ${target})
    get_target_property(type ${target} TYPE)
  endif()
  string(COMPARE EQUAL "${type}" STATIC_LIBRARY is_archive)
  set(${result} ${is_archive} PARENT_SCOPE)
endfunction()

# fa3_add_upstream_twins(): <name>.static for every archive of MLIR and LLVM. The
# archives themselves stay as they are, because two of them, the execution engine,
# are also linked beside the shared libMLIR. Debian's ask for the shared libLLVM
# (and some for the shared libMLIR), and LLVMSupport for the shared zstd and z3.
function(fa3_add_upstream_twins)
  # IR and its passes, the code generator of the kernels, and the compiler of the
  # reference on this machine's CPU.
  llvm_map_components_to_libnames(llvm_archives
    AggressiveInstCombine Analysis BitReader BitWriter CodeGen Core Coroutines
    ExecutionEngine FrontendOpenMP IPO IRReader InstCombine JITLink Linker MC
    MCJIT NVPTXCodeGen NVPTXDesc NVPTXInfo OrcJIT OrcShared OrcTargetProcess
    Passes PerfJITEvents Remarks Support SupportLSP Target TargetParser
    TransformUtils
    native)
  # Of those that need "all of MLIR" only the execution engine is used.
  set(mlir_archives MLIRBuiltinToLLVMIRTranslation MLIRExecutionEngineUtils
    MLIRIR MLIRLLVMDialect MLIRLLVMToLLVMIRTranslation
    MLIROpenMPToLLVMIRTranslation MLIRTargetLLVMIRExport)
  get_property(all_mlir GLOBAL PROPERTY MLIR_ALL_LIBS)
  foreach(archive IN LISTS all_mlir LLVM_AVAILABLE_LIBS)
    # Not all are installed, and some are shared libraries or only headers.
    fa3_is_archive(${archive} is_archive)
    if(NOT is_archive OR TARGET ${archive}.static)
      continue()
    endif()
    get_target_property(needs ${archive} INTERFACE_LINK_LIBRARIES)
    if(NOT needs)
      set(needs "")
    endif()
    # What an archive needs for its own code alone, it still needs.
    list(TRANSFORM needs REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1")
    if("MLIR" IN_LIST needs)
      list(APPEND needs ${mlir_archives})
    endif()
    if("LLVM" IN_LIST needs)
      list(APPEND needs ${llvm_archives})
    endif()
    list(REMOVE_ITEM needs MLIR LLVM ${archive})
    if(archive STREQUAL "LLVMSupport")
      # Nothing that is used reaches its solver, so z3 is left out.
      set(needs rt dl m ${FA3_LIBZ} ${FA3_LIBZSTD} LLVMDemangle)
    endif()
    list(REMOVE_DUPLICATES needs)
    set(static_needs "")
    foreach(need IN LISTS needs)
      fa3_is_archive(${need} is_archive)
      if(is_archive)
        string(APPEND need .static)
      endif()
      list(APPEND static_needs ${need})
    endforeach()
    get_target_property(location ${archive} LOCATION)
    add_library(${archive}.static STATIC IMPORTED GLOBAL)
    set_target_properties(${archive}.static PROPERTIES
      IMPORTED_LOCATION "${location}"
      INTERFACE_LINK_LIBRARIES "${static_needs}")
  endforeach()
endfunction()
if(FA3_SELF_CONTAINED)
  fa3_add_upstream_twins()
endif()

# fa3_add_static_library(<name> [FA3 own...] [MLIR upstream...]): <name>.static.
function(fa3_add_static_library name)
  if(NOT FA3_SELF_CONTAINED)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "MLIR;FA3" ${ARGN})
  get_target_property(directory ${name} ARCHIVE_OUTPUT_DIRECTORY)
  set(needs ${ARG_FA3} ${ARG_MLIR})
  fa3_map_to_static(needs)
  add_library(${name}.static STATIC IMPORTED GLOBAL)
  set_target_properties(${name}.static PROPERTIES
    IMPORTED_LOCATION "${directory}/lib${name}.a"
    INTERFACE_LINK_LIBRARIES "${needs}")
  add_dependencies(${name}.static ${name})
endfunction()

# fa3_check_archives(<target>): an error if what the target links, directly or
# not, reaches a library of LLVM or MLIR that is no twin, or a shared library. One
# such need is enough for a program that asks for libz.so.1 on a machine without.
function(fa3_check_archives target)
  get_target_property(front ${target} LINK_LIBRARIES)
  set(seen "")
  foreach(need IN LISTS front)
    set(from_${need} ${target})
  endforeach()
  while(front)
    set(next "")
    foreach(need IN LISTS front)
      if(need IN_LIST seen OR need MATCHES "^::@")
        continue()
      endif()
      list(APPEND seen "${need}")
      set(type "")
      set(needs "")
      if(TARGET ${need})
        get_target_property(type ${need} TYPE)
        get_target_property(needs ${need} INTERFACE_LINK_LIBRARIES)
      endif()
      set(is_twin FALSE)
      if(need MATCHES "[.]static$" OR type MATCHES "INTERFACE|OBJECT")
        set(is_twin TRUE)
      endif()
      if(need MATCHES "^(MLIR|LLVM)" AND NOT is_twin OR
         need MATCHES "\\$<|[.]so$" OR type STREQUAL "SHARED_LIBRARY")
        message(FATAL_ERROR "${target} is to hold all it needs, but "
          "${from_${need}} links ${need}")
      endif()
      foreach(further IN LISTS needs)
        if(NOT DEFINED from_${further})
          set(from_${further} ${need})
        endif()
        list(APPEND next "${further}")
      endforeach()
    endforeach()
    set(front "${next}")
  endwhile()
endfunction()

# fa3_link_archives(<target> [FA3 own...] [MLIR upstream...])
function(fa3_link_archives target)
  cmake_parse_arguments(ARG "" "" "MLIR;FA3" ${ARGN})
  set(needs ${ARG_FA3} ${ARG_MLIR})
  fa3_map_to_static(needs)
  target_link_libraries(${target} PRIVATE ${needs})
  target_link_options(${target} PRIVATE ${fa3_static_link_options})
  fa3_link_old_glibc(${target})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  # Once all libraries are there. Arguments of a deferred call are evaluated late.
  cmake_language(EVAL CODE "cmake_language(DEFER DIRECTORY [[${CMAKE_SOURCE_DIR}]]
    CALL fa3_check_archives [[${target}]])")
endfunction()

# fa3_add_static_tool(<tool> [FA3 own...] [MLIR upstream...]): <tool>-static, made
# on demand in the folder static/bin of the build tree, under the tool's name.
function(fa3_add_static_tool tool)
  if(NOT FA3_SELF_CONTAINED)
    return()
  endif()
  add_executable(${tool}-static EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${tool}>)
  fa3_link_archives(${tool}-static ${ARGN})
  # They look for no library but libc, so nowhere for any.
  set_target_properties(${tool}-static PROPERTIES
    OUTPUT_NAME ${tool}
    INSTALL_RPATH ""
    INSTALL_RPATH_USE_LINK_PATH OFF
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/static/bin)
  set_property(GLOBAL PROPERTY FA3_LINKS_OF_${tool} ${ARGN})
endfunction()

# fa3_add_static_tools(<name> <tool>...): one program that is each of the tools, by
# the name that it is called by: LLVM is in it once. Its objects are those of the
# tools, with their `main` under other names.
function(fa3_add_static_tools name)
  if(NOT FA3_SELF_CONTAINED)
    return()
  endif()
  set(objects "")
  set(own "")
  set(upstream "")
  set(table "")
  foreach(tool IN LISTS ARGN)
    string(MAKE_C_IDENTIFIER "${tool}_main" main)
    set(object "${CMAKE_CURRENT_BINARY_DIR}/${tool}-main.o")
    add_custom_command(OUTPUT "${object}"
      COMMAND "${CMAKE_OBJCOPY}" --redefine-sym main=${main}
              $<TARGET_OBJECTS:${tool}> "${object}"
      DEPENDS ${tool} $<TARGET_OBJECTS:${tool}> VERBATIM)
    list(APPEND objects "${object}")
    string(APPEND table "TOOL(\"${tool}\", ${main})\n")
    get_property(links GLOBAL PROPERTY FA3_LINKS_OF_${tool})
    cmake_parse_arguments(LINKS "" "" "MLIR;FA3" ${links})
    list(APPEND own ${LINKS_FA3})
    list(APPEND upstream ${LINKS_MLIR})
  endforeach()
  list(REMOVE_DUPLICATES own)
  list(REMOVE_DUPLICATES upstream)
  file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${name}.inc"
    CONTENT "${table}")
  add_executable(${name} EXCLUDE_FROM_ALL ${name}.cpp ${objects})
  target_include_directories(${name} PRIVATE "${CMAKE_CURRENT_BINARY_DIR}")
  fa3_link_archives(${name} FA3 ${own} MLIR ${upstream})
  set_target_properties(${name} PROPERTIES
    INSTALL_RPATH ""
    INSTALL_RPATH_USE_LINK_PATH OFF
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/static/bin)
endfunction()
