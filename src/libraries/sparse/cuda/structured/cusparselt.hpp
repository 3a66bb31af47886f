#pragma once

#include <troupe/base/result.hpp>

#include <cusparseLt.h>

#include <string_view>

namespace troupe::cuda {

/// The functions of cuSPARSELt, which is loaded at run time.
struct cusparselt_functions {
  decltype(&cusparseLtGetProperty) property = nullptr;
  decltype(&cusparseLtInit) init = nullptr;
  decltype(&cusparseLtDestroy) destroy = nullptr;
  decltype(&cusparseLtDenseDescriptorInit) dense = nullptr;
  decltype(&cusparseLtStructuredDescriptorInit) structured = nullptr;
  decltype(&cusparseLtMatDescriptorDestroy) destroy_matrix = nullptr;
  decltype(&cusparseLtMatmulDescriptorInit) matmul = nullptr;
  decltype(&cusparseLtMatmulDescSetAttribute) set = nullptr;
  decltype(&cusparseLtMatmulAlgSelectionInit) select = nullptr;
  decltype(&cusparseLtMatmulAlgSelectionDestroy) destroy_selection = nullptr;
  decltype(&cusparseLtMatmulAlgGetAttribute) get_kernel = nullptr;
  decltype(&cusparseLtMatmulAlgSetAttribute) set_kernel = nullptr;
  decltype(&cusparseLtMatmulPlanInit) plan = nullptr;
  decltype(&cusparseLtMatmulPlanDestroy) destroy_plan = nullptr;
  decltype(&cusparseLtMatmulGetWorkspace) workspace = nullptr;
  decltype(&cusparseLtMatmul) run = nullptr;
  decltype(&cusparseLtSpMMACompressedSize2) compressed_size = nullptr;
  decltype(&cusparseLtSpMMACompress2) compress = nullptr;
};

/// Null if cuSPARSELt is not installed in the version of the header that this is compiled with: the
/// sizes of its structs differ between versions. Searched once per process.
[[nodiscard]] const cusparselt_functions* cusparselt();

[[nodiscard]] result<void> check_lt(cusparseStatus_t status, std::string_view call,
                                    cudaStream_t stream);

}  // namespace troupe::cuda
