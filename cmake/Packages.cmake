# SPDX-License-Identifier: MIT
# Debian packages, from the components of cmake/Install.cmake:
#   cmake --preset deb && cmake --build build-deb && (cd build-deb && cpack)
# gives libxmalloc0.2 (the shared library), libxmalloc-dev and xmalloc-tools. XMALLOC_DEB adds what Debian wants of a
# package: its copyright and its changelog.
set(XMALLOC_DEB_RUNTIME libxmalloc${XMALLOC_SOVERSION})
set(XMALLOC_DEB_DEVELOPMENT libxmalloc-dev)
set(XMALLOC_DEB_TOOLS xmalloc-tools)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME xmalloc)
set(CPACK_PACKAGE_VENDOR "XMalloc for OpenCL")
set(CPACK_PACKAGE_CONTACT "XMalloc for OpenCL contributors <xmalloc@localhost.localdomain>"
    CACHE STRING "Maintainer of the packages: whoever publishes them gives a name and an address")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "dynamic memory for OpenCL kernels")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime development tools)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}) # libxmalloc itself, for the tools
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(about "malloc and free that any work-item of any OpenCL kernel can call.")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ${XMALLOC_DEB_RUNTIME})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "${about}\nThis package has the shared library.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME ${XMALLOC_DEB_DEVELOPMENT})
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "${XMALLOC_DEB_RUNTIME} (= ${PROJECT_VERSION}), ocl-icd-opencl-dev | opencl-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS opencl-clhpp-headers)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
    "${about}\nThis package has the headers for C and C++, the device library's source,\nand the files for CMake and pkg-config.")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME ${XMALLOC_DEB_TOOLS})
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "${XMALLOC_DEB_RUNTIME} (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION
    "${about}\nThis package has xmc-info, which tells what a device can do, and xmc-heap,\nwhich looks into saved heaps.")

option(XMALLOC_DEB "Install what Debian packages need beside the files" OFF)
if(XMALLOC_DEB)
  # Debian's form has a date and a maintainer, which CHANGELOG.md has not.
  string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
  file(WRITE ${PROJECT_BINARY_DIR}/changelog "xmalloc (${PROJECT_VERSION}) unstable; urgency=medium\n\n"
       "  * The changes are in CHANGELOG.md of the source.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${now}\n")
  find_program(XMALLOC_GZIP gzip REQUIRED)
  execute_process(COMMAND ${XMALLOC_GZIP} -9nf ${PROJECT_BINARY_DIR}/changelog COMMAND_ERROR_IS_FATAL ANY)
  foreach(component IN ITEMS RUNTIME DEVELOPMENT TOOLS)
    string(TOLOWER ${component} name)
    set(folder ${CMAKE_INSTALL_DATAROOTDIR}/doc/${XMALLOC_DEB_${component}})
    install(FILES LICENSE DESTINATION ${folder} RENAME copyright COMPONENT ${name})
    install(FILES ${PROJECT_BINARY_DIR}/changelog.gz DESTINATION ${folder} COMPONENT ${name})
  endforeach()
  file(WRITE ${PROJECT_BINARY_DIR}/triggers "activate-noawait ldconfig\n")
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/triggers)
endif()
include(CPack)
