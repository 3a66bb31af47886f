# The one place that sets flags: every target of ours goes through these functions.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

# The tested library is the installed one, to the instruction, with the lines of its source beside it;
# debug information of variables would take 40 % longer to compile (ADR 79).
if(NOT TROUPE_SANITIZER)
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELEASE} -g1")
endif()

find_program(TROUPE_CCACHE ccache)
if(TROUPE_CCACHE)
  # Sources that two presets compile alike are compiled once, though in two folders. With
  # precompiled headers ccache has to be told that only their definitions matter.
  foreach(language IN ITEMS CXX CUDA)
    set(CMAKE_${language}_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_NOHASHDIR=1
        CCACHE_SLOPPINESS=pch_defines,time_macros ${TROUPE_CCACHE})
  endforeach()
endif()

# Warnings are errors in the presets that developers use, so that no other compiler's new warning keeps
# anybody from installing.
add_library(troupe_flags INTERFACE)
target_compile_options(
  troupe_flags INTERFACE -Wall -Wextra -Wconversion -Wsign-conversion -Wshadow
                         -Wnon-virtual-dtor -Woverloaded-virtual)
target_include_directories(troupe_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # At -O3 every `"text" + string` is said to overlap itself (GCC bug 105651, mended in 13).
  target_compile_options(troupe_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # std::ranges::stable_sort of libstdc++ 12 calls what that deprecates.
  target_compile_options(troupe_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-deprecated-declarations>)
  if(TROUPE_UNITY) # it sees names of one source shadowed in the next
    target_compile_options(troupe_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow>)
  endif()
endif()
# After these a test is taken to hang. Under a sanitizer all takes some ten times as long.
set(TROUPE_TEST_SECONDS 600)
if(TROUPE_SANITIZER)
  set(TROUPE_TEST_SECONDS 1800)
endif()

if(TROUPE_SANITIZER STREQUAL "address")
  set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(TROUPE_SANITIZER STREQUAL "thread")
  set(sanitize -fsanitize=thread -fno-omit-frame-pointer)
endif()
# `./dev check` looks at the fuzzers' sources with whatever compiler there is, and builds nothing.
if(TROUPE_FUZZ AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  list(APPEND sanitize -fsanitize=fuzzer-no-link)
endif()
if(sanitize)
  target_compile_options(troupe_flags INTERFACE ${sanitize})
  target_link_options(troupe_flags INTERFACE ${sanitize})
endif()

# troupe_add_companions(<target> [CPU]): builds the worker and all plugins with the target; with
# CPU, only the plugins of the CPU backend.
function(troupe_add_companions target)
  get_property(plugins GLOBAL PROPERTY TROUPE_PLUGINS)
  if(ARGV1 STREQUAL "CPU")
    list(FILTER plugins INCLUDE REGEX "^troupe-cpu")
  endif()
  foreach(companion IN ITEMS troupe-worker troupe-compiler ${plugins})
    if(TARGET ${companion})
      add_dependencies(${target} ${companion})
    endif()
  endforeach()
endfunction()

# troupe_precompile(<name> <header> [LINK <target>…]): precompiled headers for targets that include
# much the same. Sources still include what they use: `./dev check` compiles without them.
function(troupe_precompile name header)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "LINK")
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  file(CONFIGURE OUTPUT ${name}.cpp CONTENT "")
  add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE troupe_flags ${arg_LINK})
  target_precompile_headers(${name} PRIVATE ${header})
endfunction()

# troupe_use_precompiled(<precompiled> <target>…): those that troupe_precompile has made.
function(troupe_use_precompiled precompiled)
  if(NOT TARGET ${precompiled})
    return()
  endif()
  foreach(target IN LISTS ARGN)
    target_precompile_headers(${target} REUSE_FROM ${precompiled})
    # ccache has to see which one it is. GCC 12 warns of its own strings in a precompiled header.
    target_compile_options(
      ${target}
      PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>
              $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds>
              $<$<COMPILE_LANGUAGE:CXX>:-Wno-stringop-overflow>
              $<$<COMPILE_LANGUAGE:CXX>:-Wno-stringop-overread>)
  endforeach()
endfunction()

# troupe_unity(<target>…): the sources of a folder are compiled together, eight at a time, because most
# of a source's time goes into what it includes. So a name in an anonymous namespace is unique in its
# folder. `./dev check` compiles each source by itself. Sources outside of the target's folder stay
# alone, too: tests compile some of several folders.
function(troupe_unity)
  if(NOT TROUPE_UNITY)
    return()
  endif()
  foreach(target IN LISTS ARGN)
    get_target_property(directory ${target} SOURCE_DIR)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "^[^$]*\\.cpp$")
    list(FILTER sources EXCLUDE REGEX "^${PROJECT_BINARY_DIR}/") # generated ones stay alone
    set(folders "")
    foreach(source IN LISTS sources)
      get_filename_component(path ${source} ABSOLUTE BASE_DIR ${directory})
      cmake_path(IS_PREFIX directory ${path} NORMALIZE is_own)
      if(NOT is_own)
        continue()
      endif()
      get_filename_component(folder ${path} DIRECTORY)
      # Relative, so that a compiler cache knows it in any checkout.
      file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
      string(MAKE_C_IDENTIFIER ${folder} id)
      list(APPEND folders ${id})
      list(APPEND of_${id} ${path})
    endforeach()
    list(REMOVE_DUPLICATES folders)
    foreach(id IN LISTS folders)
      set(place 0)
      list(LENGTH of_${id} count)
      foreach(path IN LISTS of_${id})
        math(EXPR batch "${place} / 8")
        math(EXPR place "${place} + 1")
        if(count GREATER 1)
          set_source_files_properties(${path} TARGET_DIRECTORY ${target}
                                      PROPERTIES UNITY_GROUP ${id}_${batch})
        endif()
      endforeach()
      set(of_${id} "")
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    # g++ takes the sources for headers, whose types in anonymous namespaces it warns of.
    target_compile_options(
      ${target}
      PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>)
  endforeach()
