# Installs a build into a new prefix, builds the outside project against it, and runs it.
# cmake -D BUILD=folder -D WORK=folder -D GENERATOR=name -D COMPILER=path -D FLAGS=... -P run.cmake
file(REMOVE_RECURSE ${WORK})
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed with ${status}: ${ARGN}")
  endif()
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/build -G ${GENERATOR} -D CMAKE_PREFIX_PATH=${WORK}/prefix
    -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_CXX_FLAGS=${FLAGS})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/app)
run(${WORK}/build/own_names)
# The public headers alone: no kernel's, no emulation's, no library's, and not the one that opens namespace detail.
file(GLOB_RECURSE headers RELATIVE ${WORK}/prefix ${WORK}/prefix/*.h)
list(LENGTH headers count)
foreach(header ${headers})
  if(header MATCHES "/(kernels|emulation|benchmarks|tools|tests)/|/internal[.]h$")
    message(FATAL_ERROR "${header} is installed")
  endif()
endforeach()
message("${count} headers")
