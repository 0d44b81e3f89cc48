# opyard_add_plugin(NAME source... [STABLE] [EXAMPLE] [NO_LINT] [LIBS lib...] [DEPENDS target...]): the plugin
# libopyard_plugin_NAME.so, target opyard_plugin_NAME, with the flags that let it be unloaded again; linted when linked.
# STABLE: written in C or on opyard_stable.h; does not link libopyard and runs on every host of the interface.
# EXAMPLE: inside this repository it is built into a folder of its own, for the tests, and not installed.
# NO_LINT: for plugins that are wrong on purpose.
# Works in this repository and, after find_package(opyard), in a plugin author's own project.
include_guard(GLOBAL)
set(_OPYARD_ADD_PLUGIN_DIR "${CMAKE_CURRENT_LIST_DIR}")

# What keeps a plugin mapped for ever, or lets two of them share state, is kept out: unique symbols, exports besides the
# entry, symbols of archives, thread-local variables of the static kind. What is missing shows when it is linked or
# loaded, not at the first call.
function(_opyard_plugin_flags target)
  target_compile_options(${target} PRIVATE -fvisibility=hidden -ftls-model=global-dynamic
    $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)
  set(exports "${_OPYARD_ADD_PLUGIN_DIR}/opyard_plugin.exports")
  target_link_options(${target} PRIVATE -Wl,-z,now -Wl,--exclude-libs,ALL "-Wl,--version-script=${exports}")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${exports}")
  set(all_flags "${CMAKE_CXX_FLAGS} ${CMAKE_C_FLAGS} ${OPYARD_SANITIZE}")
  if(NOT (all_flags MATCHES "fsanitize|address|thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang"))
    target_link_options(${target} PRIVATE -Wl,--no-undefined)  # clang's sanitizers live in the program alone
  endif()
endfunction()

# A project without a build type would get no optimisation at all, which is a tenth of the speed. Flags that say something
# of it themselves stand, as does every build type.
function(_opyard_plugin_optimisation target)
  if("${CMAKE_CXX_FLAGS} ${CMAKE_C_FLAGS}" MATCHES "(^| )-O")
    return()
  endif()
  target_compile_options(${target} PRIVATE $<$<CONFIG:>:-O2>)
  get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  get_property(said GLOBAL PROPERTY _OPYARD_SAID_OPTIMISATION)
  if(NOT (CMAKE_BUILD_TYPE OR multi_config OR said))
    message(STATUS "opyard: no CMAKE_BUILD_TYPE, plugins are compiled with -O2; -DCMAKE_BUILD_TYPE=Release says it")
    set_property(GLOBAL PROPERTY _OPYARD_SAID_OPTIMISATION TRUE)
  endif()
endfunction()

# With the worker of this build, or of the installed Opyard. Without one nothing is checked here; the host will.
function(_opyard_lint_plugin target)
  if(TARGET opyard_options)
    set(worker "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/opyard-worker")
    if(OPYARD_BUILD_DAEMON AND EXISTS "${PROJECT_SOURCE_DIR}/server/worker/CMakeLists.txt")
      add_dependencies(${target} opyard_worker)
    endif()
  else()
    set(worker "${opyard_WORKER}")
  endif()
  add_custom_command(TARGET ${target} POST_BUILD VERBATIM
    COMMAND "${CMAKE_COMMAND}" "-DWORKER=${worker}" "-DPLUGIN=$<TARGET_FILE:${target}>"
      -P "${_OPYARD_ADD_PLUGIN_DIR}/OpyardLintPlugin.cmake")
endfunction()

function(opyard_add_plugin name)
  cmake_parse_arguments(A "STABLE;EXAMPLE;NO_LINT" "" "LIBS;DEPENDS" ${ARGN})
  set(target opyard_plugin_${name})
  add_library(${target} MODULE ${A_UNPARSED_ARGUMENTS})
  set_target_properties(${target} PROPERTIES PREFIX lib CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
    C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
  _opyard_plugin_flags(${target})
  target_link_libraries(${target} PRIVATE ${A_LIBS} $<IF:$<BOOL:${A_STABLE}>,opyard::abi,opyard::opyard>)
  if(A_DEPENDS)
    add_dependencies(${target} ${A_DEPENDS})
  endif()
  if(TARGET opyard_options)  # inside the repository
    target_link_libraries(${target} PRIVATE opyard_options)
    if(NOT A_STABLE)
      target_include_directories(${target} PRIVATE ${OPYARD_INCLUDE_ROOTS})
    endif()
    set(run_path "$ORIGIN/../..")
    if("opyard::openblas" IN_LIST A_LIBS)
      # The OpenMP build of OpenBLAS, whatever the alternatives system prefers.
      get_filename_component(openblas_dir "${OPYARD_LIB_OPENBLAS}" DIRECTORY)
      list(APPEND run_path "${openblas_dir}")
    endif()
    set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${OPYARD_PLUGIN_DIR}"
      INSTALL_RPATH "${run_path}")
    if(A_EXAMPLE)
      set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${OPYARD_EXAMPLE_DIR}")
    else()
      set_property(GLOBAL APPEND PROPERTY OPYARD_PLUGINS ${target})
    endif()
  else()
    _opyard_plugin_optimisation(${target})
  endif()
  if(NOT A_NO_LINT)
    _opyard_lint_plugin(${target})
  endif()
  # Where opyardd and yards look: `cmake --install … --prefix` with the prefix of Opyard makes it loadable by name.
  if(NOT (A_EXAMPLE AND TARGET opyard_options))
    install(TARGETS ${target} LIBRARY DESTINATION lib/opyard/plugins)
  endif()
endfunction()