endfunction()

# troupe_test(<name> SOURCES <file>… [INTERNAL] [LINK <target>…]): one GoogleTest program.
# INTERNAL links the library's objects, so that what is not exported can be tested.
function(troupe_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "INTERNAL" "" "SOURCES;LINK")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE troupe_flags GTest::gtest_main ${arg_LINK})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  if(arg_INTERNAL)
    target_link_libraries(${name} PRIVATE troupe_static)
  else()
    target_link_libraries(${name} PRIVATE troupe)
    troupe_add_companions(${name})
  endif()
  troupe_use_precompiled(tests_precompiled ${name})
  troupe_unity(${name})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${TROUPE_TEST_SECONDS})
endfunction()

# troupe_plugin_parts(<name> <target>…): a plugin of the tree's own, made by troupe_add_plugin: its
# files lie in lib/plugins, are compiled with the tree's flags, and are built with each target.
function(troupe_plugin_parts name)
  target_link_libraries(${name} PRIVATE troupe_flags)
  foreach(part IN ITEMS ${name}_cpu ${name}_cuda)
    if(NOT TARGET ${part})
      continue()
    endif()
    if(part STREQUAL ${name}_cuda)
      troupe_cuda_flags(${part})
    else()
      target_link_libraries(${part} PRIVATE troupe_flags)
    endif()
    set_target_properties(${part} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/plugins)
    foreach(target IN LISTS ARGN)
      add_dependencies(${target} ${part})
    endforeach()
  endforeach()
endfunction()

# troupe_program(<name> SOURCES <file>… [LINK <target>…] [CPU]): a program that uses the library as
# its users do. CPU: CUDA's plugins are built where somebody asks for them, not for this program.
function(troupe_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CPU" "" "SOURCES;LINK")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE troupe_flags troupe ${arg_LINK})
  if(arg_CPU)
    troupe_add_companions(${name} CPU)
  else()
    troupe_add_companions(${name})
  endif()
endfunction()
