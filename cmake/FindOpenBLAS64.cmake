# OpenBLAS with 64-bit integers, as an archive, and the runtime of the Fortran in its LAPACK.
# Defines the target OpenBLAS64::OpenBLAS64. Debian: libopenblas64-pthread-dev.
# Why the archive: docs/adr/0004-openblas-hidden-in-the-cpu-plugin.md.

include(FindPackageHandleStandardArgs)

find_path(OpenBLAS64_INCLUDE_DIR cblas.h
          PATH_SUFFIXES openblas64-pthread x86_64-linux-gnu/openblas64-pthread
                        aarch64-linux-gnu/openblas64-pthread openblas64
          NO_CMAKE_FIND_ROOT_PATH)
if(OpenBLAS64_INCLUDE_DIR)
  file(STRINGS ${OpenBLAS64_INCLUDE_DIR}/openblas_config.h OpenBLAS64_integers
       REGEX "define[ \t]+OPENBLAS_USE64BITINT")
  file(STRINGS ${OpenBLAS64_INCLUDE_DIR}/openblas_config.h OpenBLAS64_VERSION
       REGEX "define[ \t]+OPENBLAS_VERSION")
  string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" OpenBLAS64_VERSION "${OpenBLAS64_VERSION}")
  if(NOT OpenBLAS64_integers) # some other cblas.h: 32-bit integers would corrupt silently
    unset(OpenBLAS64_INCLUDE_DIR CACHE)
  endif()
endif()
find_library(OpenBLAS64_LIBRARY NAMES libopenblas64.a PATH_SUFFIXES openblas64-pthread openblas64)
find_library(OpenBLAS64_FORTRAN NAMES gfortran libgfortran.so.5)

find_package_handle_standard_args(
  OpenBLAS64 REQUIRED_VARS OpenBLAS64_LIBRARY OpenBLAS64_INCLUDE_DIR OpenBLAS64_FORTRAN
  VERSION_VAR OpenBLAS64_VERSION)

if(OpenBLAS64_FOUND AND NOT TARGET OpenBLAS64::OpenBLAS64)
  find_package(Threads REQUIRED)
  add_library(OpenBLAS64::OpenBLAS64 STATIC IMPORTED)
  set_target_properties(
    OpenBLAS64::OpenBLAS64
    PROPERTIES IMPORTED_LOCATION ${OpenBLAS64_LIBRARY}
               INTERFACE_INCLUDE_DIRECTORIES ${OpenBLAS64_INCLUDE_DIR}
               INTERFACE_LINK_LIBRARIES "${OpenBLAS64_FORTRAN};Threads::Threads;m")
endif()
