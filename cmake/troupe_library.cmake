# troupe_library(<name> [BUILT_IN] [USES <library>…]
#                [CPU_PLUGIN] [CPU_LINK <target>…] [CPU_OPTIONS <option>…]
#                [CUDA_PLUGIN | NO_CUDA] [CUDA_LINK <target>…] [CUDA_OPTIONS <option>…] [CUDA_SOURCES <file>…])
#
# A library of operations: the folder that calls this, whose sources are found by where they lie.
#   requests/   describe the requests; a part of libtroupe
#   client/     what programs use beside requests: a part of libtroupe, too
#   shared/     headers of what both backends compute with
#   cpu/        executors of the CPU backend, the objects troupe_<name>_cpu: a part of its plugin
#               troupe-cpu, or with CPU_PLUGIN a plugin of their own, troupe-cpu-<name>
#   cuda/       the same for CUDA: a part of troupe-cuda, or troupe-cuda-<name>
# *_LINK is linked to the plugin; *_OPTIONS compile the library's own sources (CUDA_OPTIONS: those of
# nvcc). CUDA_SOURCES names files of other folders that its plugin holds a copy of. USES names the
# libraries whose executors its own call.
# NO_CUDA: its CUDA part is not built, because something that it needs is missing.
# BUILT_IN: the worker itself answers these requests. They need no page and no conformance tests.

function(troupe_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "BUILT_IN;CPU_PLUGIN;CUDA_PLUGIN;NO_CUDA" ""
                        "USES;CPU_LINK;CPU_OPTIONS;CUDA_LINK;CUDA_OPTIONS;CUDA_SOURCES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "troupe_library(${name}): unknown: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_BUILT_IN)
    set_property(GLOBAL APPEND PROPERTY TROUPE_LIBRARIES ${name})
  endif()
  _troupe_sources(requests requests cpp)
  _troupe_sources(client client cpp)
  target_sources(troupe_objects PRIVATE ${requests} ${client})
  if(TROUPE_EXECUTORS AND NOT arg_BUILT_IN AND NOT name IN_LIST TROUPE_EXECUTORS)
    return()
  endif()
  foreach(used IN LISTS arg_USES)
    if(TROUPE_EXECUTORS AND NOT used IN_LIST TROUPE_EXECUTORS)
      message(FATAL_ERROR "TROUPE_EXECUTORS has ${name}, whose executors call those of ${used}; add ${used}")
    endif()
  endforeach()

  _troupe_sources(cpu cpu cpp)
  if(cpu)
    set(objects troupe_${name}_cpu)
    add_library(${objects} OBJECT ${cpu})
    target_link_libraries(${objects} PRIVATE troupe troupe_flags ${TROUPE_FMT} ${arg_CPU_LINK})
    target_compile_options(${objects} PRIVATE ${arg_CPU_OPTIONS})
    troupe_use_precompiled(sources_precompiled ${objects})
    troupe_unity(${objects})
    _troupe_library_part(cpu ${name} "${arg_CPU_PLUGIN}" $<TARGET_OBJECTS:${objects}> "${arg_CPU_LINK}")
  endif()
  _troupe_sources(cuda cuda cpp cu)
  if(cuda AND TROUPE_HAVE_CUDA AND NOT arg_NO_CUDA)
    set(kernels ${cuda})
    list(FILTER kernels INCLUDE REGEX "\\.cu$")
    list(APPEND cuda ${arg_CUDA_SOURCES})
    _troupe_library_part(cuda ${name} "${arg_CUDA_PLUGIN}" "${cuda}" "${arg_CUDA_LINK}")
    set_source_files_properties(${kernels} TARGET_DIRECTORY ${plugin}
                                PROPERTIES COMPILE_OPTIONS "${arg_CUDA_OPTIONS}")
  endif()
endfunction()

# Sets `out` to the sources below a folder of the calling list file, by suffix.
function(_troupe_sources out folder)
  list(TRANSFORM ARGN REPLACE "(.+)" "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.\\1" OUTPUT_VARIABLE patterns)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS ${patterns})
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# Adds sources to the backend's plugin, or makes one of them; sets `plugin` to its target.
macro(_troupe_library_part backend name own sources links)
  set(plugin troupe-${backend})
  if(${own})
    string(APPEND plugin -${name})
    cmake_language(CALL troupe_${backend}_plugin ${plugin})
  endif()
  target_sources(${plugin} PRIVATE ${sources})
  target_link_libraries(${plugin} PRIVATE ${links})
endmacro()
