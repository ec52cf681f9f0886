# The examples, briefly, on data small enough to be made here.
function(tandem_example_test name)
  cmake_parse_arguments(ARG "" "EXPECT" "COMMAND" ${ARGN})
  add_test(NAME "${name}" COMMAND ${ARG_COMMAND})
  set_tests_properties("${name}" PROPERTIES FIXTURES_REQUIRED digits)
  if(ARG_EXPECT)
    set_tests_properties("${name}" PROPERTIES PASS_REGULAR_EXPRESSION "${ARG_EXPECT}")
  endif()
endfunction()
tandem_example_test("example simple_model finds the bias" COMMAND example_simple_model EXPECT "bias +tensor\\(\\[(3.0|2.9)")
tandem_example_test("example mnist learns" COMMAND example_mnist ${TANDEM_TEST_DIGITS} 2 EXPECT "epoch 2: (100|9[5-9])")
tandem_example_test("example mnist says what is missing" COMMAND example_mnist ${TANDEM_TEST_DIGITS}/none
                    EXPECT "mnist: find_idx: there is neither .*none/train-images")
tandem_example_test("example fashion_mnist learns" COMMAND example_fashion_mnist ${TANDEM_TEST_DIGITS} 2
                    EXPECT "epoch 2: loss 0.*, (100|9[5-9])")
tandem_example_test("example model_parallel trains over two devices" COMMAND example_model_parallel
                    EXPECT "back.2.bias .* on cpu:1.*(100|9[5-9][.0-9]*) % right")
tandem_example_test("example custom_function agrees with finite differences" COMMAND example_custom_function
                    EXPECT "agree.*slope (2|1[.]9)")
tandem_example_test("example fashion_mnist_dp learns over two devices"
                    COMMAND example_fashion_mnist_dp ${TANDEM_TEST_DIGITS} 2 2
                    EXPECT "epoch 2: loss 0.*, (100|9[5-9]).* over 2 devices")
tandem_example_test("example data_parallel_inference prints its table" COMMAND example_data_parallel_inference 1
                    EXPECT "batch +plain +DP over 1 +persistent.*\n +512( +[0-9.]+)+")
