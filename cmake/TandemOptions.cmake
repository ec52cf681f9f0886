# The options of a build, and the compiler flags that follow from them.
set(build_tests ${PROJECT_IS_TOP_LEVEL})
if(BUILD_SHARED_LIBS)
  set(build_tests OFF)  # they call internal functions, so a shared library built with tests hides nothing
endif()
option(TANDEM_BUILD_TESTS "Build the tests; off by default with BUILD_SHARED_LIBS, because they need internals that a shared library hides" ${build_tests})
option(TANDEM_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(TANDEM_BUILD_TOOLS "Build the tandem command" ${PROJECT_IS_TOP_LEVEL})
option(TANDEM_BUILD_BENCHMARKS "Build the benchmarks, which tandem bench runs" ${PROJECT_IS_TOP_LEVEL})
option(TANDEM_INSTALL "Install the library, its headers and packages, and the tandem command if it is built" ${PROJECT_IS_TOP_LEVEL})
option(TANDEM_UNITY "Compile several files of the library as one unit: a full build takes a third to a half less work; OFF recompiles less after a change of one file" ON)
option(TANDEM_FUZZ "Build tests/fuzz for libFuzzer, with clang and TANDEM_SANITIZE=address" OFF)
option(TANDEM_WERROR "Treat warnings as errors" OFF)
set(TANDEM_SANITIZE "" CACHE STRING "Sanitizer: address (with undefined), thread, or empty for none")
set(TANDEM_CPU_ISAS "v2;v3;v4" CACHE STRING "x86-64 levels that the loops are compiled for")
foreach(library OPENBLAS ONEDNN GLOO JPEG PNG UTF8PROC CUDA)
  set(TANDEM_WITH_${library} AUTO CACHE STRING "AUTO: use it if it is found; ON: require it; OFF: do not use it; for CUDA also EMULATED: on the CPU, without a GPU")
  set_property(CACHE TANDEM_WITH_${library} PROPERTY STRINGS AUTO ON OFF)
endforeach()
set_property(CACHE TANDEM_WITH_CUDA PROPERTY STRINGS AUTO ON OFF EMULATED)
foreach(library CUBLAS CUDNN NCCL)
  set(TANDEM_WITH_${library} AUTO CACHE STRING "With CUDA: AUTO: use it if it is found; ON: require it; OFF: do not use it")
  set_property(CACHE TANDEM_WITH_${library} PROPERTY STRINGS AUTO ON OFF)
endforeach()

find_program(TANDEM_CCACHE ccache)
if(TANDEM_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_CURRENT_LIST_DIR}/ccache.sh ${TANDEM_CCACHE})
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endif()
set(TANDEM_WARNINGS -Wall -Wextra)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False alarms of gcc 12 inside std::string and Catch2.
  list(APPEND TANDEM_WARNINGS -Wno-restrict -Wno-maybe-uninitialized)
endif()
if(TANDEM_WERROR)
  list(APPEND TANDEM_WARNINGS -Werror)
endif()
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${TANDEM_WARNINGS}>")  # nvcc's are in TandemCuda.cmake
if(TANDEM_SANITIZE)
  # Reports name files relative to the source tree, so that a compiler cache can share objects between clones.
  add_compile_options(-fdebug-prefix-map=${PROJECT_SOURCE_DIR}=.)
endif()
if(TANDEM_SANITIZE OR TANDEM_WITH_CUDA STREQUAL "EMULATED")  # builds of the tests: some eighty programs
  find_program(TANDEM_LLD ld.lld)  # takes a quarter of the time of GNU's linker
  if(TANDEM_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()
if(TANDEM_SANITIZE STREQUAL "address")
  # Checks of every pointer for null and alignment would take a third of the compile time. A null pointer crashes under
  # AddressSanitizer anyway. The loops, which read elements at any address, keep these checks (TandemLoops.cmake), and
  # the CUDA kernels keep the alignment check (TandemCuda.cmake). Casts to a wrong class are not detected.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=null,alignment,vptr -fno-sanitize-recover=undefined
                      -fno-omit-frame-pointer -g1)
  # Clang also checks two things that Tandem does on purpose: an offset from the null pointer of an empty tensor, which
  # is never read, and the conversion of NaN to an integer, which may give any value (copy_).
  add_compile_options($<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=pointer-overflow,float-cast-overflow>)
  add_link_options(-fsanitize=address,undefined)
  if(TANDEM_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
  endif()
elseif(TANDEM_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=thread)
elseif(TANDEM_SANITIZE)
  message(FATAL_ERROR "TANDEM_SANITIZE is '${TANDEM_SANITIZE}'; accepted: address, thread, or nothing")
endif()
