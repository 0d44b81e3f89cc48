# cmake -DWORKER=… -DPLUGIN=… -P OpyardLintPlugin.cmake: has the worker read the plugin. Fails when a host would refuse
# it; says what would keep it mapped. Nothing is done where there is no worker.
if(NOT EXISTS "${WORKER}")
  return()
endif()
execute_process(COMMAND "${WORKER}" lint "${PLUGIN}" RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE refused)
if(NOT result EQUAL 0)
  message(NOTICE "${refused}")  # as it is; errors are broken into lines
  message(FATAL_ERROR "no host would take this plugin")
endif()
string(REPLACE ";" "\\;" said "${said}")  # it ends no element of the list
string(REGEX MATCHALL "(stays|warning|remark) +[^\n]+" remarks "${said}")
foreach(remark IN LISTS remarks)
  message(STATUS "opyard lint: ${remark}")
endforeach()
