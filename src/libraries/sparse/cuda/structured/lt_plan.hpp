#pragma once

#include "libraries/sparse/cuda/structured/cusparselt.hpp"
#include "libraries/sparse/cuda/structured/lt_terms.hpp"

#include <array>
#include <cstddef>
#include <string_view>

namespace troupe::cuda {

/// Makes calls one after another. The first failure is kept, and later calls are skipped.
class lt_calls {
 public:
  template <class Call>
  void make(std::string_view name, Call call) {
    if (!good()) return;
    status_ = call();
    name_ = name;
  }
  [[nodiscard]] bool good() const noexcept { return status_ == CUSPARSE_STATUS_SUCCESS; }
  /// True if the library rejected the description as unsupported.
  [[nodiscard]] bool refused() const noexcept {
    return status_ == CUSPARSE_STATUS_INVALID_VALUE || status_ == CUSPARSE_STATUS_NOT_SUPPORTED ||
           status_ == CUSPARSE_STATUS_ARCH_MISMATCH ||
           status_ == CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
  }
  [[nodiscard]] result<void> outcome(cudaStream_t stream) const {
    return check_lt(status_, name_, stream);
  }

 private:
  cusparseStatus_t status_ = CUSPARSE_STATUS_SUCCESS;
  std::string_view name_;
};

[[nodiscard]] cusparseStatus_t describe_weights(const cusparselt_functions& lt,
                                                const cusparseLtHandle_t& handle,
                                                const lt_matrix& m, cusparseLtMatDescriptor_t& to);

/// The library's descriptors of a product with one of its kernels. They refer to each other, so
/// they must not move.
class lt_plan {
 public:
  /// `kernel` is the number of one of the library's kernels; if negative, the library proposes one.
  lt_plan(const cusparselt_functions& lt, const cusparseLtHandle_t& handle, const lt_product& p,
          int kernel);
  lt_plan(const lt_plan&) = delete;
  lt_plan& operator=(const lt_plan&) = delete;
  ~lt_plan();

  /// The outcome of the construction. The plan can be used only if it succeeded.
  [[nodiscard]] const lt_calls& making() const noexcept { return calls_; }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept { return workspace_bytes_; }
  /// The number of kernels.
  [[nodiscard]] int kernels() const noexcept { return kernels_; }

  struct operands {
    float alpha;
    float beta;
    const std::byte* compressed;
    const std::byte* right;
    const std::byte* c;
    std::byte* d;
    const void* bias;
  };
  [[nodiscard]] result<void> run(const operands& of, std::byte* workspace, cudaStream_t stream);

 private:
  const cusparselt_functions& lt_;
  const cusparseLtHandle_t& handle_;
  lt_calls calls_;
  std::size_t matrices_ = 0;
  bool selected_ = false;
  bool planned_ = false;
  int kernels_ = 0;
  std::size_t workspace_bytes_ = 0;
  std::array<cusparseLtMatDescriptor_t, 4> all_{};
  cusparseLtMatmulDescriptor_t what_{};
  cusparseLtMatmulAlgSelection_t selection_{};
  cusparseLtMatmulPlan_t plan_{};
};

}  // namespace troupe::cuda
