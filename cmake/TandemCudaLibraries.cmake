# Finds cuBLASLt, cuDNN and NCCL in the toolkit, in the system's folders, or inside Python's nvidia wheels. The wheels
# hold only versioned files (libcudnn.so.9), which are found by their full names.
find_program(TANDEM_PYTHON python3)
set(wheels "")
if(TANDEM_PYTHON)
  execute_process(COMMAND ${TANDEM_PYTHON} -c "import nvidia; print(';'.join(nvidia.__path__))" OUTPUT_VARIABLE wheels
                  ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
set(wheel_libraries "")
foreach(folder ${wheels})
  file(GLOB found ${folder}/*/lib)
  list(APPEND wheel_libraries ${found})
endforeach()

# tandem_find_cuda_library(NAME header): finds a library and its header, and sets TANDEM_HAS_NAME.
macro(tandem_find_cuda_library name header)
  if(NOT TANDEM_WITH_${name} STREQUAL "OFF")
    tandem_find_library(${name} HINTS ${CUDAToolkit_LIBRARY_DIR} PATHS ${wheel_libraries})
    if(TANDEM_${name}_LIBRARY)  # its header lies beside it, if anywhere
      get_filename_component(folder ${TANDEM_${name}_LIBRARY} DIRECTORY)
      find_path(TANDEM_${name}_INCLUDE ${header} HINTS ${folder}/../include ${CUDAToolkit_INCLUDE_DIRS})
    endif()
    if(TANDEM_${name}_LIBRARY AND TANDEM_${name}_INCLUDE)
      set(TANDEM_HAS_${name} ON)
    elseif(TANDEM_WITH_${name} STREQUAL "ON")
      message(FATAL_ERROR "TANDEM_WITH_${name}=ON, but ${header} and its library were not found in the toolkit, in the "
                          "system's folders or in Python's nvidia wheels; see docs/cuda_build.md")
    endif()
  endif()
endmacro()
tandem_find_cuda_library(CUBLAS cublasLt.h)
tandem_find_cuda_library(CUDNN cudnn.h)
tandem_find_cuda_library(NCCL nccl.h)
foreach(library CUBLAS CUDNN)
  if(TANDEM_HAS_${library})
    target_link_libraries(tandem PRIVATE Tandem::${library})
    list(APPEND TANDEM_LINKED ${library})
  endif()
endforeach()
# NCCL is loaded when a process group needs it: from this path, if the system's search does not find it.
if(TANDEM_HAS_NCCL)
  get_filename_component(folder ${TANDEM_NCCL_LIBRARY} DIRECTORY)
  set(TANDEM_NCCL_PATH ${folder}/libnccl.so.2)
endif()
