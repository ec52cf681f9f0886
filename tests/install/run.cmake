# Installs a build into a new prefix, builds a separate project against it, and runs the project.
# cmake -D BUILD=folder -D WORK=folder -D GENERATOR=name -D COMPILER=path -D FLAGS=... -P run.cmake
include(${CMAKE_CURRENT_LIST_DIR}/run_command.cmake)
file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/build -G ${GENERATOR} -D CMAKE_PREFIX_PATH=${prefix}
    -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_CXX_FLAGS=${FLAGS})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/app)
run(${WORK}/build/own_names)
run(${WORK}/build/libtorch_app)
# Only public headers are installed: none of kernels, emulation, benchmarks, tools and tests, and no internal.h.
file(GLOB_RECURSE headers RELATIVE ${WORK}/prefix ${WORK}/prefix/*.h)
list(LENGTH headers count)
foreach(header ${headers})
  if(header MATCHES "/(kernels|emulation|benchmarks|tools|tests)/|/internal[.]h$")
    message(FATAL_ERROR "the internal header ${header} is installed")
  endif()
endforeach()
message("${count} headers")

# The installed command finds the library and its data relative to its own path.
if(EXISTS ${prefix}/bin/tandem)
  run(${prefix}/bin/tandem doctor)
  if(NOT EXISTS ${prefix}/share/tandem/published_points.json)
    message(FATAL_ERROR "the data of `tandem compare` is not installed")
  endif()
  run(${prefix}/bin/tandem simulate --example)
  file(WRITE ${WORK}/cluster.json "${says}")
  run(${prefix}/bin/tandem simulate ${WORK}/cluster.json)
  run(${prefix}/bin/tandem simulate --published)
  run(${prefix}/bin/tandem simulate --check-skill)
  if(NOT EXISTS ${prefix}/share/tandem/fetch_fashion_mnist.sh)
    message(FATAL_ERROR "the script that fetches the data of `tandem demo` is not installed")
  endif()
  # Files named by the command's help and messages are part of the installation.
  foreach(command "" demo compare explain bench launch flight trace simulate doctor)
    execute_process(COMMAND ${prefix}/bin/tandem ${command} --help OUTPUT_VARIABLE says ERROR_QUIET)
    string(APPEND helps "${says}")
  endforeach()
  file(STRINGS ${prefix}/bin/tandem texts REGEX "docs/[a-z_]+[.]md")
  string(REGEX MATCHALL "(docs|tools|benchmarks|build)/[a-z_/]+[.a-z]*" named "${helps}")
  string(REGEX MATCHALL "docs/[a-z_]+[.]md" in_messages "${texts}")
  list(APPEND named ${in_messages})
  list(REMOVE_DUPLICATES named)
  foreach(name ${named})
    if(NOT EXISTS ${prefix}/share/doc/tandem/${name})
      message(FATAL_ERROR "the installed command mentions ${name}, which is not installed")
    endif()
  endforeach()
  message("files that the help texts and messages mention: ${named}")
endif()

# The installed files name no absolute folder, so they can be moved, and used where libraries are elsewhere.
file(GLOB_RECURSE files ${prefix}/*.cmake ${prefix}/*.pc)
foreach(file ${files})
  file(STRINGS ${file} lines REGEX "[\"; =:IL]/[A-Za-z]")
  list(FILTER lines EXCLUDE REGEX "^#|[$]{")
  if(lines)
    message(FATAL_ERROR "${file} has an absolute path: ${lines}")
  endif()
endforeach()

if(NOT FLAGS AND EXISTS ${prefix}/lib/libtandem.a)
  include(${CMAKE_CURRENT_LIST_DIR}/shared.cmake)
endif()

# Tests pkg-config, and a compiler other than the library's if there is one.
find_program(pkg_config pkg-config)
if(pkg_config)
  find_program(other clang++)
  if(FLAGS OR NOT other)
    set(other ${COMPILER})
  endif()
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${prefix}/lib/pkgconfig
                          ${pkg_config} --cflags --libs tandem-libtorch
                  OUTPUT_VARIABLE options OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(options UNIX_COMMAND ${options})
  run(${other} -std=c++20 ${FLAGS} ${CMAKE_CURRENT_LIST_DIR}/libtorch_app.cpp -o ${WORK}/by_pkg_config ${options}
      -Wl,-rpath,${prefix}/lib)
  run(${WORK}/by_pkg_config)

  # If a program's options change the layout of standard library types, it does not link, and the message tells the
  # reason.
  file(WRITE ${WORK}/layout.cpp "#include <tandem/core/version.h>\nint main() {}\n")
  foreach(option _GLIBCXX_DEBUG _GLIBCXX_USE_CXX11_ABI=0 _GLIBCXX_ASSERTIONS)
    execute_process(COMMAND ${COMPILER} -std=c++20 ${FLAGS} -D${option} ${WORK}/layout.cpp -o ${WORK}/layout ${options}
                    RESULT_VARIABLE status ERROR_VARIABLE says)
    string(REPLACE "=" "_" word ${option})
    if(option STREQUAL "_GLIBCXX_ASSERTIONS")  # does not change the layout
      if(NOT status EQUAL 0)
        message(FATAL_ERROR "a program compiled with -D${option} does not link: ${says}")
      endif()
    elseif(status EQUAL 0 OR NOT says MATCHES "this_program_is_compiled_with_D${word}_and_Tandem_was_not_so")
      message(FATAL_ERROR "compiling a program with -D${option} gives status ${status} without the expected message: ${says}")
    endif()
  endforeach()
else()
  message("SKIPPED pkg-config: it is not installed")
endif()

# In C++17, the first error message says that C++20 is needed.
foreach(header tandem/tandem.h tandem/models/models.h tandem/core/tensor.h torch/torch.h)
  file(WRITE ${WORK}/old.cpp "#include <${header}>\n")
  execute_process(COMMAND ${COMPILER} -std=c++17 -fsyntax-only -I${prefix}/include -I${prefix}/include/tandem/libtorch ${WORK}/old.cpp
                  ERROR_VARIABLE says)
  string(REGEX MATCH "error:[^\n]*" says "${says}")
  if(NOT says MATCHES "Tandem needs C\\+\\+20")
    message(FATAL_ERROR "in C++17 the first error from ${header} is not about C++20: ${says}")
  endif()
endforeach()
