# troupe_add_plugin(<name> REQUESTS <file>… [SOURCES <file>…] [CUDA_SOURCES <file>…])
#
# A plugin of operations of one's own, for `device_config::plugins`.
#   REQUESTS      describe and check the requests; <name> is a library of them, which the program
#                 that sends them links. The current source folder becomes an include folder of it.
#   SOURCES       executors for the CPU: they become lib<name>.so, the target <name>_cpu.
#   CUDA_SOURCES  executors for CUDA: they become lib<name>-cuda.so beside it, the target
#                 <name>_cuda, where the project has enabled the language CUDA, and are left out
#                 where it has not.
# Link an executor's other libraries to those targets.

function(troupe_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "REQUESTS;SOURCES;CUDA_SOURCES")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_REQUESTS OR NOT (arg_SOURCES OR arg_CUDA_SOURCES))
    message(FATAL_ERROR "troupe_add_plugin(${name} …): it takes REQUESTS, the sources that describe "
                        "the requests, and SOURCES or CUDA_SOURCES or both, their executors; "
                        "not: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  add_library(${name} STATIC ${arg_REQUESTS})
  target_include_directories(${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC troupe::troupe)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)

  if(arg_SOURCES)
    _troupe_plugin_part(${name} ${name}_cpu ${name} ${arg_SOURCES})
  endif()
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  # Troupe's own tests leave kernels out where there is no GPU.
  if(DEFINED TROUPE_KERNELS AND NOT TROUPE_KERNELS)
    return()
  endif()
  if(arg_CUDA_SOURCES AND CUDA IN_LIST languages)
    _troupe_plugin_part(${name} ${name}_cuda ${name}-cuda ${arg_CUDA_SOURCES})
    set_target_properties(${name}_cuda PROPERTIES CUDA_RUNTIME_LIBRARY Static
                                                  CUDA_VISIBILITY_PRESET hidden)
    # CMake 3.25 does not know that nvcc has C++20.
    if(CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set_target_properties(${name}_cuda PROPERTIES CUDA_STANDARD 20)
    else()
      target_compile_options(${name}_cuda PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>)
    endif()
  elseif(arg_CUDA_SOURCES)
    message(STATUS "plugin ${name}: the language CUDA is not enabled; without its part for CUDA")
  endif()
endfunction()

# One file of the plugin: the sources, the requests, and the entry points that a worker looks for.
function(_troupe_plugin_part name target file)
  set(entry ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  if(NOT EXISTS ${entry}/plugin.cpp) # which lies beside this in an install
    set(entry ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../src/backend)
  endif()
  add_library(${target} MODULE ${ARGN} ${entry}/plugin.cpp)
  target_link_libraries(${target} PRIVATE ${name} troupe::troupe)
  target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL -Wl,-Bsymbolic
                      -Wl,--version-script=${entry}/plugin.map)
  if(NOT TROUPE_SANITIZER AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    # A missing symbol is reported at link time. A sanitizer's own symbols come from the worker.
    target_link_options(${target} PRIVATE -Wl,--no-undefined)
  endif()
  set_target_properties(
    ${target}
    PROPERTIES OUTPUT_NAME ${file}
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               LINK_DEPENDS ${entry}/plugin.map)
endfunction()
