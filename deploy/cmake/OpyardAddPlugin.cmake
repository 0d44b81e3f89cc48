# opyard_add_plugin(NAME source... [LIBS lib...] [DEPENDS target...]): the plugin libopyard_plugin_NAME.so.
# Works in this repository and, after find_package(opyard), in a plugin author's own project.
include_guard(GLOBAL)

function(opyard_add_plugin name)
  cmake_parse_arguments(A "" "" "LIBS;DEPENDS" ${ARGN})
  set(target opyard_plugin_${name})
  add_library(${target} MODULE ${A_UNPARSED_ARGUMENTS})
  set_target_properties(${target} PROPERTIES PREFIX lib CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
  # A unique symbol would pin the plugin in memory for ever and let two generations share state.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  target_link_options(${target} PRIVATE -Wl,-z,now)
  target_link_libraries(${target} PRIVATE ${A_LIBS} opyard::opyard)
  if(A_DEPENDS)
    add_dependencies(${target} ${A_DEPENDS})
  endif()
  if(TARGET opyard_options)  # inside the repository
    target_link_libraries(${target} PRIVATE opyard_options)
    target_include_directories(${target} PRIVATE ${OPYARD_INCLUDE_ROOTS})
    set(run_path "$ORIGIN/../..")
    if("opyard::openblas" IN_LIST A_LIBS)
      # The OpenMP build of OpenBLAS, whatever the alternatives system prefers.
      get_filename_component(openblas_dir "${OPYARD_LIB_OPENBLAS}" DIRECTORY)
      list(APPEND run_path "${openblas_dir}")
    endif()
    set_target_properties(${target} PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY "${OPYARD_PLUGIN_DIR}" INSTALL_RPATH "${run_path}")
    set_property(GLOBAL APPEND PROPERTY OPYARD_PLUGINS ${target})
  endif()
  # Where opyardd and yards look: `cmake --install … --prefix` with the prefix of Opyard makes it loadable by name.
  install(TARGETS ${target} LIBRARY DESTINATION lib/opyard/plugins)
endfunction()
