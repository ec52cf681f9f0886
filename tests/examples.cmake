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
                    EXPECT "mnist: find_idx: Error opening images file at .*none/train-images")
tandem_example_test("example mnist_99 learns" COMMAND example_mnist_99 ${TANDEM_TEST_DIGITS} 2
                    EXPECT "mean of 2: (100|9[0-9])")
tandem_example_test("example fashion_mnist learns" COMMAND example_fashion_mnist ${TANDEM_TEST_DIGITS} 2 cpu
                    EXPECT "epoch 2: loss 0.*, (100|9[5-9])")
tandem_example_test("example model_parallel trains over two devices" COMMAND example_model_parallel
                    EXPECT "back.2.bias .* on cpu:1.*(100|9[5-9][.0-9]*) % right")
tandem_example_test("example custom_function agrees with finite differences" COMMAND example_custom_function
                    EXPECT "agree.*slope (2|1[.]9)")
tandem_example_test("example logged_training logs and learns"
                    COMMAND example_logged_training ${TANDEM_TEST_DIGITS} 4 ${CMAKE_CURRENT_BINARY_DIR}/logged_training
                    EXPECT "epoch 4: (100|9[5-9]).*tensorboard --logdir")
tandem_example_test("example fashion_mnist_dp learns over two devices"
                    COMMAND example_fashion_mnist_dp ${TANDEM_TEST_DIGITS} 2 cpu 2
                    EXPECT "epoch 2: loss 0.*, (100|9[5-9]).* over 2 devices")
tandem_example_test("example data_parallel_inference prints its table" COMMAND example_data_parallel_inference 1
                    EXPECT "batch +plain +DP over 1 +persistent.*\n +512( +[0-9.]+)+")
tandem_example_test("example captured_step learns by replays" COMMAND example_captured_step 300
                    EXPECT "captured: .* us a step, loss 0[.][0-4].*loops")
tandem_example_test("example mixed_precision learns in bfloat16" COMMAND example_mixed_precision
                    EXPECT "output in bfloat16, loss in float32.*weights and gradients in float32, loss 0[.][0-3]")
tandem_example_test("example mixed_precision learns in float16, and scales the losses"
                    COMMAND example_mixed_precision 300 cpu float16
                    EXPECT "output in float16, loss in float32.*float32, loss 0[.][0-3].*, scale (65536|32768)")
tandem_example_test("example master_weights learns only with them" COMMAND example_master_weights
                    EXPECT "without master weights: loss [2-9][.].*with master weights: loss 0[.]")
# The examples that train on files of the user's, each on small files.
add_executable(make_example_files examples/make_files.cpp)
target_link_libraries(make_example_files PRIVATE Tandem::tandem)
target_precompile_headers(make_example_files REUSE_FROM tandem_test_main)
set(files ${CMAKE_CURRENT_BINARY_DIR}/example_files)
add_test(NAME "small files for the examples" COMMAND make_example_files ${files})
set_tests_properties("small files for the examples" PROPERTIES FIXTURES_SETUP example_files)
tandem_example_test("example houses predicts prices from a CSV file"
                    COMMAND sh -c "rm -rf \"$2\" && \"$0\" \"$1\" \"$2\"" $<TARGET_FILE:example_houses>
                            ${files}/houses.csv ${CMAKE_CURRENT_BINARY_DIR}/houses
                    EXPECT "300 rows: R2 0[.]9[0-9]+, mean error 0[.][01][0-9]+ .*step_[0-9]+[.]pt")
if(TANDEM_HAS_PNG)
  tandem_example_test("example image_folder tells dark from light images, under DDP"
                      COMMAND sh -c "rm -rf \"$2\" && \"$0\" \"$1\" \"$2\" ddp 2" $<TARGET_FILE:example_image_folder>
                              ${files}/images ${CMAKE_CURRENT_BINARY_DIR}/image_folder
                      EXPECT "1[56] of 16 right")
  set_tests_properties("example image_folder tells dark from light images, under DDP" PROPERTIES
                       FIXTURES_REQUIRED "digits;example_files")
endif()
set_tests_properties("example houses predicts prices from a CSV file" PROPERTIES FIXTURES_REQUIRED "digits;example_files")
tandem_example_test("example char_gru learns a page of this project, and writes"
                    COMMAND sh -c "rm -rf \"$2\" && \"$0\" \"$1\" 2 \"$2\"" $<TARGET_FILE:example_char_gru>
                            ${PROJECT_SOURCE_DIR}/docs/course.md ${CMAKE_CURRENT_BINARY_DIR}/char_gru
                    EXPECT "perplexity [12][0-9][.].*it writes:\nThe ")
if(TANDEM_HAS_UTF8PROC)
  # Guessing the tokens of the last tenth by their frequency in the others has a loss of 5.46.
  tandem_example_test("example gpt learns a page of this project, and writes"
                      COMMAND sh -c "rm -rf \"$2\" && \"$0\" \"$1\" 200 \"$2\" && test -f \"$2/model.safetensors\""
                              $<TARGET_FILE:example_gpt> ${PROJECT_SOURCE_DIR}/docs/course.md
                              ${CMAKE_CURRENT_BINARY_DIR}/gpt
                      EXPECT "after 200 steps: validation loss [1-4][.].* it writes:\nThe")
