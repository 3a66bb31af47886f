#include "libraries/blaslt/cuda/matmul_plan.hpp"

#include "base/try.hpp"
#include "libraries/blaslt/cuda/lt_terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe::cuda {
namespace {

using blaslt::matmul;
using blaslt::scaling;

/// Some of the first proposals may turn out not to run.
constexpr std::int64_t least_candidates = 3;

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

lt_product description_of(const sides& s, const blaslt::combination& types) noexcept {
  sides::matrices all = s.stored();
  all.c.type = types.c;
  const dtype type = s.request.a.type();
  return {.compute = compute_type(s.request, types),
          .factors = factor_type(types),
          .op_a = as_lt(s.product.left, s.left_op, type),
          .op_b = as_lt(s.product.right, s.right_op, type),
          .a = all.left,
          .b = all.right,
          .c = all.c,
          .d = all.d,
          .batch = s.product.batch};
}

/// Adds what is no part of the product itself: epilogue and scales.
void describe_rest(lt_calls& calls, cublasLtMatmulDesc_t what, const sides& s,
                   const blaslt::combination& types) {
  const matmul& r = s.request;
  calls.set(what, CUBLASLT_MATMUL_DESC_EPILOGUE,
            static_cast<std::uint32_t>(as_lt(r.epilogue, s.product.swapped)));
  if (!s.vector.null()) {
    if (types.bias != types.d) {
      calls.set(what, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, std::int32_t{as_cuda_type(types.bias)});
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
                std::int32_t{as_cuda_type(r.aux.type())});
    }
  }
  if (s.left_scaling != scaling::tensor) {
    calls.set(what, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, as_lt(s.left_scaling));
    calls.set(what, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, as_lt(s.right_scaling));
  }
  if (r.fast_accumulation) calls.set(what, CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
  set_addresses(calls, what, s);
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

result<lt_plan> make_plan(cublasLtHandle_t library, const sides& s, cudaStream_t stream) {
  const matmul& r = s.request;
  const auto types = blaslt::types_of(r).value();
  const lt_product product = description_of(s, types);
  lt_calls calls(stream);
  lt_plan made(calls, product);
  describe_rest(calls, made.operation(), s, types);
  const std::int64_t wanted = r.tuning == blaslt::tuning::timed
                                  ? std::max(r.candidates, least_candidates)
                                  : least_candidates;
  const cublasStatus_t answer = made.propose(calls, library, product, static_cast<int>(wanted));
  TRY(std::move(calls).outcome());
  if (made.candidates().empty()) return not_offered(s, types, answer);
  return made;
}

result<void> run(lt_plan& plan, cublasLtHandle_t library, const sides& s, const lt_kernel& kernel,
                 std::byte* d, std::byte* workspace, cudaStream_t stream) {
  const matmul& r = s.request;
  const product_factor alpha(r.alpha, plan.factors());
  const product_factor beta(r.beta, plan.factors());
  lt_calls calls(stream);
  set_addresses(calls, plan.operation(), s);
  if (!calls.good()) return std::move(calls).outcome();
  // If beta is zero, nothing is read there. d is described like c, but for fp8.
  const std::byte* const unread = plan.describes_c_as_d() ? d : nullptr;
  const std::byte* const c = r.c.null() ? unread : r.c.address();
  return plan.run(library, kernel,
                  {alpha.address(), s.left.address(), s.right.address(), beta.address(), c, d},
                  workspace, kernel.workspace_bytes, stream);
}

}  // namespace troupe::cuda
