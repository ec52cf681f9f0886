# run(COMMAND...): runs the command and stores its output in ${says}. An exit status other than 0 is an error that shows
# the output.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE says ERROR_VARIABLE says)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed with ${status}: ${ARGN}\n${says}")
  endif()
  set(says "${says}" PARENT_SCOPE)
endfunction()
