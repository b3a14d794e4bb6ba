# SPDX-License-Identifier: MIT
# What `cmake --install` puts where, in three components: runtime (the shared library), development (headers, the
# device library's source, CMake's and pkg-config's files) and tools.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(XMALLOC_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/xmalloc)
install(TARGETS xmalloc EXPORT xmallocTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(XMALLOC_BUILD_TOOLS)
  if(BUILD_SHARED_LIBS AND NOT XMALLOC_DEB) # a Debian package's library is where the system looks
    file(RELATIVE_PATH XMALLOC_LIB_FROM_BIN /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
    set_target_properties(xmc-info xmc-heap PROPERTIES INSTALL_RPATH "$ORIGIN/${XMALLOC_LIB_FROM_BIN}")
  endif()
  install(TARGETS xmc-info xmc-heap RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
endif()
install(FILES include/xmalloc.h include/xmalloc.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/cl/ DESTINATION ${CMAKE_INSTALL_DATADIR}/xmalloc/cl COMPONENT development
        FILES_MATCHING PATTERN "*.cl" PATTERN "*.h" PATTERN "*.hpp")
if(XMALLOC_DEVICE_MODULES)
  install(FILES ${XMALLOC_DEVICE_MODULES} DESTINATION ${CMAKE_INSTALL_DATADIR}/xmalloc/device COMPONENT development)
endif()
if(NOT XMALLOC_DEB) # cmake/Packages.cmake
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
endif()
if(XMALLOC_INSTALL_EXAMPLES)
  set(XMALLOC_SAMPLES ${PROJECT_SOURCE_DIR}/tests/samples)
  set(XMALLOC_EXAMPLES_DIR ${CMAKE_INSTALL_DOCDIR}/examples)
  if(XMALLOC_DEB)
    set(XMALLOC_EXAMPLES_DIR ${CMAKE_INSTALL_DATAROOTDIR}/doc/libxmalloc-dev/examples)
  endif()
  file(GLOB examples RELATIVE ${XMALLOC_SAMPLES} CONFIGURE_DEPENDS ${XMALLOC_SAMPLES}/*/CMakeLists.txt)
  foreach(example IN LISTS examples)
    get_filename_component(example ${example} DIRECTORY)
    install(DIRECTORY ${XMALLOC_SAMPLES}/${example} DESTINATION ${XMALLOC_EXAMPLES_DIR} COMPONENT development)
    if(NOT example STREQUAL "readme") # each folder has all that it needs
      install(FILES ${XMALLOC_SAMPLES}/common/sample.h DESTINATION ${XMALLOC_EXAMPLES_DIR}/${example}
              COMPONENT development)
    endif()
  endforeach()
  install(FILES ${XMALLOC_SAMPLES}/README.md DESTINATION ${XMALLOC_EXAMPLES_DIR} COMPONENT development)
endif()
install(EXPORT xmallocTargets NAMESPACE xmalloc:: DESTINATION ${XMALLOC_CMAKE_DIR} COMPONENT development)
configure_package_config_file(cmake/xmallocConfig.cmake.in ${PROJECT_BINARY_DIR}/xmallocConfig.cmake
                              INSTALL_DESTINATION ${XMALLOC_CMAKE_DIR}
                              PATH_VARS CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/xmallocConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/xmallocConfig.cmake ${PROJECT_BINARY_DIR}/xmallocConfigVersion.cmake
        cmake/xmallocEmbed.cmake DESTINATION ${XMALLOC_CMAKE_DIR} COMPONENT development)

set(XMALLOC_PC_LIBS "-lOpenCL") # programs call OpenCL too
set(XMALLOC_PC_CFLAGS "")
if(NOT BUILD_SHARED_LIBS) # few users say --static
  set(XMALLOC_PC_CFLAGS " -DXMALLOC_STATIC_DEFINE")
  string(APPEND XMALLOC_PC_LIBS " -pthread")
endif()
# The prefix is where the file lies, so that the installation can be moved.
file(RELATIVE_PATH XMALLOC_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" XMALLOC_PC_PREFIX "${XMALLOC_PC_PREFIX}")
configure_file(cmake/xmalloc.pc.in ${PROJECT_BINARY_DIR}/xmalloc.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/xmalloc.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
