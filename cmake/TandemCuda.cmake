# Chooses the CUDA backend: CUDA's own compiler and runtime, the emulated device (the same sources as plain C++), or
# none.
set(TANDEM_HAS_CUDA OFF)
set(TANDEM_CUDA_EMULATED OFF)
set(TANDEM_CUDA_MISSING "")  # reason for having no CUDA backend
# Compute capability of this machine's GPU; empty if there is none.
set(TANDEM_GPU_CAPABILITY "")
if(TANDEM_WITH_CUDA MATCHES "AUTO|ON")
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader OUTPUT_VARIABLE says
                  ERROR_QUIET RESULT_VARIABLE failed)
  if(failed EQUAL 0 AND says MATCHES "^([0-9]+)\\.([0-9]+)")
    set(TANDEM_GPU_CAPABILITY ${CMAKE_MATCH_1}${CMAKE_MATCH_2})
  endif()
endif()
if(TANDEM_WITH_CUDA STREQUAL "EMULATED")
  set(TANDEM_HAS_CUDA ON)
  set(TANDEM_CUDA_EMULATED ON)
elseif(TANDEM_WITH_CUDA STREQUAL "OFF")
elseif(TANDEM_SANITIZE)
  set(TANDEM_CUDA_MISSING "a build with a sanitizer supports only TANDEM_WITH_CUDA=EMULATED")
elseif(TANDEM_WITH_CUDA STREQUAL "AUTO" AND NOT TANDEM_GPU_CAPABILITY AND NOT CMAKE_CUDA_ARCHITECTURES)
  # Compiling for GPUs that this machine lacks would take most of the build's time.
  set(TANDEM_CUDA_MISSING "this machine has no GPU; -DTANDEM_WITH_CUDA=ON compiles for other machines")
else()
  # Takes the first nvcc that runs and is new enough, of: the user's choice, PATH, the usual folders, ./run setup
  # --cuda.
  find_program(TANDEM_NVCC nvcc)
  set(TANDEM_CUDA_MISSING "nvcc was not found; add it to PATH, or install it with ./run setup --cuda")
  foreach(nvcc ${CMAKE_CUDA_COMPILER} $ENV{CUDACXX} ${TANDEM_NVCC} /usr/local/cuda/bin/nvcc /opt/cuda/bin/nvcc
          ${PROJECT_SOURCE_DIR}/.deps/cuda/bin/nvcc)
    execute_process(COMMAND ${nvcc} --version OUTPUT_VARIABLE says ERROR_QUIET RESULT_VARIABLE failed)
    if(failed EQUAL 0 AND says MATCHES "release ([0-9.]+)")
      if(CMAKE_MATCH_1 VERSION_GREATER_EQUAL 12.0)
        set(CMAKE_CUDA_COMPILER ${nvcc} CACHE FILEPATH "nvcc" FORCE)
        set(TANDEM_CUDA_MISSING "")
        break()
      endif()
      set(TANDEM_CUDA_MISSING "${nvcc} is CUDA ${CMAKE_MATCH_1}; C++20 needs 12.0 or newer (./run setup --cuda)")
    endif()
  endforeach()
  if(TANDEM_CUDA_MISSING STREQUAL "")
    set(TANDEM_HAS_CUDA ON)
  endif()
endif()
if(TANDEM_WITH_CUDA STREQUAL "ON" AND NOT TANDEM_HAS_CUDA)
  message(FATAL_ERROR "TANDEM_WITH_CUDA=ON, but ${TANDEM_CUDA_MISSING}")
endif()
target_compile_definitions(tandem PUBLIC $<BUILD_INTERFACE:TANDEM_HAS_CUDA=$<BOOL:${TANDEM_HAS_CUDA}>>)

