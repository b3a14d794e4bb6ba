# SPDX-License-Identifier: MIT
# Text files inside a program, so that it finds its kernels wherever it is started from.
#
#   find_package(xmalloc REQUIRED)
#   add_executable(list list.c)
#   xmalloc_embed(list list.cl)
#
# lets list.c say
#
#   #include "list.cl.h"      // static const char list_cl[] = "…": the text of list.cl
#
# Each file becomes a header in the build folder, made anew when the file changes. The array's name is the file's, with
# _ for whatever cannot stand in a name. The text is not changed: xmcCreateProgramWithSource finds the library's source
# for `#include "xmalloc.cl"` itself.

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE) # cmake -DINPUT=… -DOUTPUT=… -DNAME=… -P xmallocEmbed.cmake
  file(READ "${INPUT}" bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  string(REPEAT "." 98 row) # 14 bytes
  string(REGEX REPLACE "(${row})" "\\1\n" bytes "${bytes}")
  file(WRITE "${OUTPUT}" "static const char ${NAME}[] = {\n${bytes}0};\n")
  return()
endif()

function(xmalloc_embed target)
  foreach(file IN LISTS ARGN)
    get_filename_component(input "${file}" ABSOLUTE)
    get_filename_component(base "${file}" NAME)
    string(MAKE_C_IDENTIFIER "${base}" name)
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}_embedded")
    file(MAKE_DIRECTORY "${folder}")
    add_custom_command(
      OUTPUT "${folder}/${base}.h"
      COMMAND "${CMAKE_COMMAND}" "-DINPUT=${input}" "-DOUTPUT=${folder}/${base}.h" "-DNAME=${name}"
              -P "${CMAKE_CURRENT_FUNCTION_LIST_FILE}"
      DEPENDS "${input}" "${CMAKE_CURRENT_FUNCTION_LIST_FILE}"
      COMMENT "Embedding ${base}"
      VERBATIM)
    target_sources(${target} PRIVATE "${folder}/${base}.h")
    target_include_directories(${target} PRIVATE "${folder}")
  endforeach()
endfunction()
