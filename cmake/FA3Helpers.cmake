# SPDX-License-Identifier: Apache-2.0
# Helpers shared by fa3's CMakeLists: one call per dialect, per library.

# fa3_add_dialect(<Dialect> <namespace> [APART <name> <operations>]): runs
# tablegen over <Dialect>Ops.td in the current include directory and adds the doc
# target of the dialect. Of the operations that match, which <Dialect><name>Ops.td
# defines, the classes are in files of that name.
function(fa3_add_dialect dialect dialect_namespace)
  cmake_parse_arguments(ARG "" "" "APART" ${ARGN})
  set(LLVM_TARGET_DEFINITIONS ${dialect}Ops.td)
  set(others)
  set(excluded)
  while(ARG_APART)
    list(POP_FRONT ARG_APART apart operations)
    list(APPEND excluded ${operations})
    set(LLVM_TARGET_DEFINITIONS ${dialect}${apart}Ops.td)
    mlir_tablegen(${dialect}${apart}Ops.h.inc -gen-op-decls -dialect=${dialect_namespace}
      -op-include-regex=${operations})
    mlir_tablegen(${dialect}${apart}Ops.cpp.inc -gen-op-defs -dialect=${dialect_namespace}
      -op-include-regex=${operations})
  endwhile()
  if(excluded)
    list(JOIN excluded "\\|" excluded)
    set(others -op-exclude-regex=${excluded})
  endif()
  set(LLVM_TARGET_DEFINITIONS ${dialect}Ops.td)
  mlir_tablegen(${dialect}Ops.h.inc -gen-op-decls -dialect=${dialect_namespace} ${others})
  mlir_tablegen(${dialect}Ops.cpp.inc -gen-op-defs -dialect=${dialect_namespace} ${others})
  mlir_tablegen(${dialect}Types.h.inc -gen-typedef-decls -typedefs-dialect=${dialect_namespace})
  mlir_tablegen(${dialect}Types.cpp.inc -gen-typedef-defs -typedefs-dialect=${dialect_namespace})
  mlir_tablegen(${dialect}Attributes.h.inc -gen-attrdef-decls -attrdefs-dialect=${dialect_namespace})
  mlir_tablegen(${dialect}Attributes.cpp.inc -gen-attrdef-defs -attrdefs-dialect=${dialect_namespace})
  mlir_tablegen(${dialect}Dialect.h.inc -gen-dialect-decls -dialect=${dialect_namespace})
  mlir_tablegen(${dialect}Dialect.cpp.inc -gen-dialect-defs -dialect=${dialect_namespace})
  set(LLVM_TARGET_DEFINITIONS ${dialect}Enums.td)
  mlir_tablegen(${dialect}Enums.h.inc -gen-enum-decls)
  mlir_tablegen(${dialect}Enums.cpp.inc -gen-enum-defs)
  add_public_tablegen_target(FA3${dialect}IncGen)
  add_dependencies(mlir-headers FA3${dialect}IncGen)
  set(LLVM_TARGET_DEFINITIONS ${dialect}Ops.td)
  add_mlir_doc(${dialect}Ops ${dialect}Dialect Dialects/ -gen-dialect-doc -dialect=${dialect_namespace})
endfunction()

# fa3_add_passes(<Prefix>): tablegen of Passes.td in the current directory.
function(fa3_add_passes prefix)
  set(LLVM_TARGET_DEFINITIONS Passes.td)
  mlir_tablegen(Passes.h.inc -gen-pass-decls -name=${prefix})
  add_public_tablegen_target(FA3${prefix}PassIncGen)
  add_dependencies(mlir-headers FA3${prefix}PassIncGen)
  add_mlir_doc(Passes ${prefix}Passes Passes/ -gen-pass-doc)
endfunction()

# fa3_add_library(<name> sources... [PRECOMPILED <name>] [DEPENDS ...] [MLIR
# upstream...] [FA3 own...]): upstream libraries go through
# mlir_target_link_libraries, so that the shared libMLIR is used when there is one.
# cmake/FA3Install.cmake installs what is listed in FA3_ALL_LIBS; of precompiled
# headers cmake/Precompile.cmake has the names.
function(fa3_add_library name)
  cmake_parse_arguments(ARG "" "PRECOMPILED" "DEPENDS;MLIR;FA3" ${ARGN})
  add_mlir_library(${name} ${ARG_UNPARSED_ARGUMENTS} DISABLE_INSTALL
    DEPENDS ${ARG_DEPENDS} mlir-headers)
  # Objects of libraries with headers of their own need those of all, too.
  add_dependencies(obj.${name} mlir-headers)
  if(NOT ARG_PRECOMPILED)
    set(ARG_PRECOMPILED FA3Precompiled)
  endif()
  fa3_precompile(obj.${name} ${ARG_PRECOMPILED})
  if(name IN_LIST FA3_FILE_BY_FILE)
    set_target_properties(obj.${name} PROPERTIES UNITY_BUILD OFF)
  endif()
  mlir_target_link_libraries(${name} PUBLIC ${ARG_MLIR})
  target_link_libraries(${name} PUBLIC ${ARG_FA3})
  target_include_directories(${name} INTERFACE
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set_property(GLOBAL APPEND PROPERTY FA3_ALL_LIBS ${name})
  fa3_add_static_library(${name} FA3 ${ARG_FA3} MLIR ${ARG_MLIR})
endfunction()

# fa3_add_tool(<name> [MLIR upstream...] [FA3 own...]): a tool of <name>.cpp on
# the shared libMLIR, and <name>-static, the same objects linked with archives.
function(fa3_add_tool name)
  cmake_parse_arguments(ARG "" "" "MLIR;FA3" ${ARGN})
  add_mlir_tool(${name} ${name}.cpp)
  target_link_libraries(${name} PRIVATE ${ARG_FA3})
  if(ARG_MLIR)
    mlir_target_link_libraries(${name} PRIVATE ${ARG_MLIR})
  endif()
  set_property(GLOBAL APPEND PROPERTY FA3_TEST_TOOLS ${name})
  fa3_add_static_tool(${name} FA3 ${ARG_FA3} MLIR ${ARG_MLIR})
endfunction()
