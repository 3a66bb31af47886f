# The CUDA compiler and toolkit, where there are any: sets TROUPE_HAVE_CUDA. The driver is loaded at
# run time (libcuda.so.1), so everything builds without one.

set(TROUPE_HAVE_CUDA OFF)
if(NOT TROUPE_CUDA OR TROUPE_SANITIZER) # nothing of it can run under a host sanitizer
  return()
endif()
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(STATUS "no CUDA compiler: building without the CUDA backend")
  return()
endif()
set(CMAKE_CUDA_ARCHITECTURES ${TROUPE_CUDA_ARCHITECTURES})
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION) # CMake 3.25 does not know that nvcc has C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
# Kernels are the same in every build type, and a compiler cache compiles them once.
set(CMAKE_CUDA_FLAGS_RELWITHDEBINFO ${CMAKE_CUDA_FLAGS_RELEASE})
find_package(CUDAToolkit 13.0 REQUIRED)
set(TROUPE_HAVE_CUDA ON)

# troupe_cuda_flags(<target>): targets that are compiled against CUDA's headers get their warnings
# through this, because nvcc does not take a C++ compiler's options.
function(troupe_cuda_flags target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_include_directories(${target} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_compile_options(
    ${target}
    PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wconversion;-Wsign-conversion;-Wshadow>"
            "$<$<COMPILE_LANGUAGE:CUDA>:-lineinfo;--expt-relaxed-constexpr;-Xcompiler=-Wall,-Wextra>")
endfunction()
