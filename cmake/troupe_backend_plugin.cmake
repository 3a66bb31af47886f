# The plugins that workers load: troupe-<backend> and troupe-<backend>-<library>, in lib/troupe.
# Libraries linked into one are hidden in it.

# troupe_cpu_plugin(<target> [<file>…])
function(troupe_cpu_plugin target)
  _troupe_backend_plugin(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE troupe_flags ${TROUPE_FMT})
endfunction()

# troupe_cuda_plugin(<target> [<file>…]): each holds what turns a status of CUDA into an error.
function(troupe_cuda_plugin target)
  _troupe_backend_plugin(${target} ${ARGN}
                         ${PROJECT_SOURCE_DIR}/src/backend/cuda/context/failure.cpp)
  troupe_cuda_flags(${target})
  target_link_libraries(${target} PRIVATE ${TROUPE_FMT} CUDA::cudart_static)
endfunction()

function(_troupe_backend_plugin target)
  set(backend ${PROJECT_SOURCE_DIR}/src/backend)
  add_library(${target} MODULE ${ARGN} $<TARGET_OBJECTS:troupe_plugin_entry>)
  target_link_libraries(${target} PRIVATE troupe)
  target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL -Wl,-Bsymbolic
                      -Wl,--version-script=${backend}/plugin.map)
  if(NOT TROUPE_SANITIZER) # the sanitizers' own symbols come from the program
    target_link_options(${target} PRIVATE -Wl,--no-undefined)
  endif()
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${backend}/plugin.map
                                             LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/troupe)
  set_property(GLOBAL APPEND PROPERTY TROUPE_PLUGINS ${target})
endfunction()