if(TANDEM_HAS_CUDA AND NOT TANDEM_CUDA_EMULATED)
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    # Compiles for this machine's GPU. If there is none, compiles for the usual GPUs from Turing to Blackwell, as far as
    # the toolkit knows them, and PTX for later ones.
    if(TANDEM_GPU_CAPABILITY)
      set(CMAKE_CUDA_ARCHITECTURES ${TANDEM_GPU_CAPABILITY}-real)
    else()
      set(known 75-real 80-real 90)
      execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch OUTPUT_VARIABLE says ERROR_QUIET)
      foreach(newer 100 120)
        if(says MATCHES "compute_${newer}\n")
          list(APPEND known ${newer}-real)
        endif()
      endforeach()
      set(CMAKE_CUDA_ARCHITECTURES ${known})
    endif()
  endif()
  if(NOT CMAKE_CUDA_HOST_COMPILER)
    set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  if(TANDEM_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${TANDEM_CCACHE})
  endif()
  # Links the runtime by its file, so that a project that links Tandem needs no toolkit.
  set_target_properties(tandem PROPERTIES CUDA_RUNTIME_LIBRARY None
                        CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}")
  get_filename_component(folder ${CUDA_cudart_static_LIBRARY} DIRECTORY)
  tandem_find_library(CUDART HINTS ${folder})
  list(APPEND TANDEM_LINKED CUDART)
  target_link_libraries(tandem PRIVATE Tandem::CUDART rt)
  # Sets the standard by hand, because CMake before 3.26 does not know that nvcc has C++20. nvcc passes generated code
  # to the host's compiler: it has unused parameters, line markers in GNU style, and `#pragma unroll`.
  string(REPLACE ";" "," host_warnings "${TANDEM_WARNINGS};-Wno-unused-parameter;-Wno-pedantic;-Wno-unknown-pragmas")
  set(TANDEM_CUDA_FLAGS -std=c++20 --expt-relaxed-constexpr -Xcompiler=${host_warnings})
  if(TANDEM_WERROR)
    list(APPEND TANDEM_CUDA_FLAGS -Werror=all-warnings)
  endif()
  if(CMAKE_BUILD_TYPE STREQUAL "None" AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    list(APPEND TANDEM_CUDA_FLAGS -Ofc=mid)  # little optimisation, as in the rest of such a build: half the time
  endif()
  target_compile_options(tandem PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${TANDEM_CUDA_FLAGS}>")
  include(TandemCudaLibraries)
endif()

# tandem_set_cuda_options(files...): sets the options of files that include CUDA's headers or ask which of its libraries
# exist. All other files are compiled with equal options for a real and the emulated device, so a compiler cache serves
# both builds.
function(tandem_set_cuda_options)
  set(options "")
  foreach(library CUBLAS CUDNN)
    list(APPEND options -DTANDEM_HAS_${library}=$<BOOL:${TANDEM_HAS_${library}}>)
  endforeach()
  foreach(folder ${CUDAToolkit_INCLUDE_DIRS} ${TANDEM_CUBLAS_INCLUDE} ${TANDEM_CUDNN_INCLUDE})
    list(APPEND options -isystem${folder})
  endforeach()
  list(REMOVE_DUPLICATES options)
  set_property(SOURCE ${ARGN} TARGET_DIRECTORY tandem APPEND PROPERTY COMPILE_OPTIONS ${options})
endfunction()

# tandem_add_cuda(files...): adds .cu files to the library, compiled by nvcc, or as C++ for the emulated device.
function(tandem_add_cuda)
  target_sources(tandem PRIVATE ${ARGN})
  if(TANDEM_CUDA_EMULATED)
    # gcc does not see that threads of a tail never use values that they have not loaded. More than -O1 only takes
    # longer.
    set(options -xc++ -Wno-unknown-pragmas -Wno-uninitialized $<$<CONFIG:Release>:-O1>)
    if(TANDEM_SANITIZE STREQUAL "address")
      list(APPEND options -fsanitize=alignment)  # x86-64 reads misaligned addresses, a GPU faults
    endif()
    set_source_files_properties(${ARGN} TARGET_DIRECTORY tandem PROPERTIES LANGUAGE CXX SKIP_PRECOMPILE_HEADERS ON
                                COMPILE_OPTIONS "${options}")
    if(TANDEM_SANITIZE STREQUAL "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      # Most of the tests' work is matrix products, which take five times as long without optimisation. Unrolled, as the
      # sources ask, their instrumented loops take more than ten minutes to compile.
      set_property(SOURCE cuda/matmul.cu cuda/convolution.cu TARGET_DIRECTORY tandem APPEND PROPERTY COMPILE_OPTIONS
                   -O1 -mllvm -unroll-threshold=0 -mllvm -pragma-unroll-threshold=0 -Wno-pass-failed)
    endif()
  endif()
endfunction()

function(tandem_print_cuda_summary)
  if(TANDEM_CUDA_EMULATED)
    message(STATUS "  CUDA:       emulated on the CPU")
    return()
  elseif(NOT TANDEM_HAS_CUDA)
    set(reason "")
    if(TANDEM_CUDA_MISSING)
      set(reason "; ${TANDEM_CUDA_MISSING}")
    endif()
    message(STATUS "  CUDA:       no (TANDEM_WITH_CUDA=${TANDEM_WITH_CUDA})${reason}")
    return()
  endif()
  message(STATUS "  CUDA:       yes, ${CMAKE_CUDA_COMPILER_VERSION} (${CMAKE_CUDA_COMPILER}), for ${CMAKE_CUDA_ARCHITECTURES}")
  set(where "(docs/cuda_build.md lists where it is searched for)")
  set(without_CUBLAS "Tandem's own matrix product is used ${where}")
  set(without_CUDNN "Tandem's own convolution is used ${where}")
  set(without_NCCL "ranks on GPUs can only use the backends local and gloo ${where}")
  tandem_print_libraries(CUBLAS CUDNN NCCL)
endfunction()
