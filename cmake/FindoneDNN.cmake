# oneDNN 2, the shared library. Defines the target oneDNN::oneDNN. Debian: libdnnl-dev. Why this one, and
# what for: docs/adr/0043-onednn-and-our-own-loops.md.

include(FindPackageHandleStandardArgs)

find_path(oneDNN_INCLUDE_DIR dnnl.hpp)
find_library(oneDNN_LIBRARY NAMES dnnl)

if(oneDNN_INCLUDE_DIR)
  file(STRINGS ${oneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h lines REGEX "define DNNL_VERSION_(MAJOR|MINOR|PATCH) ")
  list(TRANSFORM lines REPLACE ".*_(MAJOR|MINOR|PATCH) +([0-9]+).*" "\\2")
  list(JOIN lines "." oneDNN_VERSION)
endif()

find_package_handle_standard_args(oneDNN REQUIRED_VARS oneDNN_LIBRARY oneDNN_INCLUDE_DIR
                                         VERSION_VAR oneDNN_VERSION)

if(oneDNN_FOUND AND NOT TARGET oneDNN::oneDNN)
  add_library(oneDNN::oneDNN UNKNOWN IMPORTED)
  set_target_properties(oneDNN::oneDNN PROPERTIES
                        IMPORTED_LOCATION ${oneDNN_LIBRARY}
                        INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${oneDNN_INCLUDE_DIR}
                        INTERFACE_INCLUDE_DIRECTORIES ${oneDNN_INCLUDE_DIR})
endif()
