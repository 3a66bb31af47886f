#pragma once

#include "backend/cuda/context/failure.hpp"
#include "libraries/blas/cuda/planner/cublas_status.hpp"

#include <troupe/base/result.hpp>

#include <cublasLt.h>

#include <cstddef>
#include <memory>
#include <string_view>
#include <type_traits>

namespace troupe::cuda {

/// The size that NVIDIA recommends for Hopper. Source: cuBLAS documentation, cublasSetWorkspace.
inline constexpr std::size_t cublas_workspace_bytes = std::size_t{32} << 20;

/// The error for a status, with its name and the call; success for success. If `stream` says that
/// the context is lost, the error is `device_fault`, whatever cuBLASLt called it. Otherwise
/// ALLOC_FAILED is `out_of_memory`; NOT_SUPPORTED and ARCH_MISMATCH are `unsupported`; all others
/// are `library_error`.
[[nodiscard]] inline result<void> check(cublasStatus_t status, std::string_view call,
                                        cudaStream_t stream) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return failure_of(cublas_statuses, status, "cublaslt", call, stream);
}

namespace detail {
template <class Handle, cublasStatus_t (*Destroy)(Handle)>
struct destroyer {
  void operator()(Handle held) const noexcept { (void)Destroy(held); }
};
template <class Handle, cublasStatus_t (*Destroy)(Handle)>
using description = std::unique_ptr<std::remove_pointer_t<Handle>, destroyer<Handle, Destroy>>;
}  // namespace detail

using lt_handle = detail::description<cublasLtHandle_t, &cublasLtDestroy>;
using lt_operation = detail::description<cublasLtMatmulDesc_t, &cublasLtMatmulDescDestroy>;
using lt_layout = detail::description<cublasLtMatrixLayout_t, &cublasLtMatrixLayoutDestroy>;
using lt_preference =
    detail::description<cublasLtMatmulPreference_t, &cublasLtMatmulPreferenceDestroy>;

/// Makes calls one after another; the first failure stays, and what comes after it is not called.
class lt_calls {
 public:
  explicit lt_calls(cudaStream_t stream) noexcept : stream_(stream) {}

  template <class Call>
  void make(std::string_view name, Call call) {
    if (outcome_) outcome_ = check(call(), name, stream_);
  }
  template <class T>
  void set(cublasLtMatmulDesc_t of, cublasLtMatmulDescAttributes_t which, T value) {
    make("cublasLtMatmulDescSetAttribute",
         [&] { return cublasLtMatmulDescSetAttribute(of, which, &value, sizeof value); });
  }
  template <class T>
  void set(cublasLtMatrixLayout_t of, cublasLtMatrixLayoutAttribute_t which, T value) {
    make("cublasLtMatrixLayoutSetAttribute",
         [&] { return cublasLtMatrixLayoutSetAttribute(of, which, &value, sizeof value); });
  }
  template <class T>
  void set(cublasLtMatmulPreference_t of, cublasLtMatmulPreferenceAttributes_t which, T value) {
    make("cublasLtMatmulPreferenceSetAttribute",
         [&] { return cublasLtMatmulPreferenceSetAttribute(of, which, &value, sizeof value); });
  }

  [[nodiscard]] bool good() const noexcept { return outcome_.has_value(); }
  [[nodiscard]] result<void> outcome() && { return std::move(outcome_); }

 private:
  cudaStream_t stream_;
  result<void> outcome_;
};

}  // namespace troupe::cuda
