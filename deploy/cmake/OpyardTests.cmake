# Tests in CTest. Labels: unit, cases, architecture, embed, integration.
include_guard(GLOBAL)

# opyard_unit_test(NAME source... [LIBS lib...] [DEPENDS target...]): a GoogleTest program (main comes with it); each
# TEST becomes one CTest entry with the label unit. Links libopyard.so.
function(opyard_unit_test name)
  cmake_parse_arguments(A "" "" "LIBS;DEPENDS;LABELS" ${ARGN})
  include(GoogleTest)
  opyard_use(gtest)
  add_executable(${name} ${A_UNPARSED_ARGUMENTS})
  _opyard_common(${name})
  target_link_libraries(${name} PRIVATE ${A_LIBS} opyard::gtest)
  if(TARGET opyard)
    target_link_libraries(${name} PRIVATE opyard)
  endif()
  if(A_DEPENDS)
    add_dependencies(${name} ${A_DEPENDS})
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 TEST_PREFIX "${name}/"
    PROPERTIES LABELS "unit;${A_LABELS}" TIMEOUT 300)
  set_property(GLOBAL APPEND PROPERTY OPYARD_UNIT_TESTS ${name})
endfunction()
