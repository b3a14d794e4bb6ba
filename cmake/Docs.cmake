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
  # The reference and the guides, with links to where the examples and the pictures are after the installation
  set(XMALLOC_DOC_DIR ${PROJECT_BINARY_DIR}/doc)
  set(examples examples)
  if(XMALLOC_DEB)
    set(examples ../libxmalloc-dev/examples)
  endif()
  file(GLOB pages RELATIVE ${PROJECT_SOURCE_DIR}/include CONFIGURE_DEPENDS
       ${PROJECT_SOURCE_DIR}/include/README.md ${PROJECT_SOURCE_DIR}/include/guides/*.md)
  foreach(page IN LISTS pages)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/${page})
    file(READ include/${page} text)
    string(REPLACE "](../../tests/samples" "](../${examples}" text "${text}")
    string(REPLACE "](../tests/samples" "](${examples}" text "${text}")
    string(REPLACE "](../../bench/results/" "](pictures/" text "${text}")
    string(REPLACE "](../../CHANGELOG.md" "](../CHANGELOG.md" text "${text}")
    file(WRITE ${XMALLOC_DOC_DIR}/${page} "${text}")
  endforeach()
  file(GLOB pictures bench/results/heap-map-*.svg bench/results/graph-*.svg bench/results/wordcount-*.svg)
  install(FILES ${XMALLOC_DOC_DIR}/README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
  install(DIRECTORY ${XMALLOC_DOC_DIR}/guides DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
  if(pictures) # the Conan recipe takes no results
    install(FILES ${pictures} DESTINATION ${CMAKE_INSTALL_DOCDIR}/guides/pictures COMPONENT development)
  endif()
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
