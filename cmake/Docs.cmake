# SPDX-License-Identifier: MIT
# The documentation: manual pages of the reference (include/README.md), installed with what they describe, and HTML of the comments in the sources
# by `cmake --build build --target docs` where there is a doxygen.
find_program(XMALLOC_AWK NAMES awk mawk gawk)
set(XMALLOC_MAN_DIR ${PROJECT_BINARY_DIR}/man)
if(XMALLOC_AWK)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
               ${PROJECT_SOURCE_DIR}/include/README.md ${PROJECT_SOURCE_DIR}/cmake/man.awk)
  file(REMOVE_RECURSE ${XMALLOC_MAN_DIR})
  file(MAKE_DIRECTORY ${XMALLOC_MAN_DIR}/man1 ${XMALLOC_MAN_DIR}/man3)
  execute_process(COMMAND ${XMALLOC_AWK} -v folder=${XMALLOC_MAN_DIR} -v version=${PROJECT_VERSION}
                          -f ${PROJECT_SOURCE_DIR}/cmake/man.awk ${PROJECT_SOURCE_DIR}/include/README.md)
  if(XMALLOC_DEB) # Debian's manual pages are compressed.
    file(GLOB pages ${XMALLOC_MAN_DIR}/man*/*)
    execute_process(COMMAND gzip -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
  endif()
endif()
if(XMALLOC_INSTALL)
  install(FILES include/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
  install(DIRECTORY include/guides DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
  if(XMALLOC_AWK)
    install(DIRECTORY ${XMALLOC_MAN_DIR}/man3 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT development)
    if(XMALLOC_BUILD_TOOLS)
      install(DIRECTORY ${XMALLOC_MAN_DIR}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT tools)
    endif()
  endif()
endif()

find_program(XMALLOC_DOXYGEN doxygen)
if(XMALLOC_DOXYGEN)
  configure_file(cmake/Doxyfile.in ${PROJECT_BINARY_DIR}/Doxyfile @ONLY)
  add_custom_target(docs COMMAND ${XMALLOC_DOXYGEN} ${PROJECT_BINARY_DIR}/Doxyfile VERBATIM
                    COMMENT "HTML of the API in docs/html")
endif()
