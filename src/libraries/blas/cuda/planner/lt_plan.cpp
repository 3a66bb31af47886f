#include "libraries/blas/cuda/planner/lt_plan.hpp"

#include <span>

namespace troupe::cuda {
namespace {

lt_layout describe(lt_calls& calls, const lt_matrix& m, std::int64_t batch) {
  cublasLtMatrixLayout_t made = nullptr;
  calls.make("cublasLtMatrixLayoutCreate", [&] {
    return cublasLtMatrixLayoutCreate(&made, as_cuda_type(m.type),
                                      static_cast<std::uint64_t>(m.rows),
                                      static_cast<std::uint64_t>(m.columns), m.ld);
  });
  lt_layout held(made);
  if (batch > 1) {
    calls.set(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batch));
    calls.set(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, m.distance);
  }
  return held;
}

/// The limits of the heuristic: workspace, reductions, alignments.
lt_preference preference_for(lt_calls& calls, const lt_product& p) {
  cublasLtMatmulPreference_t made = nullptr;
  calls.make("cublasLtMatmulPreferenceCreate",
             [&] { return cublasLtMatmulPreferenceCreate(&made); });
  lt_preference held(made);
  calls.set(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{cublas_workspace_bytes});
  // Sums are formed in the type in which products are computed, never in a narrower one.
  unsigned reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  if (p.d.type == p.factors) reductions |= CUBLASLT_REDUCTION_SCHEME_INPLACE;
  calls.set(made, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{reductions});
  const auto tell = [&](cublasLtMatmulPreferenceAttributes_t which, const lt_matrix& m) {
    calls.set(made, which, static_cast<std::uint32_t>(m.alignment));
  };
  tell(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, p.a);
  tell(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, p.b);
  tell(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, p.c);
  tell(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, p.d);
  return held;
}

}  // namespace

cudaDataType as_cuda_type(dtype type) noexcept {
  switch (type) {
    case dtype::f64:
      return CUDA_R_64F;
    case dtype::f32:
      return CUDA_R_32F;
    case dtype::f16:
      return CUDA_R_16F;
    case dtype::bf16:
      return CUDA_R_16BF;
    case dtype::e4m3:
      return CUDA_R_8F_E4M3;
    case dtype::e5m2:
      return CUDA_R_8F_E5M2;
    case dtype::c64:
      return CUDA_C_32F;
    case dtype::c128:
      return CUDA_C_64F;
    case dtype::i8:
      return CUDA_R_8I;
    default:
      return CUDA_R_32I;  // every other type is refused
  }
}

lt_plan::lt_plan(lt_calls& calls, const lt_product& p) : factors_(p.factors) {
  cublasLtMatmulDesc_t made = nullptr;
  calls.make("cublasLtMatmulDescCreate",
             [&] { return cublasLtMatmulDescCreate(&made, p.compute, as_cuda_type(p.factors)); });
  operation_.reset(made);
  calls.set(made, CUBLASLT_MATMUL_DESC_TRANSA, std::int32_t{p.op_a});
  calls.set(made, CUBLASLT_MATMUL_DESC_TRANSB, std::int32_t{p.op_b});
  a_ = describe(calls, p.a, p.batch);
  b_ = describe(calls, p.b, p.batch);
  d_ = describe(calls, p.d, p.batch);
  if (!p.c.is_stored_as(p.d)) c_ = describe(calls, p.c, p.batch);
}

cublasStatus_t lt_plan::propose(lt_calls& calls, cublasLtHandle_t library, const lt_product& p,
                                int wanted) {
  const lt_preference wish = preference_for(calls, p);
  std::vector<cublasLtMatmulHeuristicResult_t> proposed(static_cast<std::size_t>(wanted));
  int found = 0;
  cublasStatus_t answer = CUBLAS_STATUS_SUCCESS;
  calls.make("cublasLtMatmulAlgoGetHeuristic", [&] {
    answer =
        cublasLtMatmulAlgoGetHeuristic(library, operation_.get(), a_.get(), b_.get(), layout_of_c(),
                                       d_.get(), wish.get(), wanted, proposed.data(), &found);
    const bool refused =
        answer == CUBLAS_STATUS_NOT_SUPPORTED || answer == CUBLAS_STATUS_INVALID_VALUE;
    return refused ? CUBLAS_STATUS_SUCCESS : answer;
  });
  for (const auto& one : std::span(proposed).first(static_cast<std::size_t>(found))) {
    if (one.state != CUBLAS_STATUS_SUCCESS || one.workspaceSize > cublas_workspace_bytes) continue;
    candidates_.push_back({one.algo, one.workspaceSize});
  }
  if (!candidates_.empty()) chosen_ = candidates_.front();
  return answer;
}

lt_plan::kept_kernel lt_plan::kept() const noexcept {
  kept_kernel bytes;
  static_assert(sizeof chosen_.algorithm == sizeof bytes);
  std::memcpy(bytes.data(), &chosen_.algorithm, sizeof bytes);
  return bytes;
}

bool lt_plan::choose(cublasLtHandle_t library, const kept_kernel& kept) noexcept {
  lt_kernel kernel;
  std::memcpy(&kernel.algorithm, kept.data(), sizeof kept);
  cublasLtMatmulHeuristicResult_t judged{};
  const cublasStatus_t status =
      cublasLtMatmulAlgoCheck(library, operation_.get(), a_.get(), b_.get(), layout_of_c(),
                              d_.get(), &kernel.algorithm, &judged);
  if (status != CUBLAS_STATUS_SUCCESS || judged.workspaceSize > cublas_workspace_bytes) {
    return false;
  }
  kernel.workspace_bytes = judged.workspaceSize;
  chosen_ = kernel;
  return true;
}

}  // namespace troupe::cuda
