# The content of an install, and the package that `find_package(troupe COMPONENTS …)` finds:
#   core   the library and its headers (always there)
#   worker the worker process and the compiler of kernels, in libexec/troupe
#   cpu    the CPU backend, a plugin in lib/troupe
#   cuda   the CUDA backend, several plugins there: its own and one for each vendor library
#   telemetry  libtroupe-telemetry, the target troupe::telemetry
# the function `troupe_add_plugin` for plugins of one's own, and the program bin/troupe, which reports
# the parts that a machine lacks.
# A component is there when its target was built. The layout is fixed, so that the library finds
# its worker and the worker its plugins relative to itself, wherever the tree is moved.

include(CMakePackageConfigHelpers)

set(TROUPE_COMPONENTS core)
set(troupe_package_dir lib/cmake/troupe)
# Components of an installation are its packages: runtime and cuda of Debian's, with python those of
# a wheel.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME runtime)

if(SKBUILD)
  install(TARGETS troupe EXPORT troupeTargets LIBRARY DESTINATION lib NAMELINK_SKIP)
else()
  install(TARGETS troupe EXPORT troupeTargets LIBRARY DESTINATION lib)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/troupe DESTINATION include FILES_MATCHING
        PATTERN "*.hpp")
if(TARGET troupe-worker)
  list(APPEND TROUPE_COMPONENTS worker)
  set_target_properties(troupe-worker troupe-compiler PROPERTIES INSTALL_RPATH "$ORIGIN/../../lib")
  install(TARGETS troupe-worker troupe-compiler RUNTIME DESTINATION libexec/troupe)
endif()
list(APPEND TROUPE_COMPONENTS telemetry)
set_target_properties(troupe-telemetry PROPERTIES INSTALL_RPATH "$ORIGIN")
if(SKBUILD)
  install(TARGETS troupe-telemetry EXPORT troupeTargets LIBRARY DESTINATION lib NAMELINK_SKIP)
else()
  install(TARGETS troupe-telemetry EXPORT troupeTargets LIBRARY DESTINATION lib)
endif()
set_target_properties(troupe-info PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
install(TARGETS troupe-info RUNTIME DESTINATION bin)
foreach(backend IN ITEMS cpu cuda)
  if(TARGET troupe-${backend})
    list(APPEND TROUPE_COMPONENTS ${backend})
  endif()
endforeach()
get_property(plugins GLOBAL PROPERTY TROUPE_PLUGINS)
foreach(plugin IN LISTS plugins)
  set_target_properties(${plugin} PROPERTIES INSTALL_RPATH "$ORIGIN/..")
  set(component runtime)
  if(plugin MATCHES "^troupe-cuda")
    set(component cuda)
  endif()
  install(TARGETS ${plugin} LIBRARY DESTINATION lib/troupe COMPONENT ${component})
endforeach()

# The targets that an install copies, without tests, benchmarks and examples.
add_custom_target(troupe_installed)
add_dependencies(troupe_installed troupe troupe-telemetry troupe-info)
troupe_add_companions(troupe_installed)

install(EXPORT troupeTargets NAMESPACE troupe:: DESTINATION ${troupe_package_dir})
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/troupeConfig.cmake.in ${PROJECT_BINARY_DIR}/troupeConfig.cmake
  INSTALL_DESTINATION ${troupe_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/troupeConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/troupeConfig.cmake
              ${PROJECT_BINARY_DIR}/troupeConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/troupe_add_plugin.cmake
              ${PROJECT_SOURCE_DIR}/src/backend/plugin.cpp
              ${PROJECT_SOURCE_DIR}/src/backend/plugin.map DESTINATION ${troupe_package_dir})
