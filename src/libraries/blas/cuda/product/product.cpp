#include "libraries/blas/cuda/product/product.hpp"

#include "backend/cuda/context/pieces.hpp"
#include "base/try.hpp"
#include "libraries/blas/cuda/product/product_plans.hpp"

#include <utility>

namespace troupe::cuda {
namespace {

// The names are written here because these have one entry point for all types.
constexpr routine gemm_ex{&cublasGemmEx_64, "cublasGemmEx_64"};
constexpr routine gemm_strided_batched_ex{&cublasGemmStridedBatchedEx_64,
                                          "cublasGemmStridedBatchedEx_64"};

result<void> multiply_conjugated(column_major_product as, const product_types& types,
                                 const product_factor& alpha, const product_factor& beta,
                                 lane& where) {
  call_frame c(where);
  conjugated_factor a(c, as.a, as.extents_a(), types.in);
  conjugated_factor b(c, as.b, as.extents_b(), types.in);
  TRY(c.begin());
  return call_gemm(TRY(cublas_of(where)), as, types, alpha.address(), beta.address());
}

}  // namespace

factor_matrix factor_of(const any_tensor& t, blas::order order, blas::op op) noexcept {
  const auto layout = blas::layout_of(t, order);
  const bool conjugated = op == blas::op::conjugate && is_complex(t.type());
  const bool turned = layout.order != order;
  return {.first = t.address(),
          .ld = layout.ld,
          .stride = t.rank() == 3 ? t.stride(0) : 0,
          .transposition = !turned      ? CUBLAS_OP_N
                           : conjugated ? CUBLAS_OP_C
                                        : CUBLAS_OP_T,
          .to_conjugate = conjugated && !turned};
}

std::int64_t conjugated_factor::bytes(const factor_matrix& f, const batch_extents& extents,
                                      dtype type) noexcept {
  if (!f.to_conjugate) return 0;
  return extents.rows * extents.columns * (f.stride == 0 ? 1 : extents.count) * size_of(type);
}

conjugated_factor::conjugated_factor(call_frame& c, factor_matrix& f, const batch_extents& extents,
                                     dtype type) noexcept
    : step(c),
      factor_(f),
      extents_(extents),
      type_(type),
      copy_(c.bytes(bytes(f, extents, type))) {}

result<void> conjugated_factor::before(lane& where) {
  factor_matrix& f = factor_;
  if (!f.to_conjugate) return {};
  const batch_term from{.place = {.first = const_cast<std::byte*>(f.first),
                                  .row = 1,
                                  .column = f.ld,
                                  .batch = f.stride},
                        .factor = 1,
                        .conjugated = true};
  if (f.stride == 0) extents_.count = 1;
  f.first = copy_;
  f.ld = extents_.rows;
  f.stride = f.stride == 0 ? 0 : extents_.rows * extents_.columns;
  f.to_conjugate = false;
  return combine(where, type_, extents_,
                 {.first = copy_, .row = 1, .column = f.ld, .batch = f.stride}, from);
}

product_types types_of(const product& p) noexcept {
  const auto compute = [&] {
    switch (p.a.type()) {
      case dtype::f64:
      case dtype::c128:
        return CUBLAS_COMPUTE_64F;
      case dtype::f16:
      case dtype::bf16:
        return CUBLAS_COMPUTE_32F;
      case dtype::i8:
        return CUBLAS_COMPUTE_32I;
      default:
        return compute_for(p.math);
    }
  };
  return {p.a.type(), p.c.type(), compute()};
}

column_major_product column_major(const product& p) noexcept {
  const int rows = p.c.rank() - 2;
  const auto c = blas::layout_of(p.c);
  column_major_product as{.a = factor_of(p.a, c.order, p.op_a),
                          .b = factor_of(p.b, c.order, p.op_b),
                          .c = p.c.address(),
                          .m = p.c.extent(rows),
                          .n = p.c.extent(rows + 1),
                          .k = p.a.extent(rows + 1),
                          .ldc = c.ld,
                          .stride_c = rows == 0 ? 0 : p.c.stride(0),
                          .batch = rows == 0 ? 1 : p.c.extent(0),
                          .swapped = c.order == blas::order::row_major};
  if (as.swapped) {
    std::swap(as.a, as.b);
    std::swap(as.m, as.n);
  }
  return as;
}

result<void> call_gemm(cublasHandle_t handle, const column_major_product& p,
                       const product_types& types, const void* alpha, const void* beta) {
  const void* const a = p.a.first;
  const void* const b = p.b.first;
  void* const c = p.c;
  const cudaDataType in = types.cuda_in();
  const cudaDataType out = types.cuda_out();
  if (p.batch == 1) {
    return gemm_ex(handle, p.a.transposition, p.b.transposition, p.m, p.n, p.k, alpha, a, in,
                   p.a.ld, b, in, p.b.ld, beta, c, out, p.ldc, types.compute, CUBLAS_GEMM_DEFAULT);
  }
  return gemm_strided_batched_ex(handle, p.a.transposition, p.b.transposition, p.m, p.n, p.k, alpha,
                                 a, in, p.a.ld, p.a.stride, b, in, p.b.ld, p.b.stride, beta, c, out,
                                 p.ldc, p.stride_c, p.batch, types.compute, CUBLAS_GEMM_DEFAULT);
}

std::size_t workspace_bytes(const product& p) noexcept {
  if (p.c.empty()) return 0;
  const column_major_product as = column_major(p);
  if (p.a.type() == dtype::i8) return padded_i8_bytes(as);
  pieces all;
  all.add(conjugated_factor::bytes(as.a, as.extents_a(), p.a.type()));
  all.add(conjugated_factor::bytes(as.b, as.extents_b(), p.a.type()));
  return all.bytes();
}

result<void> multiply(const product& p, lane& where) {
  if (p.c.empty()) return {};
  const product_factor alpha(p.alpha, p.c.type());
  const column_major_product as = column_major(p);
  // Without terms to add, cuBLAS documents neither what it reads nor what becomes of NaNs.
  if (alpha.is_zero() || as.k == 0) return scale(where, p.c, p.beta);
  const product_factor beta(p.beta, p.c.type());
  const product_types types = types_of(p);
  if (as.a.to_conjugate || as.b.to_conjugate) {
    return multiply_conjugated(as, types, alpha, beta, where);
  }
  const bool i8 = p.a.type() == dtype::i8;
  if (i8 && !aligned_for_i8(as)) return multiply_padded_i8(p, as, where);
  if (is_worth_a_plan(as, types)) {
    return multiply_as_planned(where, as, types, alpha.address(), beta.address());
  }
  auto done = call_gemm(TRY(cublas_of(where)), as, types, alpha.address(), beta.address());
  // Not every device has a kernel for every shape of i8 that the documentation allows.
  if (i8 && !done && done.error().code == errc::unsupported) {
    return multiply_padded_i8(p, as, where);
  }
  return done;
}

}  // namespace troupe::cuda
