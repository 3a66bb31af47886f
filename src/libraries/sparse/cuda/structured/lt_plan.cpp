#if __has_include(<cusparseLt.h>)

#include "libraries/sparse/cuda/structured/lt_plan.hpp"

namespace troupe::cuda {
namespace {

cusparseOrder_t order_of(const lt_matrix& m) noexcept {
  return m.order == blas::order::row_major ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
}

}  // namespace

cusparseStatus_t describe_weights(const cusparselt_functions& lt, const cusparseLtHandle_t& handle,
                                  const lt_matrix& m, cusparseLtMatDescriptor_t& to) {
  return lt.structured(&handle, &to, m.rows, m.columns, m.ld, sparse::structured_alignment,
                       as_lt(m.type), order_of(m), CUSPARSELT_SPARSITY_50_PERCENT);
}

lt_plan::lt_plan(const cusparselt_functions& lt, const cusparseLtHandle_t& handle,
                 const lt_product& p, int kernel)
    : lt_(lt), handle_(handle) {
  calls_.make("cusparseLtStructuredDescriptorInit",
              [&] { return describe_weights(lt, handle, p.weights, all_[0]); });
  if (calls_.good()) ++matrices_;
  const auto dense = [&](const lt_matrix& m) {
    calls_.make("cusparseLtDenseDescriptorInit", [&] {
      return lt.dense(&handle, &all_.at(matrices_), m.rows, m.columns, m.ld,
                      sparse::structured_alignment, as_lt(m.type), order_of(m));
    });
    if (calls_.good()) ++matrices_;
  };
  dense(p.right);
  dense(p.c);
  dense(p.d);
  const auto computed = p.weights.type == dtype::i8 ? CUSPARSE_COMPUTE_32I : CUSPARSE_COMPUTE_32F;
  calls_.make("cusparseLtMatmulDescriptorInit", [&] {
    return lt.matmul(&handle, &what_, CUSPARSE_OPERATION_NON_TRANSPOSE,
                     CUSPARSE_OPERATION_NON_TRANSPOSE, all_.data(), &all_[1], &all_[2], &all_[3],
                     computed);
  });
  const auto set = [&](cusparseLtMatmulDescAttribute_t which, const auto& value) {
    calls_.make("cusparseLtMatmulDescSetAttribute",
                [&] { return lt.set(&handle, &what_, which, &value, sizeof value); });
  };
  constexpr int on = 1;
  const bool gelu =
      p.epilogue == blaslt::epilogue::gelu || p.epilogue == blaslt::epilogue::gelu_bias;
  if (blaslt::is_relu(p.epilogue)) set(CUSPARSELT_MATMUL_ACTIVATION_RELU, on);
  if (gelu) set(CUSPARSELT_MATMUL_ACTIVATION_GELU, on);
  if (p.bias != nullptr) set(CUSPARSELT_MATMUL_BIAS_POINTER, p.bias);
  calls_.make("cusparseLtMatmulAlgSelectionInit", [&] {
    return lt.select(&handle, &selection_, &what_, CUSPARSELT_MATMUL_ALG_DEFAULT);
  });
  selected_ = calls_.good();
  calls_.make("cusparseLtMatmulAlgGetAttribute", [&] {
    return lt.get_kernel(&handle, &selection_, CUSPARSELT_MATMUL_ALG_CONFIG_MAX_ID, &kernels_,
                         sizeof kernels_);
  });
  if (kernel >= 0) {
    calls_.make("cusparseLtMatmulAlgSetAttribute", [&] {
      return lt.set_kernel(&handle, &selection_, CUSPARSELT_MATMUL_ALG_CONFIG_ID, &kernel,
                           sizeof kernel);
    });
  }
  calls_.make("cusparseLtMatmulPlanInit",
              [&] { return lt.plan(&handle, &plan_, &what_, &selection_); });
  planned_ = calls_.good();
  calls_.make("cusparseLtMatmulGetWorkspace",
              [&] { return lt.workspace(&handle, &plan_, &workspace_bytes_); });
}

lt_plan::~lt_plan() {
  if (planned_) (void)lt_.destroy_plan(&plan_);
  if (selected_) (void)lt_.destroy_selection(&selection_);
  for (std::size_t i = 0; i < matrices_; ++i)
    (void)lt_.destroy_matrix(&all_.at(i));
}

result<void> lt_plan::run(const operands& of, std::byte* workspace, cudaStream_t stream) {
  lt_calls calls;
  // The address is read when the product is enqueued.
  if (of.bias != nullptr) {
    calls.make("cusparseLtMatmulDescSetAttribute", [&] {
      return lt_.set(&handle_, &what_, CUSPARSELT_MATMUL_BIAS_POINTER, &of.bias, sizeof of.bias);
    });
  }
  calls.make("cusparseLtMatmul", [&] {
    return lt_.run(&handle_, &plan_, &of.alpha, of.compressed, of.right, &of.beta, of.c, of.d,
                   workspace, &stream, 1);
  });
  return calls.outcome(stream);
}

}  // namespace troupe::cuda

#endif
