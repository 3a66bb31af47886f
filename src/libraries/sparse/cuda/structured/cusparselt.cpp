#if __has_include(<cusparseLt.h>)

#include "libraries/sparse/cuda/structured/cusparselt.hpp"

#include "backend/cuda/context/failure.hpp"
#include "libraries/sparse/cuda/status.hpp"

#include <troupe/plugin/vendor_library.hpp>

#include <dlfcn.h>

#include <type_traits>

namespace troupe::cuda {
namespace {

const cusparselt_functions* load() {
  auto library = open_vendor_library("libcusparseLt.so.0");
  if (!library) return nullptr;
  static cusparselt_functions all;
  bool complete = true;
  const auto find = [&](auto*& to, const char* name) {
    to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(::dlsym(*library, name));
    complete = complete && to != nullptr;
  };
  find(all.property, "cusparseLtGetProperty");
  find(all.init, "cusparseLtInit");
  find(all.destroy, "cusparseLtDestroy");
  find(all.dense, "cusparseLtDenseDescriptorInit");
  find(all.structured, "cusparseLtStructuredDescriptorInit");
  find(all.destroy_matrix, "cusparseLtMatDescriptorDestroy");
  find(all.matmul, "cusparseLtMatmulDescriptorInit");
  find(all.set, "cusparseLtMatmulDescSetAttribute");
  find(all.select, "cusparseLtMatmulAlgSelectionInit");
  find(all.destroy_selection, "cusparseLtMatmulAlgSelectionDestroy");
  find(all.get_kernel, "cusparseLtMatmulAlgGetAttribute");
  find(all.set_kernel, "cusparseLtMatmulAlgSetAttribute");
  find(all.plan, "cusparseLtMatmulPlanInit");
  find(all.destroy_plan, "cusparseLtMatmulPlanDestroy");
  find(all.workspace, "cusparseLtMatmulGetWorkspace");
  find(all.run, "cusparseLtMatmul");
  find(all.compressed_size, "cusparseLtSpMMACompressedSize2");
  find(all.compress, "cusparseLtSpMMACompress2");
  if (!complete) return nullptr;
  int major = 0;
  int minor = 0;
  if (all.property(MAJOR_VERSION, &major) != CUSPARSE_STATUS_SUCCESS ||
      all.property(MINOR_VERSION, &minor) != CUSPARSE_STATUS_SUCCESS ||
      major != CUSPARSELT_VER_MAJOR || minor != CUSPARSELT_VER_MINOR) {
    return nullptr;
  }
  return &all;
}

}  // namespace

const cusparselt_functions* cusparselt() {
  static const cusparselt_functions* const one = load();
  return one;
}

result<void> check_lt(cusparseStatus_t status, std::string_view call, cudaStream_t stream) {
  if (status == CUSPARSE_STATUS_SUCCESS) return {};
  return failure_of(cusparse_statuses, status, "cusparselt", call, stream);
}

}  // namespace troupe::cuda

#endif
