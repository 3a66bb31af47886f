#include "libraries/blaslt/cuda/matmul_plan.hpp"

#include "libraries/blaslt/cuda/lt_terms.hpp"
#include "libraries/blaslt/cuda/plan_key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <utility>

namespace troupe::cuda {
namespace {

using blaslt::matmul;
using blaslt::scaling;

/// What NVIDIA recommends for Hopper. Source: cuBLAS documentation, cublasSetWorkspace.
constexpr std::size_t most_workspace_bytes = std::size_t{32} << 20;
/// Some of the first proposals may turn out not to run.
constexpr std::int64_t least_candidates = 3;

/// A factor as cuBLASLt takes it, from host memory at the call.
class host_factor {
 public:
  host_factor(const scalar& value, cudaDataType type) noexcept {
    switch (type) {
      case CUDA_R_64F:
        put(value.as<double>());
        break;
      case CUDA_C_32F:
        put(value.as<std::complex<float>>());
        break;
      case CUDA_C_64F:
        put(value.as<std::complex<double>>());
        break;
      case CUDA_R_32I:
        put(value.as<std::int32_t>());
        break;
      default:
        put(value.as<float>());
    }
  }
  [[nodiscard]] const void* address() const noexcept { return bytes_.data(); }

 private:
  template <class T>
  void put(T value) noexcept {
    std::memcpy(bytes_.data(), &value, sizeof value);
  }
  alignas(16) std::array<std::byte, 16> bytes_{};
};

/// The addresses that belong to the description, not to the call.
void set_addresses(lt_calls& calls, cublasLtMatmulDesc_t what, const sides& s) {
  const matmul& r = s.request;
  const auto set = [&](cublasLtMatmulDescAttributes_t which, const any_tensor& t) {
    if (!t.null()) calls.set(what, which, static_cast<const void*>(t.address()));
  };
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, s.vector);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, r.aux);
  set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, s.left_scale);
  set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, s.right_scale);
  set(CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, r.scale_c);
  set(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, r.scale_d);
  set(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, r.amax_d);
}

lt_operation describe(lt_calls& calls, const sides& s, const blaslt::combination& types) {
  const matmul& r = s.request;
  cublasLtMatmulDesc_t what = nullptr;
  calls.make("cublasLtMatmulDescCreate", [&] {
    return cublasLtMatmulDescCreate(&what, compute_type(r, types), scale_type(types));
  });
  lt_operation made(what);
  calls.set(what, CUBLASLT_MATMUL_DESC_TRANSA,
            std::int32_t{as_lt(s.product.left, s.left_op, r.a.type())});
  calls.set(what, CUBLASLT_MATMUL_DESC_TRANSB,
            std::int32_t{as_lt(s.product.right, s.right_op, r.a.type())});
  calls.set(what, CUBLASLT_MATMUL_DESC_EPILOGUE,
            static_cast<std::uint32_t>(as_lt(r.epilogue, s.product.swapped)));
  if (!s.vector.null()) {
    if (types.bias != types.d) {
      calls.set(what, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, std::int32_t{as_cuda(types.bias)});
    }
    const std::int64_t distance = s.vector.rank() == 2 ? s.vector.stride(0) : 0;
    if (s.product.batch > 1 && distance != 0) {
      calls.set(what, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, distance);
    }
  }
  if (!r.aux.null()) {
    const bool mask = blaslt::is_relu(r.epilogue);
    const std::int64_t unit = mask ? 8 : 1;  // a mask's elements are bits
    calls.set(what, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD,
              unit * blaslt::aux_leading_dimension(r.aux, s.product.swapped, mask));
    if (s.product.batch > 1) {
      calls.set(what, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE,
                unit * blaslt::distance_of(r.aux));
    }
    if (!mask && r.aux.type() != types.d) {
      calls.set(what, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE,
                std::int32_t{as_cuda(r.aux.type())});
    }
  }
  if (s.left_scaling != scaling::tensor) {
    calls.set(what, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, as_lt(s.left_scaling));
    calls.set(what, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, as_lt(s.right_scaling));
  }
  if (r.fast_accumulation) calls.set(what, CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
  set_addresses(calls, what, s);
  return made;
}

lt_layout matrix(lt_calls& calls, dtype type, std::int64_t rows, std::int64_t columns,
                 const blaslt::stored_matrix& as, std::int64_t batch) {
  if (as.transposed) std::swap(rows, columns);
  cublasLtMatrixLayout_t one = nullptr;
  calls.make("cublasLtMatrixLayoutCreate", [&] {
    return cublasLtMatrixLayoutCreate(&one, as_cuda(type), static_cast<std::uint64_t>(rows),
                                      static_cast<std::uint64_t>(columns), as.ld);
  });
  lt_layout made(one);
  if (batch > 1) {
    calls.set(one, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batch));
    calls.set(one, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, as.distance);
  }
  return made;
}

/// What the heuristic is told beside the descriptions.
lt_preference wishes(lt_calls& calls, const sides& s, bool sums_in_place) {
  cublasLtMatmulPreference_t made = nullptr;
  calls.make("cublasLtMatmulPreferenceCreate",
             [&] { return cublasLtMatmulPreferenceCreate(&made); });
  lt_preference wish(made);
  calls.set(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{most_workspace_bytes});
  // Sums are formed in the type in which products are computed, never in a narrower one.
  unsigned reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  if (sums_in_place) reductions |= CUBLASLT_REDUCTION_SCHEME_INPLACE;
  calls.set(made, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{reductions});
  const matrix_alignments aligned(s);
  const auto tell = [&](cublasLtMatmulPreferenceAttributes_t which, std::int64_t bytes) {
    calls.set(made, which, static_cast<std::uint32_t>(bytes));
  };
  tell(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, aligned.left);
  tell(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, aligned.right);
  tell(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, aligned.c);
  tell(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, aligned.d);
  return wish;
}

