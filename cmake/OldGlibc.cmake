# SPDX-License-Identifier: Apache-2.0
# What is released runs with an older C library than the one of this machine: it is
# linked with libraries that hold the symbols of that version (old_glibc.py), and
# with the few functions that it lacks (lib/OldGlibc). Only links differ.

set(FA3_GLIBC "2.28" CACHE STRING
  "The oldest glibc that what is released runs with; empty: that of this machine")
find_package(Python3 COMPONENTS Interpreter)
find_program(FA3_READELF NAMES "${CMAKE_READELF}" readelf)
# The first version that a C library of the architecture has.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(fa3_first_glibc GLIBC_2.2.5)
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(fa3_first_glibc GLIBC_2.17)
endif()
if(FA3_GLIBC AND NOT (fa3_first_glibc AND FA3_READELF AND
   Python3_Interpreter_FOUND AND CMAKE_SYSTEM_NAME STREQUAL "Linux"))
  message(STATUS "FA3_GLIBC is switched off: it needs Linux on x86-64 or Arm, "
    "Python and readelf")
  set(FA3_GLIBC "" CACHE STRING "" FORCE)
endif()
if(NOT FA3_GLIBC)
  function(fa3_link_old_glibc target)
  endfunction()
  return()
endif()

set(fa3_glibc_folder "${CMAKE_BINARY_DIR}/glibc-${FA3_GLIBC}")
set(fa3_glibc_script "${CMAKE_CURRENT_LIST_DIR}/old_glibc.py")
add_custom_command(OUTPUT "${fa3_glibc_folder}/libc.so"
  COMMAND "${Python3_EXECUTABLE}" "${fa3_glibc_script}" --glibc ${FA3_GLIBC}
          --readelf "${FA3_READELF}" --cc "${CMAKE_C_COMPILER}"
          ${CMAKE_C_COMPILER_ARG1} -- "${fa3_glibc_folder}"
  DEPENDS "${fa3_glibc_script}"
  COMMENT "Writing libraries of glibc ${FA3_GLIBC}" VERBATIM)
add_custom_target(fa3_glibc DEPENDS "${fa3_glibc_folder}/libc.so")

foreach(part Functions Start)
  add_library(fa3_old_glibc_${part} OBJECT EXCLUDE_FROM_ALL
    "${CMAKE_SOURCE_DIR}/lib/OldGlibc/${part}.c")
  set_target_properties(fa3_old_glibc_${part} PROPERTIES
    POSITION_INDEPENDENT_CODE ON UNITY_BUILD OFF)
  target_compile_options(fa3_old_glibc_${part} PRIVATE -Wall -Wextra)
endforeach()
# It runs before anything is set up.
target_compile_options(fa3_old_glibc_Start PRIVATE -fno-stack-protector)
target_compile_definitions(fa3_old_glibc_Start PRIVATE
  FA3_FIRST_GLIBC="${fa3_first_glibc}")

# fa3_link_old_glibc(<target>): a program or a shared library.
function(fa3_link_old_glibc target)
  get_target_property(type ${target} TYPE)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:fa3_old_glibc_Functions>)
  if(type STREQUAL "EXECUTABLE")
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:fa3_old_glibc_Start>)
  endif()
  target_link_options(${target} PRIVATE "-L${fa3_glibc_folder}" -lpthread -ldl
    -Wl,-z,defs)
  add_dependencies(${target} fa3_glibc)
  set_property(TARGET ${target} APPEND PROPERTY
    LINK_DEPENDS "${fa3_glibc_folder}/libc.so")
endfunction()
