# FFTW 3 in single and double precision, as archives. Defines the target FFTW3::FFTW3. Debian:
# libfftw3-dev. Why the archives: docs/adr/0016-fftw-in-its-own-plugin.md.

include(FindPackageHandleStandardArgs)

find_path(FFTW3_INCLUDE_DIR fftw3.h)
find_library(FFTW3_DOUBLE_LIBRARY NAMES libfftw3.a)
find_library(FFTW3_SINGLE_LIBRARY NAMES libfftw3f.a)

find_package_handle_standard_args(FFTW3 REQUIRED_VARS FFTW3_DOUBLE_LIBRARY FFTW3_SINGLE_LIBRARY
                                                      FFTW3_INCLUDE_DIR)

if(FFTW3_FOUND AND NOT TARGET FFTW3::FFTW3)
  add_library(FFTW3::FFTW3 INTERFACE IMPORTED)
  target_include_directories(FFTW3::FFTW3 SYSTEM INTERFACE ${FFTW3_INCLUDE_DIR})
  target_link_libraries(FFTW3::FFTW3 INTERFACE ${FFTW3_DOUBLE_LIBRARY} ${FFTW3_SINGLE_LIBRARY} m)
endif()
