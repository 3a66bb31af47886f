#include "info/built_for.hpp"

// Only the version macros of these headers are used: the tool links none of the libraries.
#ifdef TROUPE_CUDA_TOOLKIT
#include <cublas_v2.h>
#if __has_include(<cudnn_version.h>)
#include <cudnn_version.h>
#endif
#if __has_include(<cufft.h>)
#include <cufft.h>
#endif
#if __has_include(<curand.h>)
#include <curand.h>
#endif
#if __has_include(<cusolver_common.h>)
#include <cusolver_common.h>
#endif
#if __has_include(<cusparse.h>)
#include <cusparse.h>
#endif
#if __has_include(<cutensor.h>)
#include <cutensor.h>
#endif
#if __has_include(<nccl.h>)
#include <nccl.h>
#endif
#endif

#define TROUPE_TEXT_OF(macro) #macro
#define TROUPE_TEXT(macro) TROUPE_TEXT_OF(macro)
#define TROUPE_VERSION_OF(major, minor, patch) \
  TROUPE_TEXT(major) "." TROUPE_TEXT(minor) "." TROUPE_TEXT(patch)

namespace troupe::info {

const header_versions built_for{
#ifdef TROUPE_CUDA_TOOLKIT
    .toolkit = TROUPE_CUDA_TOOLKIT,
#endif
#ifdef CUBLAS_VER_MAJOR
    .cublas = TROUPE_VERSION_OF(CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH),
#endif
#ifdef CUDNN_MAJOR
    .cudnn = TROUPE_VERSION_OF(CUDNN_MAJOR, CUDNN_MINOR, CUDNN_PATCHLEVEL),
#endif
#ifdef CUFFT_VER_MAJOR
    .cufft = TROUPE_VERSION_OF(CUFFT_VER_MAJOR, CUFFT_VER_MINOR, CUFFT_VER_PATCH),
#endif
#ifdef CURAND_VER_MAJOR
    .curand = TROUPE_VERSION_OF(CURAND_VER_MAJOR, CURAND_VER_MINOR, CURAND_VER_PATCH),
#endif
#ifdef CUSOLVER_VER_MAJOR
    .cusolver = TROUPE_VERSION_OF(CUSOLVER_VER_MAJOR, CUSOLVER_VER_MINOR, CUSOLVER_VER_PATCH),
#endif
#ifdef CUSPARSE_VER_MAJOR
    .cusparse = TROUPE_VERSION_OF(CUSPARSE_VER_MAJOR, CUSPARSE_VER_MINOR, CUSPARSE_VER_PATCH),
#endif
#ifdef CUTENSOR_MAJOR
    .cutensor = TROUPE_VERSION_OF(CUTENSOR_MAJOR, CUTENSOR_MINOR, CUTENSOR_PATCH),
#endif
#ifdef NCCL_MAJOR
    .nccl = TROUPE_VERSION_OF(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH),
#endif
};

}  // namespace troupe::info
