# The kinds of target that this repository has. Described in deploy/cmake/README.md.
include_guard(GLOBAL)

set(OPYARD_INCLUDE_ROOTS
  "${PROJECT_SOURCE_DIR}/server/lib" "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/plugins/abi" "${OPYARD_GEN_DIR}")

function(opyard_add_folders)
  foreach(folder IN LISTS ARGN)
    if(EXISTS "${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt")
      add_subdirectory("${PROJECT_SOURCE_DIR}/${folder}" "${PROJECT_BINARY_DIR}/cmake/${folder}")
    endif()
  endforeach()
endfunction()

# opyard::abi: the headers of the C interface and of plugins/sdk, for plugins that do not link libopyard.
add_library(opyard_abi INTERFACE)
add_library(opyard::abi ALIAS opyard_abi)
set_target_properties(opyard_abi PROPERTIES EXPORT_NAME abi)
target_include_directories(opyard_abi INTERFACE
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/plugins/abi>"
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>"
  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")

function(_opyard_common target)
  target_include_directories(${target} PRIVATE ${OPYARD_INCLUDE_ROOTS})
  target_link_libraries(${target} PRIVATE opyard_options Threads::Threads)
endfunction()

# opyard_objects(NAME source... [LIBS lib...] [DEPENDS target...]): objects of libopyard.so.
function(opyard_objects name)
  cmake_parse_arguments(A "" "" "LIBS;DEPENDS" ${ARGN})
  add_library(opyard_${name} OBJECT ${A_UNPARSED_ARGUMENTS})
  _opyard_common(opyard_${name})
  target_link_libraries(opyard_${name} PRIVATE ${A_LIBS})
  if(A_DEPENDS)
    add_dependencies(opyard_${name} ${A_DEPENDS})
  endif()
  set_property(GLOBAL APPEND PROPERTY OPYARD_OBJECT_LIBRARIES opyard_${name})
endfunction()

# opyard_link_library(): libopyard.so from all objects registered so far. Called once, by the root.
function(opyard_link_library)
  get_property(objects GLOBAL PROPERTY OPYARD_OBJECT_LIBRARIES)
  if(NOT objects)
    message(STATUS "opyard: no objects registered yet, libopyard.so is left out")
    return()
  endif()
  set(parts "")
  foreach(object IN LISTS objects)
    list(APPEND parts "$<TARGET_OBJECTS:${object}>")
  endforeach()
  add_library(opyard SHARED ${parts})
  add_library(opyard::opyard ALIAS opyard)
  foreach(object IN LISTS objects)
    add_dependencies(opyard ${object})
  endforeach()
  # The SONAME names the layout of handles and thread state; the library is never unloaded, because threads and
  # plugins hold pointers into it. No -Bsymbolic: handles must have one address in the whole process.
  set_target_properties(opyard PROPERTIES LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION 0)
  target_link_options(opyard PRIVATE -Wl,-z,nodelete -Wl,--no-undefined)
  if(OPYARD_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_link_options(opyard PRIVATE -Wl,-z,undefs)  # clang links the sanitizer into executables only
  endif()
  target_link_libraries(opyard PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
  target_include_directories(opyard PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/server/lib>"
    "$<BUILD_INTERFACE:${OPYARD_GEN_DIR}>"
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/plugins/abi>"
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_compile_features(opyard INTERFACE cxx_std_20)
endfunction()

# opyard_static(NAME source... [LIBS] [DEPENDS]): a static library opyard_NAME outside libopyard.so (daemon, clients).
function(opyard_static name)
  cmake_parse_arguments(A "" "" "LIBS;DEPENDS" ${ARGN})
  add_library(opyard_${name} STATIC ${A_UNPARSED_ARGUMENTS})
  _opyard_common(opyard_${name})
  target_include_directories(opyard_${name} PUBLIC ${OPYARD_INCLUDE_ROOTS})
  target_link_libraries(opyard_${name} PUBLIC ${A_LIBS})
  if(A_DEPENDS)
    add_dependencies(opyard_${name} ${A_DEPENDS})
  endif()
endfunction()

# opyard_executable(TARGET source... [OUTPUT file-name] [LIBS] [DEPENDS] [INSTALL]): a program in build/<preset>/bin.
function(opyard_executable target)
  cmake_parse_arguments(A "INSTALL" "OUTPUT" "LIBS;DEPENDS" ${ARGN})
  add_executable(${target} ${A_UNPARSED_ARGUMENTS})
  _opyard_common(${target})
  target_link_libraries(${target} PRIVATE ${A_LIBS})
  if(A_OUTPUT)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME "${A_OUTPUT}")
  endif()
  if(A_DEPENDS)
    add_dependencies(${target} ${A_DEPENDS})
  endif()
  if(A_INSTALL)
    install(TARGETS ${target} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    set_property(GLOBAL APPEND PROPERTY OPYARD_PROGRAMS ${target})
  endif()
endfunction()

# opyard_programs_target(): the target opyard_programs, everything that is installed and nothing of the tests.
function(opyard_programs_target)
  get_property(programs GLOBAL PROPERTY OPYARD_PROGRAMS)
  get_property(plugins GLOBAL PROPERTY OPYARD_PLUGINS)
  add_custom_target(opyard_programs)
  foreach(target IN LISTS programs plugins)
    add_dependencies(opyard_programs ${target})
  endforeach()
  if(TARGET opyard)
    add_dependencies(opyard_programs opyard)
  endif()
endfunction()

include(OpyardAddPlugin)
