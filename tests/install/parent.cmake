# Includes Tandem in a project with another C++ standard, by add_subdirectory and by FetchContent. Configures it, and
# compiles the project's own file. With -D WHOLE=subdirectory or fetch, that variant is also built with the library, and
# run.
# cmake -D SOURCE=folder -D WORK=folder -D COMPILER=path -P parent.cmake
include(${CMAKE_CURRENT_LIST_DIR}/run_command.cmake)
file(REMOVE_RECURSE ${WORK})
foreach(case "subdirectory 17" "fetch 23")
  string(REPLACE " " ";" case ${case})
  list(POP_FRONT case how)
  set(build ${WORK}/${how})
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/parent -B ${build} -G Ninja -D CMAKE_CXX_COMPILER=${COMPILER}
      -D TANDEM=${SOURCE} -D HOW=${how} -D STANDARD=${case} -D CMAKE_EXPORT_COMPILE_COMMANDS=ON)
  # The program is compiled as C++20 if the project asks for an older standard, otherwise with the project's standard.
  # The library is always compiled as C++20.
  set(standard -std=c\\+\\+20)
  if(case GREATER 20)
    set(standard "-std=c\\+\\+(${case}|2b)")
  endif()
  file(STRINGS ${build}/compile_commands.json commands REGEX "\"command\":")
  foreach(command ${commands})
    if(command MATCHES "app[.]cpp" AND NOT command MATCHES "${standard} ")
      message(FATAL_ERROR "not compiled with ${standard}: ${command}")
    elseif(command MATCHES "tandem[.]dir" AND NOT command MATCHES "-O3 .*-std=gnu\\+\\+20 ")
      message(FATAL_ERROR "the library is compiled with other flags than in its own build: ${command}")
    endif()
  endforeach()
  if(how STREQUAL "${WHOLE}")
    run(${CMAKE_COMMAND} --build ${build})
    run(${build}/app)
  else()
    run(${CMAKE_COMMAND} --build ${build} --target CMakeFiles/app.dir/${CMAKE_CURRENT_LIST_DIR}/app.cpp.o)
  endif()
endforeach()
