# SPDX-License-Identifier: MIT
# Writes the kernels as C arrays: cmake -DOUTPUT=f.c -DINPUTS=a.cl,b.cl -P embed.cmake
string(REPLACE "," ";" INPUTS "${INPUTS}")
set(arrays "")
set(table "")
set(i 0)
foreach(input IN LISTS INPUTS)
  file(READ "${input}" hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  get_filename_component(name "${input}" NAME)
  string(APPEND arrays "static const unsigned char text_${i}[] = {${bytes}0};\n")
  string(APPEND table "    {\"${name}\", (const char *)text_${i}},\n")
  math(EXPR i "${i} + 1")
endforeach()
file(WRITE "${OUTPUT}" "#include \"bench_kernels.h\"
${arrays}const bench_source bench_sources[] = {
${table}};
const size_t bench_source_count = ${i};
")
