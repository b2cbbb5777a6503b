# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts beside the tools: the runtime, headers (also the
# generated ones), libraries and the package that find_package(FA3) reads.

include(CMakePackageConfigHelpers)

# Component python: what the wheel has beside the package (pyproject.toml). It is
# not part of a plain install.
if(FA3_SELF_CONTAINED)
  install(TARGETS fa3 fa3_runtime DESTINATION fa3/_lib COMPONENT python
    EXCLUDE_FROM_ALL)
  if(TARGET fa3_native)
    install(TARGETS fa3_native DESTINATION fa3/_lib COMPONENT python
      EXCLUDE_FROM_ALL)
  endif()
  install(DIRECTORY python/fa3_runtime DESTINATION fa3 COMPONENT python
    EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)
  install(TARGETS fa3 DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()

# The archive of scripts/package.sh: cmake --install --component release --strip.
if(FA3_SELF_CONTAINED)
  install(TARGETS fa3-tools
    RUNTIME DESTINATION bin COMPONENT release EXCLUDE_FROM_ALL)
endif()
install(TARGETS fa3_runtime
  LIBRARY DESTINATION lib COMPONENT release EXCLUDE_FROM_ALL)

set(fa3_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/fa3")
get_property(fa3_libraries GLOBAL PROPERTY FA3_ALL_LIBS)

install(DIRECTORY include/fa3/Runtime
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/fa3")
install(DIRECTORY python/fa3_runtime DESTINATION "${CMAKE_INSTALL_DATADIR}/fa3"
  FILES_MATCHING PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)
foreach(library FA3Runtime fa3_runtime)
  target_include_directories(${library} INTERFACE
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
install(TARGETS ${fa3_libraries} FA3Runtime fa3_runtime FA3-C
  FA3-MLIR-C
  EXPORT FA3Targets
  DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(TARGETS FA3Plugin DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY include/ "${CMAKE_CURRENT_BINARY_DIR}/include/"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "*.td" PATTERN "*.inc"
  PATTERN "CMakeFiles" EXCLUDE)
install(EXPORT FA3Targets DESTINATION "${fa3_package_dir}")

configure_package_config_file(cmake/FA3Config.cmake.in FA3Config.cmake
  INSTALL_DESTINATION "${fa3_package_dir}"
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(FA3ConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/FA3Config.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/FA3ConfigVersion.cmake"
  DESTINATION "${fa3_package_dir}")