endif()
if(TANDEM_HAS_UTF8PROC AND TANDEM_BUILD_TOOLS)
  add_executable(make_bert_files examples/make_bert_files.cpp)
  target_link_libraries(make_bert_files PRIVATE tandem_finetune)
  set(bert ${CMAKE_CURRENT_BINARY_DIR}/bert_files)
  add_test(NAME "a small BERT for the examples" COMMAND make_bert_files ${bert})
  set_tests_properties("a small BERT for the examples" PROPERTIES FIXTURES_SETUP bert_files)
  add_test(NAME "examples bert_mnli_dp and bert_mnli_dp_loss compute the same losses"
           COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/examples/bert_mnli.sh $<TARGET_FILE:example_bert_mnli_dp>
                   $<TARGET_FILE:example_bert_mnli_dp_loss> ${bert})
  set(bert_tests "examples bert_mnli_dp and bert_mnli_dp_loss compute the same losses")
  if(TANDEM_HAS_GLOO)
    list(APPEND bert_tests "example bert_mnli_ddp trains with two processes")
    # Classes guessed at random have a loss of ln 3 = 1.10.
    add_test(NAME "example bert_mnli_ddp trains with two processes"
             COMMAND tandem_command launch -n 2 -- $<TARGET_FILE:example_bert_mnli_ddp> ${bert}/model ${bert}/train.jsonl
                     10 16)
    set_tests_properties("example bert_mnli_ddp trains with two processes" PROPERTIES PASS_REGULAR_EXPRESSION
                         "step 10: loss (0[.]|1[.][012]).*step 10: loss (0[.]|1[.][012])")
  endif()
  set_tests_properties(${bert_tests} PROPERTIES FIXTURES_REQUIRED bert_files)
endif()
foreach(strategy single dp dp_loss ddp)
  set(devices 2)
  if(strategy STREQUAL "single")
    set(devices 1)
  endif()
  tandem_example_test("example trainer learns with the strategy ${strategy}"
                      COMMAND example_trainer ${strategy} ${devices} ${CMAKE_CURRENT_BINARY_DIR}/trainer_${strategy}
                      EXPECT "5: Linear.*${strategy}: (100|9[5-9]).* % right after [0-9]+ epochs; best val_loss 0[.]0")
endforeach()
if(TANDEM_CUDA_EMULATED)
  tandem_example_test("example captured_step learns by replays on a GPU" COMMAND example_captured_step 100 cuda
                      EXPECT "captured: .* us a step, loss 0[.][0-6].*calls of kernels")
endif()
tandem_example_test("example simple_model_ddp finds the bias with two threads, each on half the examples"
                    COMMAND example_simple_model_ddp
                    EXPECT "epoch 20: rank [01] of 2 saw 512 examples.*bias (2[.]9|3[.]0)[0-9]+, 0 apart")
tandem_example_test("example fashion_mnist_ddp learns with three threads, and evaluates each image once"
                    COMMAND example_fashion_mnist_ddp ${TANDEM_TEST_DIGITS} 2 cpu 3
                    EXPECT "epoch 2: loss 0.*, (100|9[5-9]).* of [0-9]+ test images over 3 ranks")
if(TANDEM_HAS_GLOO AND TANDEM_BUILD_TOOLS)
  tandem_example_test("example simple_model_ddp finds the bias with two processes"
                      COMMAND tandem_command launch -n 2 -- $<TARGET_FILE:example_simple_model_ddp>
                      EXPECT "epoch 20: rank 0 of 2 saw 512 examples.*bias (2[.]9|3[.]0)[0-9]+, 0 apart")
  tandem_example_test("example trainer learns with two processes"
                      COMMAND tandem_command launch -n 2 -- $<TARGET_FILE:example_trainer> ddp 2
                              ${CMAKE_CURRENT_BINARY_DIR}/trainer_processes
                      EXPECT "ddp: (100|9[5-9]).* % right after [0-9]+ epochs; best val_loss 0[.]0")
  tandem_example_test("example fashion_mnist_ddp learns with two processes"
                      COMMAND tandem_command launch -n 2 -- $<TARGET_FILE:example_fashion_mnist_ddp> ${TANDEM_TEST_DIGITS} 2 cpu
                      EXPECT "epoch 2: loss 0.*, (100|9[5-9]).* of [0-9]+ test images over 2 ranks")
  # What mpirun and srun set for the only rank of a job.
  set(by_mpirun OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_LOCAL_SIZE=1 PMIX_NAMESPACE=7)
  set(by_srun SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1)
  foreach(launcher mpirun srun)
    tandem_example_test("example simple_model_ddp is a rank of its job where ${launcher} starts it"
                        COMMAND ${CMAKE_COMMAND} -E env ${by_${launcher}} $<TARGET_FILE:example_simple_model_ddp> 2
                        EXPECT "epoch 2: rank 0 of 1 saw 1024 examples")
  endforeach()
endif()
if(TANDEM_HAS_UTF8PROC AND NOT TANDEM_SANITIZE)
  tandem_test(sentence_embeddings_test examples/sentence_embeddings_test.cpp)
  add_dependencies(sentence_embeddings_test example_sentence_embeddings)
  # With the real model, where it was fetched and a Python with PyTorch and Hugging Face's libraries is known.
  add_test(NAME "example sentence_embeddings gives Hugging Face's tokens and vectors"
           COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/examples/sentence_embeddings.sh $<TARGET_FILE:example_sentence_embeddings>)
  set_tests_properties("example sentence_embeddings gives Hugging Face's tokens and vectors" PROPERTIES SKIP_RETURN_CODE 77)
endif()
