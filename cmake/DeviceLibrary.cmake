# SPDX-License-Identifier: MIT
# The device library as modules for toolchains that link their kernels themselves, where clang and SPIR-V's translator are:
#
#   xmalloc.TARGET.bc       the functions with a heap argument (include/README.md), as LLVM bitcode
#   xmalloc-std.TARGET.bc   malloc, operator new and the like over the default heap (cl/link/std.cl), weak
#   xmalloc.spv, xmalloc-std.spv   the same in SPIR-V 1.1, which has no weak symbols
#
# for spir64, spirv64 and those of AMD's GPUs that this clang knows. The target xmalloc_device builds them; they are installed
# in ${datadir}/xmalloc/device, which xmalloc_DEVICE_DIR and pkg-config's variable devicedir name.
#
# For spir64, spirv64 and SPIR-V `opt` puts small functions where they are called and does little else: some passes of the usual
# levels make integers of widths that SPIR-V does not have, while PoCL takes minutes for a deep graph of calls.
option(XMALLOC_BUILD_DEVICE "Build the device library as LLVM bitcode and SPIR-V, where clang and llvm-spirv are" ${XMALLOC_TOP_LEVEL})
set(XMALLOC_DEVICE_DIR ${PROJECT_BINARY_DIR}/device)
set(XMALLOC_DEVICE_MODULES "")
if(NOT XMALLOC_BUILD_DEVICE)
  return()
endif()

find_program(XMALLOC_CLANG NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14)
if(NOT XMALLOC_CLANG)
  message(STATUS "clang not found: the device library is not built as bitcode and SPIR-V")
  return()
endif()
execute_process(COMMAND ${XMALLOC_CLANG} --version OUTPUT_VARIABLE version)
string(REGEX REPLACE ".*clang version ([0-9]+).*" "\\1" version "${version}")
set(XMALLOC_CLANG_VERSION ${version})
find_program(XMALLOC_LLVM_SPIRV NAMES llvm-spirv-${version} llvm-spirv)
find_program(XMALLOC_OPT NAMES opt-${version} opt)
find_program(XMALLOC_SPIRV_VAL spirv-val)
if(NOT XMALLOC_LLVM_SPIRV OR NOT XMALLOC_OPT)
  message(STATUS "opt or llvm-spirv of LLVM ${version} not found: no SPIR-V of the device library (Debian: llvm-${version} llvm-spirv-${version})")
endif()

set(common -x cl -cl-std=CL2.0 -Xclang -finclude-default-header -I${PROJECT_SOURCE_DIR}/cl -Wall -Wextra -Werror
    -Wno-unused-function -Wno-ignored-pragmas -emit-llvm -c)
set(XMALLOC_SPIR_FLAGS -target spir64 -O2 -Xclang -disable-llvm-passes -Xclang -finclude-default-header -I${PROJECT_SOURCE_DIR}/cl
    -emit-llvm -c) # the tests' modules, too
set(XMALLOC_SPIR_PASSES "-passes=function(mem2reg,early-cse,simplifycfg),always-inline,cgscc(inline,function(early-cse<memssa>,simplifycfg,adce)),globaldce")
set(targets "")
if(XMALLOC_OPT)
  foreach(target IN ITEMS spir64 spirv64)
    set(compile_${target} -target ${target} -O2 -Xclang -disable-llvm-passes -DXMC_C11_ATOMICS=1 -DXMC_SIMT=0)
    list(APPEND targets ${target})
  endforeach()
endif()
foreach(gpu IN ITEMS gfx90a gfx942 gfx1100 gfx1201)
  set(compile_${gpu} -target amdgcn-amd-amdhsa -mcpu=${gpu} -nogpulib -O2)
  list(APPEND targets ${gpu})
endforeach()

# xmc_device_module(NAME SOURCE TARGET FLAGS...): a module as bitcode, and where the target is spir64 as SPIR-V
function(xmc_device_module name source target)
  set(bitcode ${XMALLOC_DEVICE_DIR}/${name}.${target}.bc)
  set(optimise "")
  if(target MATCHES "^spir")
    set(optimise COMMAND ${XMALLOC_OPT} ${XMALLOC_SPIR_PASSES} ${bitcode} -o ${bitcode})
  endif()
  add_custom_command(OUTPUT ${bitcode}
    COMMAND ${XMALLOC_CLANG} ${common} ${compile_${target}} ${ARGN} ${source} -o ${bitcode}
    ${optimise}
    DEPENDS ${source} ${XMALLOC_CL_FILES} COMMENT "Device library: ${name}.${target}.bc" VERBATIM)
  set(modules ${bitcode})
  if(target STREQUAL "spir64" AND XMALLOC_LLVM_SPIRV)
    set(check "")
    if(XMALLOC_SPIRV_VAL)
      set(check COMMAND ${XMALLOC_SPIRV_VAL} ${XMALLOC_DEVICE_DIR}/${name}.spv)
    endif()
    add_custom_command(OUTPUT ${XMALLOC_DEVICE_DIR}/${name}.spv
      COMMAND ${XMALLOC_LLVM_SPIRV} --spirv-max-version=1.1 ${bitcode} -o ${XMALLOC_DEVICE_DIR}/${name}.spv
      ${check} DEPENDS ${bitcode} COMMENT "Device library: ${name}.spv" VERBATIM)
    list(APPEND modules ${XMALLOC_DEVICE_DIR}/${name}.spv)
  endif()
  set(XMALLOC_DEVICE_MODULES ${XMALLOC_DEVICE_MODULES} ${modules} PARENT_SCOPE)
endfunction()

file(MAKE_DIRECTORY ${XMALLOC_DEVICE_DIR})
file(WRITE ${XMALLOC_DEVICE_DIR}/empty.cl "__kernel void empty(void) {}\n")
set(known "")
foreach(target IN LISTS targets)
  execute_process(COMMAND ${XMALLOC_CLANG} ${common} ${compile_${target}} ${XMALLOC_DEVICE_DIR}/empty.cl -o ${XMALLOC_DEVICE_DIR}/empty.bc
                  RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(NOT failed)
    list(APPEND known ${target})
    xmc_device_module(xmalloc ${PROJECT_SOURCE_DIR}/cl/xmalloc.cl ${target} -DXMC_API=)
    xmc_device_module(xmalloc-std ${PROJECT_SOURCE_DIR}/cl/link/std.cl ${target})
  endif()
endforeach()
file(REMOVE ${XMALLOC_DEVICE_DIR}/empty.cl ${XMALLOC_DEVICE_DIR}/empty.bc)
list(JOIN known ", " words)
message(STATUS "Device library by clang ${version}: ${words}")
add_custom_target(xmalloc_device ALL DEPENDS ${XMALLOC_DEVICE_MODULES})
