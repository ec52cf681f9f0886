# Tests of the emulated device itself. Its kernels are ordinary C++ files.
tandem_test(simt_test emulation/grid_test.cpp emulation/simt_test.cpp emulation/tensor_core_test.cpp)
if(NOT TANDEM_SANITIZE)
  # Tests the sources used on CPUs other than x86-64; they replace the library's.
  set(engine block fences fiber grid synchronize shared_memory thread_order)
  list(TRANSFORM engine REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/emulation/\\1.cpp")
  tandem_test_program(ucontext_test emulation/grid_test.cpp ${engine})
  set_source_files_properties(${engine} PROPERTIES COMPILE_DEFINITIONS TANDEM_FIBER_UCONTEXT=1
                              SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
  add_test(NAME "grids on fibers of ucontext.h" COMMAND ucontext_test)
endif()
add_executable(planted_defects emulation/planted_defects.cpp)
target_link_libraries(planted_defects PRIVATE Tandem::tandem)

# planted_defect(name report): adds a test that passes if the program with that defect fails with that report, and names
# the lines of the defect.
function(planted_defect name report)
  add_test(NAME "planted defect: ${name}"
           COMMAND ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:planted_defects> -D "DEFECT=${name}" -D "REPORT=${report}"
                   -D SOURCE=${CMAKE_CURRENT_SOURCE_DIR}/emulation/planted_defects.cpp
                   -P ${CMAKE_CURRENT_SOURCE_DIR}/emulation/planted_defects.cmake)
endfunction()
planted_defect("" "")
planted_defect(divergence "CudaError: kernel diverge, .*divergent barrier")
planted_defect(deadlock "CudaError: kernel wait_for_ever, .*deadlock")
planted_defect(matrix_misaligned "CudaError: kernel load_misaligned, .*ldmatrix: the lane's address is not a multiple of 16")
if(TANDEM_SANITIZE STREQUAL "address")
  target_compile_options(planted_defects PRIVATE -fsanitize=alignment)  # like the library's kernels
  planted_defect(misaligned "runtime error: .*misaligned address")
  planted_defect(global "AddressSanitizer: heap-buffer-overflow")
  planted_defect(shared "AddressSanitizer: use-after-poison")
  planted_defect(dynamic "AddressSanitizer: use-after-poison")
elseif(TANDEM_SANITIZE STREQUAL "thread")
  foreach(defect barrier accumulation accumulation_behind_barriers syncwarp first_fence second_fence block_fence counter
          matrix_arrival matrix_reuse)
    planted_defect(${defect} "ThreadSanitizer: data race")
  endforeach()
endif()
add_executable(planted_barriers emulation/planted_barriers.cpp)
target_compile_options(planted_barriers PRIVATE -Wno-unknown-pragmas)
target_link_libraries(planted_barriers PRIVATE Tandem::tandem)
add_test(NAME "attention in half types with all of its barriers" COMMAND planted_barriers)
set_tests_properties("attention in half types with all of its barriers" PROPERTIES PASS_REGULAR_EXPRESSION "^right results\n$")
set(report "wrong results")
if(TANDEM_SANITIZE STREQUAL "thread")
  set(report "ThreadSanitizer: data race")
endif()
foreach(barrier 0 1 2)
  add_test(NAME "planted defect: attention in half types without barrier ${barrier}" COMMAND planted_barriers ${barrier})
  set_tests_properties("planted defect: attention in half types without barrier ${barrier}" PROPERTIES
                       PASS_REGULAR_EXPRESSION "${report}")
endforeach()
foreach(order forward reverse shuffle:1 shuffle:2)
  add_test(NAME "no planted defect, threads in the order ${order}" COMMAND planted_defects)
  set_tests_properties("no planted defect, threads in the order ${order}" PROPERTIES
                       ENVIRONMENT TANDEM_EMULATION_ORDER=${order} PASS_REGULAR_EXPRESSION "^clean\n$")
endforeach()
add_test(NAME "an order of threads that there is not is refused" COMMAND planted_defects)
set_tests_properties("an order of threads that there is not is refused" PROPERTIES
                     ENVIRONMENT TANDEM_EMULATION_ORDER=backwards
                     PASS_REGULAR_EXPRESSION "'backwards'; accepted: forward, reverse, shuffle:SEED")
