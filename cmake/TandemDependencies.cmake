# Finds the files of the libraries that Tandem is linked with. Tandem's own build includes this file. It is also
# installed beside TandemConfig.cmake, for projects that link the static library and find the libraries on their own
# machine.
set(tandem_names_ZLIB z)
set(tandem_names_OPENBLAS openblas)
set(tandem_names_ONEDNN dnnl)
set(tandem_names_GLOO gloo)
set(tandem_names_JPEG jpeg)
set(tandem_names_PNG png)
set(tandem_names_UTF8PROC utf8proc)
set(tandem_names_CUDART cudart_static)
set(tandem_names_CUBLAS cublasLt libcublasLt.so.13 libcublasLt.so.12)
set(tandem_names_CUDNN cudnn libcudnn.so.9)
set(tandem_names_NCCL nccl libnccl.so.2)
# Debian's packages, for messages.
set(tandem_package_ZLIB zlib1g-dev)
set(tandem_package_OPENBLAS libopenblas-dev)
set(tandem_package_ONEDNN libdnnl-dev)
set(tandem_package_GLOO libgloo-dev)
set(tandem_package_JPEG libjpeg-dev)
set(tandem_package_PNG libpng-dev)
set(tandem_package_UTF8PROC libutf8proc-dev)

# tandem_find_library(NAME find_library's arguments...): finds a library and makes the target Tandem::NAME, also for
# projects that include this one. With NAMES_PER_DIR the first folder counts, not the first name.
function(tandem_find_library name)
  find_library(TANDEM_${name}_LIBRARY NAMES ${tandem_names_${name}} NAMES_PER_DIR PATH_SUFFIXES openblas-pthread ${ARGN})
  if(TANDEM_${name}_LIBRARY AND NOT TARGET Tandem::${name})
    add_library(Tandem::${name} UNKNOWN IMPORTED GLOBAL)
    set_target_properties(Tandem::${name} PROPERTIES IMPORTED_LOCATION ${TANDEM_${name}_LIBRARY})
  endif()
endfunction()
