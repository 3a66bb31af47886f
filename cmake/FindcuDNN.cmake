# cuDNN 9 and its frontend, for the CUDA part of `dnn`. Defines cuDNN::cudnn, and cuDNN::frontend, headers
# which `./dev` puts into build/vendor; sets cuDNN_WHY_NOT where one of them is missing.

include(FindPackageHandleStandardArgs)

set(vendor ${PROJECT_SOURCE_DIR}/build/vendor)
find_path(cuDNN_INCLUDE_DIR cudnn_graph.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ${vendor}/cudnn/include)
find_library(cuDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${CUDAToolkit_LIBRARY_DIR})
find_path(cuDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h PATHS ${vendor}/cudnn-frontend/include
          NO_DEFAULT_PATH)

find_package_handle_standard_args(cuDNN REQUIRED_VARS cuDNN_LIBRARY cuDNN_INCLUDE_DIR
                                                      cuDNN_FRONTEND_INCLUDE_DIR)

if(NOT cuDNN_INCLUDE_DIR)
  set(cuDNN_WHY_NOT "there is no cudnn_graph.h")
elseif(NOT cuDNN_LIBRARY)
  set(cuDNN_WHY_NOT "there is no libcudnn.so")
elseif(NOT cuDNN_FRONTEND_INCLUDE_DIR)
  set(cuDNN_WHY_NOT "there is no ${vendor}/cudnn-frontend, which `./dev setup` makes")
endif()

if(cuDNN_FOUND AND NOT TARGET cuDNN::cudnn)
  add_library(cuDNN::cudnn UNKNOWN IMPORTED GLOBAL)
  set_target_properties(cuDNN::cudnn PROPERTIES IMPORTED_LOCATION ${cuDNN_LIBRARY}
                                                INTERFACE_INCLUDE_DIRECTORIES ${cuDNN_INCLUDE_DIR})
  add_library(cuDNN::frontend INTERFACE IMPORTED GLOBAL)
  set_target_properties(cuDNN::frontend PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
                                                   ${cuDNN_FRONTEND_INCLUDE_DIR})
endif()
