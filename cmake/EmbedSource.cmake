# SPDX-License-Identifier: MIT
# Flattens a kernel source and what it includes into one C array.
#
#   cmake -DINPUT=cl/xmalloc.cl "-DPATHS=cl;host" -DNAME=xmc_source_library -DOUTPUT=library.c -P EmbedSource.cmake
#
# Each `#include "file"`, found beside the file that has it or in PATHS, becomes the file's text, the first time; sources guard themselves, so that a later
# one adds nothing. Files in SKIP count as included already. `#include <...>` is for the host and goes. `#line` keeps file names and line numbers in
# the compiler's messages. The result is an array of bytes, for which C has no length limit.
cmake_minimum_required(VERSION 3.20)

function(find_source name folder result)
  foreach(path IN ITEMS ${folder} LISTS PATHS)
    if(EXISTS "${path}/${name}")
      get_filename_component(found "${path}/${name}" ABSOLUTE) # without the .. of an include
      set(${result} "${found}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "${INPUT}: no file ${name} in ${PATHS}")
endfunction()

# Appends `file` to `flat`, which always ends without a newline.
function(flatten file)
  get_filename_component(name "${file}" NAME)
  get_filename_component(folder "${file}" DIRECTORY)
  file(READ "${file}" rest)
  string(PREPEND rest "\n") # every directive follows a newline; it also ends the #line in front
  set(line 0)
  string(APPEND flat "#line 1 \"${name}\"")
  while(TRUE)
    string(FIND "${rest}" "\n#include " end)
    if(end EQUAL -1)
      break()
    endif()
    string(SUBSTRING "${rest}" 0 ${end} before)
    math(EXPR end "${end} + 1")
    string(SUBSTRING "${rest}" ${end} -1 rest)
    string(FIND "${rest}" "\n" end)
    string(SUBSTRING "${rest}" 0 ${end} directive)
    string(SUBSTRING "${rest}" ${end} -1 rest)
    string(APPEND flat "${before}\n")
    string(REGEX REPLACE "[^\n]" "" newlines "${before}")
    string(LENGTH "${newlines}" n)
    math(EXPR line "${line} + ${n} + 1") # of the directive
    if(directive MATCHES "^#include \"([^\"]+)\"")
      find_source("${CMAKE_MATCH_1}" "${folder}" included)
      if(NOT included IN_LIST seen)
        list(APPEND seen "${included}")
        flatten("${included}")
        math(EXPR next "${line} + 1")
        string(APPEND flat "\n#line ${next} \"${name}\"")
      endif()
    endif()
  endwhile()
  string(REGEX REPLACE "\n+$" "" rest "${rest}")
  set(flat "${flat}${rest}" PARENT_SCOPE)
  set(seen "${seen}" PARENT_SCOPE)
endfunction()

set(seen "${SKIP}")
set(flat "")
flatten("${INPUT}")
string(HEX "${flat}\n" bytes)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REPEAT "." 100 row)
string(REGEX REPLACE "(${row})" "\\1\n" bytes "${bytes}")
get_filename_component(name "${INPUT}" NAME)
file(WRITE "${OUTPUT}" "/* Made from ${name} and what it includes. */\n"
  "extern const char ${NAME}[];\nconst char ${NAME}[] = {\n${bytes}0x00};\n")