error not_offered(const sides& s, const blaslt::combination& types, cublasStatus_t status) {
  const matmul& r = s.request;
  const auto& p = s.product;
  const auto op = [&](const blaslt::stored_matrix& as, blas::op wanted) {
    return as_lt(as, wanted, r.a.type()) == CUBLAS_OP_N ? 'N' : 'T';
  };
  return {.code = errc::unsupported,
          .message = fmt::format(
              "not offered: {} x {} + {} -> {}, epilogue {}, {}{}, m={} n={} k={} batch={}, ld {} "
              "{} {} {}, scaling {} {}, {}",
              to_string(s.left.type()), to_string(s.right.type()), to_string(types.c),
              to_string(types.d), blaslt::epilogue_name(r.epilogue), op(p.left, s.left_op),
              op(p.right, s.right_op), p.m, p.n, p.k, p.batch, p.left.ld, p.right.ld, p.c.ld,
              p.d.ld, static_cast<int>(s.left_scaling), static_cast<int>(s.right_scaling),
              status == CUBLAS_STATUS_SUCCESS ? "no kernel"
                                              : fmt::format("status {}", static_cast<int>(status))),
          .library = "cublaslt",
          .call = "cublasLtMatmulAlgoGetHeuristic",
          .vendor_code = status};
}

}  // namespace

result<matmul_plan> matmul_plan::make(cublasLtHandle_t library, const sides& s,
                                      cudaStream_t stream) {
  const matmul& r = s.request;
  const auto types = blaslt::types_of(r).value();
  const auto& p = s.product;
  lt_calls calls(stream);
  matmul_plan made;
  made.factors_ = scale_type(types);
  made.c_is_like_d_ = types.c == types.d;
  made.what_ = describe(calls, s, types);
  made.left_ = matrix(calls, s.left.type(), p.m, p.k, p.left, p.batch);
  made.right_ = matrix(calls, s.right.type(), p.k, p.n, p.right, p.batch);
  made.c_ = matrix(calls, types.c, p.m, p.n, p.c, p.batch);
  made.d_ = matrix(calls, types.d, p.m, p.n, p.d, p.batch);
  const lt_preference wish = wishes(calls, s, scale_type(types) == as_cuda(types.d));
  if (!calls.good()) return std::move(std::move(calls).outcome()).error();

  const std::int64_t wanted = r.tuning == blaslt::tuning::timed
                                  ? std::max(r.candidates, least_candidates)
                                  : least_candidates;
  std::vector<cublasLtMatmulHeuristicResult_t> proposed(static_cast<std::size_t>(wanted));
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      library, made.what_.get(), made.left_.get(), made.right_.get(), made.c_.get(), made.d_.get(),
      wish.get(), static_cast<int>(wanted), proposed.data(), &found);
  // It says "invalid value", too, of what it cannot do.
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) {
    return not_offered(s, types, status);
  }
  if (auto asked = check(status, "cublasLtMatmulAlgoGetHeuristic", stream); !asked) {
    return std::move(asked).error();
  }
  for (int i = 0; i < found; ++i) {
    const auto& one = proposed[static_cast<std::size_t>(i)];
    if (one.state != CUBLAS_STATUS_SUCCESS || one.workspaceSize > most_workspace_bytes) continue;
    made.candidates_.push_back({one.algo, one.workspaceSize});
  }
  if (made.candidates_.empty()) return not_offered(s, types, status);
  made.chosen_ = made.candidates_.front();
  return made;
}

bool matmul_plan::choose(cublasLtHandle_t library, const tuned_choices::choice& kept) noexcept {
  lt_kernel kernel;
  static_assert(sizeof kernel.algorithm == sizeof kept);
  std::memcpy(&kernel.algorithm, kept.data(), sizeof kept);
  cublasLtMatmulHeuristicResult_t judged{};
  const cublasStatus_t status =
      cublasLtMatmulAlgoCheck(library, what_.get(), left_.get(), right_.get(), c_.get(), d_.get(),
                              &kernel.algorithm, &judged);
  if (status != CUBLAS_STATUS_SUCCESS || judged.workspaceSize > most_workspace_bytes) return false;
  kernel.workspace_bytes = judged.workspaceSize;
  chosen_ = kernel;
  return true;
}

result<void> matmul_plan::run(cublasLtHandle_t library, const sides& s, const lt_kernel& kernel,
                              std::byte* d, std::byte* workspace, cudaStream_t stream) {
  const matmul& r = s.request;
  const host_factor alpha(r.alpha, factors_);
  const host_factor beta(r.beta, factors_);
  lt_calls calls(stream);
  set_addresses(calls, what_.get(), s);
  // Where beta is zero nothing is read there. d is described like c, but for fp8.
  const std::byte* const unread = c_is_like_d_ ? d : nullptr;
  const std::byte* const c = r.c.null() ? unread : r.c.address();
  calls.make("cublasLtMatmul", [&] {
    return cublasLtMatmul(library, what_.get(), alpha.address(), s.left.address(), left_.get(),
                          s.right.address(), right_.get(), beta.address(), c, c_.get(), d, d_.get(),
                          &kernel.algorithm, workspace, kernel.workspace_bytes, stream);
  });
  return std::move(calls).outcome();
}

}  // namespace troupe::cuda
