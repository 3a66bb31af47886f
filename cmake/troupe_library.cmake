# troupe_library(<name> [BUILT_IN] [USES <library>…]
#                [CPU_PLUGIN] [CPU_LINK <target>…] [CPU_OPTIONS <option>…]
#                [CUDA_PLUGIN | NO_CUDA] [CUDA_LINK <target>…] [CUDA_OPTIONS <option>…]
#                [CUDA_SHARED <file>…] [CUDA_SOURCES <file>…])
#
# A library of operations: the folder that calls this, whose sources are found by where they lie.
#   requests/   describe the requests; a part of libtroupe
#   client/     what programs use beside requests: a part of libtroupe, too
#   shared/     headers of what both backends compute with
#   cpu/        executors of the CPU backend, the objects troupe_<name>_cpu: a part of its plugin
#               troupe-cpu, or with CPU_PLUGIN a plugin of their own, troupe-cpu-<name>
#   cuda/       the same for CUDA: a part of troupe-cuda, or troupe-cuda-<name>
# *_LINK is linked to the plugin; *_OPTIONS compile the library's own sources (CUDA_OPTIONS: those of
# nvcc). CUDA_SHARED names sources below cuda/ that plugins of other libraries need, too: each plugin
# holds a copy of the objects that it calls. CUDA_SOURCES names files of other folders that its plugin
# is compiled from. USES names the libraries whose executors its own call.
# NO_CUDA: its CUDA part is not built, because something that it needs is missing.
# BUILT_IN: the worker itself answers these requests. They need no page and no conformance tests.
#
# Without TROUPE_KERNELS, kernels and plugins for CUDA are left out; executors are compiled.

function(troupe_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "BUILT_IN;CPU_PLUGIN;CUDA_PLUGIN;NO_CUDA" ""
                        "USES;CPU_LINK;CPU_OPTIONS;CUDA_LINK;CUDA_OPTIONS;CUDA_SHARED;CUDA_SOURCES")
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
    set(shared ${arg_CUDA_SHARED})
    list(TRANSFORM shared PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/cuda/ REGEX "^[^/]")
    list(REMOVE_ITEM cuda ${shared})
    _troupe_cuda_objects(troupe_${name}_cuda ${cuda} ${arg_CUDA_SOURCES})
    troupe_unity(troupe_${name}_cuda)
    set(objects $<TARGET_OBJECTS:troupe_${name}_cuda>)
    if(shared)
      _troupe_cuda_objects(troupe_${name}_cuda_shared ${shared})
      list(APPEND objects $<TARGET_OBJECTS:troupe_${name}_cuda_shared>)
      add_library(troupe_${name}_cuda_archive STATIC EXCLUDE_FROM_ALL
                  $<TARGET_OBJECTS:troupe_${name}_cuda_shared>)
      target_link_libraries(troupe_${name}_cuda_archive INTERFACE ${arg_CUDA_LINK})
    endif()
    if(TROUPE_KERNELS OR arg_BUILT_IN)
      list(TRANSFORM arg_USES REPLACE "(.+)" "$<TARGET_NAME_IF_EXISTS:troupe_\\1_cuda_archive>"
           OUTPUT_VARIABLE archives)
      _troupe_library_part(cuda ${name} "${arg_CUDA_PLUGIN}" "${objects}" "${arg_CUDA_LINK};${archives}")
    endif()
  endif()
endfunction()

# The objects of a library's sources for CUDA; takes its arguments from troupe_library.
function(_troupe_cuda_objects objects)
  set(sources ${ARGN})
  if(NOT TROUPE_KERNELS AND NOT arg_BUILT_IN)
    list(FILTER sources EXCLUDE REGEX "\\.cu$")
  endif()
  add_library(${objects} OBJECT ${sources})
  target_link_libraries(${objects} PRIVATE troupe ${TROUPE_FMT} CUDA::cudart_static ${arg_CUDA_LINK})
  target_compile_options(${objects} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${arg_CUDA_OPTIONS}>")
  troupe_cuda_flags(${objects})
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
