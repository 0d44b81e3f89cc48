# Install rules of the library, its headers, the CMake package and the pkg-config file. Programs and plugins bring
# their own rules (opyard_executable(… INSTALL), opyard_add_plugin).
include_guard(GLOBAL)
include(CMakePackageConfigHelpers)

if(NOT TARGET opyard)
  return()
endif()

install(TARGETS opyard opyard_abi EXPORT opyardTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY "${PROJECT_SOURCE_DIR}/server/lib/opyard" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "*.inc")
install(DIRECTORY "${OPYARD_GEN_DIR}/opyard" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.inc")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/plugins/abi/" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")

set(OPYARD_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/opyard")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/opyardConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/opyardConfig.cmake" INSTALL_DESTINATION ${OPYARD_PACKAGE_DIR}
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/opyardConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(EXPORT opyardTargets NAMESPACE opyard:: DESTINATION ${OPYARD_PACKAGE_DIR})
install(FILES "${PROJECT_BINARY_DIR}/opyardConfig.cmake" "${PROJECT_BINARY_DIR}/opyardConfigVersion.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/OpyardAddPlugin.cmake" "${CMAKE_CURRENT_LIST_DIR}/OpyardLintPlugin.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/opyard_plugin.exports" DESTINATION ${OPYARD_PACKAGE_DIR})

set(OPYARD_NO_UNIQUE_FLAG "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(OPYARD_NO_UNIQUE_FLAG " -fno-gnu-unique")
endif()
configure_file("${CMAKE_CURRENT_LIST_DIR}/opyard.pc.in" "${PROJECT_BINARY_DIR}/opyard.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/opyard.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
