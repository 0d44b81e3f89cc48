# Language, warnings, sanitizers, output folders: what holds for every target of this repository.
include_guard(GLOBAL)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
# -g1 keeps backtraces readable at a fraction of the size and time of full debug information.
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(OPYARD_GEN_DIR "${CMAKE_BINARY_DIR}/gen")
set(OPYARD_PLUGIN_DIR "${CMAKE_BINARY_DIR}/lib/opyard/plugins")
set(OPYARD_EXAMPLE_DIR "${CMAKE_BINARY_DIR}/lib/opyard/examples")
file(MAKE_DIRECTORY "${OPYARD_GEN_DIR}/opyard/ops" "${OPYARD_GEN_DIR}/kernels" "${OPYARD_PLUGIN_DIR}")

# One run path for the build tree and for the installed tree: libraries are found beside the binary's folder.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}" "$ORIGIN/../lib")
list(REMOVE_DUPLICATES CMAKE_INSTALL_RPATH)

if(OPYARD_CCACHE)
  find_program(OPYARD_CCACHE_PROGRAM ccache)
  if(OPYARD_CCACHE_PROGRAM)
    set(CMAKE_C_COMPILER_LAUNCHER "${OPYARD_CCACHE_PROGRAM}")
    set(CMAKE_CXX_COMPILER_LAUNCHER "${OPYARD_CCACHE_PROGRAM}")
  endif()
endif()

add_library(opyard_options INTERFACE)
target_compile_options(opyard_options INTERFACE
  -Wall -Wextra -Wpedantic -Werror -fdiagnostics-color=auto
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)

# Places in messages ("registered at kernels/cpu/matmul.cc:123") are told from the root of the repository. Compiler
# launchers may hand the compiler a path relative to the build folder: both spellings are cut.
file(RELATIVE_PATH opyard_source_from_build "${CMAKE_BINARY_DIR}" "${PROJECT_SOURCE_DIR}")
string(REGEX REPLACE "/$" "" opyard_source_from_build "${opyard_source_from_build}")
add_compile_options("-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=" "-fmacro-prefix-map=${opyard_source_from_build}/=")

if(OPYARD_SANITIZE)
  add_compile_options(-fsanitize=${OPYARD_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${OPYARD_SANITIZE})
  if(OPYARD_SANITIZE MATCHES "thread")
    # ThreadSanitizer does not see membarrier, and g++ warns about every fence under it.
    add_compile_definitions(OPYARD_EPOCH_SEQ_CST=1)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      add_compile_options(-Wno-tsan)
    endif()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Instrumented code makes g++ 12 suspect uninitialised reads that are not there.
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
endif()
