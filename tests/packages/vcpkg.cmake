# SPDX-License-Identifier: MIT
# Runs cmake/vcpkg/portfile.cmake without vcpkg: what vcpkg's functions do there is done by those below, as far as this
# port relies on it. An argument that vcpkg's function does not know, or a folder that is not there, is an error.
#   cmake -DTREE=... -DSCRATCH=... -P tests/packages/vcpkg.cmake
cmake_minimum_required(VERSION 3.20)
set(PORT xmalloc)
set(FEATURES core tools)
set(CURRENT_PACKAGES_DIR ${SCRATCH}/packages/xmalloc)
set(CURRENT_BUILDTREES_DIR ${SCRATCH}/buildtrees/xmalloc)

function(known_arguments)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "FUNCTION;UNPARSED" "")
  if(NOT "${arg_UNPARSED}" STREQUAL "")
    message(FATAL_ERROR "${arg_FUNCTION} takes no ${arg_UNPARSED}")
  endif()
endfunction()

function(execute)
  execute_process(COMMAND ${ARGV} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGV}:\n${output}")
  endif()
endfunction()

# Each feature named is ON or OFF.
function(vcpkg_check_features)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_FEATURE_OPTIONS" "FEATURES;INVERTED_FEATURES")
  known_arguments(FUNCTION vcpkg_check_features UNPARSED "${arg_UNPARSED_ARGUMENTS}")
  set(options "")
  while(arg_FEATURES)
    list(POP_FRONT arg_FEATURES feature option)
    if(feature IN_LIST FEATURES)
      list(APPEND options -D${option}=ON)
    else()
      list(APPEND options -D${option}=OFF)
    endif()
  endwhile()
  set(${arg_OUT_FEATURE_OPTIONS} "${options}" PARENT_SCOPE)
endfunction()

# Release and debug, the latter with a prefix of its own
function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS;OPTIONS_RELEASE;OPTIONS_DEBUG")
  known_arguments(FUNCTION vcpkg_cmake_configure UNPARSED "${arg_UNPARSED_ARGUMENTS}")
  foreach(kind IN ITEMS Release Debug)
    if(kind STREQUAL "Debug")
      set(prefix ${CURRENT_PACKAGES_DIR}/debug)
    else()
      set(prefix ${CURRENT_PACKAGES_DIR})
    endif()
    execute(${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${CURRENT_BUILDTREES_DIR}/${kind} -DCMAKE_BUILD_TYPE=${kind}
            -DCMAKE_INSTALL_PREFIX=${prefix} -DBUILD_SHARED_LIBS=OFF -DCMAKE_INSTALL_LIBDIR=lib ${arg_OPTIONS})
  endforeach()
endfunction()

function(vcpkg_cmake_install)
  foreach(kind IN ITEMS Release Debug)
    execute(${CMAKE_COMMAND} --build ${CURRENT_BUILDTREES_DIR}/${kind} --parallel 2 --target install)
  endforeach()
endfunction()

# vcpkg moves the files to share/xmalloc and adds debug's; here they stay.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "PACKAGE_NAME;CONFIG_PATH" "")
  known_arguments(FUNCTION vcpkg_cmake_config_fixup UNPARSED "${arg_UNPARSED_ARGUMENTS}")
  foreach(prefix IN ITEMS ${CURRENT_PACKAGES_DIR} ${CURRENT_PACKAGES_DIR}/debug)
    if(NOT EXISTS ${prefix}/${arg_CONFIG_PATH}/${PORT}Config.cmake)
      message(FATAL_ERROR "no ${prefix}/${arg_CONFIG_PATH}/${PORT}Config.cmake")
    endif()
  endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
  if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/lib/pkgconfig/${PORT}.pc)
    message(FATAL_ERROR "no lib/pkgconfig/${PORT}.pc")
  endif()
endfunction()

function(vcpkg_copy_tools)
  cmake_parse_arguments(PARSE_ARGV 0 arg "AUTO_CLEAN" "" "TOOL_NAMES")
  known_arguments(FUNCTION vcpkg_copy_tools UNPARSED "${arg_UNPARSED_ARGUMENTS}")
  foreach(tool IN LISTS arg_TOOL_NAMES)
    file(COPY ${CURRENT_PACKAGES_DIR}/bin/${tool} DESTINATION ${CURRENT_PACKAGES_DIR}/tools/${PORT})
  endforeach()
  file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/bin ${CURRENT_PACKAGES_DIR}/debug/bin)
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "COMMENT" "FILE_LIST")
  known_arguments(FUNCTION vcpkg_install_copyright UNPARSED "${arg_UNPARSED_ARGUMENTS}")
  file(INSTALL ${arg_FILE_LIST} DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT} RENAME copyright)
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
include(${TREE}/cmake/vcpkg/portfile.cmake)

# vcpkg refuses a port that leaves any of these.
foreach(wrong IN ITEMS bin debug/bin debug/include debug/share)
  if(EXISTS ${CURRENT_PACKAGES_DIR}/${wrong})
    message(FATAL_ERROR "${wrong} must not be there")
  endif()
endforeach()
foreach(needed IN ITEMS include/xmalloc.h lib/libxmalloc.a debug/lib/libxmalloc.a share/xmalloc/copyright
        share/xmalloc/usage tools/xmalloc/xmc-info)
  if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/${needed})
    message(FATAL_ERROR "${needed} is missing")
  endif()
endforeach()
