# Links a shared library from the objects of the static one, in the same way as the build would, so that nothing is
# compiled again. run.cmake includes this file, and then runs its separate programs with the shared library.
file(STRINGS ${prefix}/lib/pkgconfig/tandem.pc libs REGEX "^Libs:")
string(REGEX REPLACE "^Libs: [^ ]+ -ltandem" "" libs "${libs}")
separate_arguments(libs UNIX_COMMAND ${libs})
set(shared ${WORK}/shared/libtandem.so)
file(MAKE_DIRECTORY ${WORK}/shared)
run(${COMPILER} -shared -o ${shared} -Wl,-soname,libtandem.so -Wl,--whole-archive ${prefix}/lib/libtandem.a
    -Wl,--no-whole-archive -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/../../cmake/exports.map ${libs})
foreach(program app own_names libtorch_app)
  run(${COMPILER} ${WORK}/build/CMakeFiles/${program}.dir/${program}.cpp.o -o ${WORK}/shared/${program} ${shared}
      -Wl,-rpath,${WORK}/shared)
  run(${WORK}/shared/${program})
endforeach()
execute_process(COMMAND nm -DC --defined-only ${shared} OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" names "${names}")
list(LENGTH names count)
set(kernels ${names})
list(FILTER kernels INCLUDE REGEX "^[^ ]+ . ([a-z ]+ for )?tandem::kernels::")
list(FILTER names EXCLUDE REGEX "tandem::")
if(names OR kernels)
  message(FATAL_ERROR "the shared library exports symbols outside of Tandem's interface: ${names};${kernels}")
endif()
message("the shared library exports ${count} symbols")
