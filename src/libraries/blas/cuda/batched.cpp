#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/blas/cuda/kernels/addresses.hpp"
#include "libraries/blas/cuda/product/product_lists.hpp"
#include "libraries/blas/cuda/triangular.hpp"
#include "libraries/blas/requests/factors.hpp"

#include <troupe/blas/batched.hpp>

namespace troupe::cuda {
namespace {

result<void> run_gemm_strided_batched(const blas::gemm_strided_batched& r, lane& where) {
  return multiply({r.a, r.b, r.c, r.alpha, r.beta, r.op_a, r.op_b, r.math}, where);
}

/// The increment of the vectors in a batch; the stride of a vector of one element has no meaning.
std::int64_t batch_increment(const any_tensor& vectors) noexcept {
  return vectors.extent(1) > 1 ? vectors.stride(1) : 1;
}

/// A batch of vectors [batch, n] as one matrix of n rows.
batch_extents vector_extents(const any_tensor& vectors) noexcept {
  return {.rows = vectors.extent(1), .columns = vectors.extent(0)};
}
batch_place vector_place(const any_tensor& vectors) noexcept {
  return {.first = vectors.address(), .row = batch_increment(vectors), .column = vectors.stride(0)};
}

/// A batch of matrices as gemv takes it.
struct gemv_matrix {
  cublasOperation_t transposition;
  std::int64_t rows, columns, ld, stride;
};

/// y = alpha · conj(a) · x + beta · y for column-major a, which cuBLAS lacks: as the conjugate of
/// a · conj(x). So only vectors are copied.
template <class T>
result<void> conjugated_gemv(const blas::gemv_batched& r, const gemv_matrix& a, lane& where) {
  const dtype type = r.a.type();
  const std::int64_t m = r.y.extent(1);
  const std::int64_t n = r.x.extent(1);
  const std::int64_t batch = r.y.extent(0);
  call_frame c(where);
  const auto x = c.bytes(n * batch * size_of(type));
  const auto product = c.bytes(m * batch * size_of(type));
  TRY(c.begin());
  const cublasHandle_t handle = TRY(cublas_of(where));
  TRY(combine(where, type, vector_extents(r.x), {.first = x, .row = 1, .column = n},
              {.place = vector_place(r.x), .factor = 1, .conjugated = true}));
  const T one{1};
  const T zero{};
  TRY(matrix_routines<T>::gemv_strided_batched(handle, a.transposition, a.rows, a.columns, &one,
                                               static_cast<const T*>(r.a.data<T>()), a.ld, a.stride,
                                               reinterpret_cast<const T*>(x.get()), 1, n, &zero,
                                               reinterpret_cast<T*>(product.get()), 1, m, batch));
  return combine(
      where, type, vector_extents(r.y), vector_place(r.y),
      {.place = {.first = product, .row = 1, .column = m}, .factor = r.alpha, .conjugated = true},
      {.place = vector_place(r.y), .factor = r.beta});
}

result<void> run_gemv_batched(const blas::gemv_batched& r, lane& where) {
  if (r.y.empty()) return {};
  if (r.x.empty() || blas::vanishes(r.alpha, r.y.type())) {
    return combine(where, r.y.type(), vector_extents(r.y), vector_place(r.y),
                   {.place = vector_place(r.y), .factor = r.beta});
  }
  const auto layout = blas::layout_of(r.a);
  const bool columns = layout.order == blas::order::column_major;
  const bool conjugated = r.op_a == blas::op::conjugate && is_complex(r.a.type());
  const gemv_matrix a{.transposition = columns      ? CUBLAS_OP_N
                                       : conjugated ? CUBLAS_OP_C
                                                    : CUBLAS_OP_T,
                      .rows = r.a.extent(columns ? 1 : 2),
                      .columns = r.a.extent(columns ? 2 : 1),
                      .ld = layout.ld,
                      .stride = r.a.stride(0)};
  if (columns && conjugated) {
    return for_complex_type(r.a.type(),
                            [&]<class T>(T) { return conjugated_gemv<T>(r, a, where); });
  }
  const cublasHandle_t handle = TRY(cublas_of(where));
  return for_classic_type(r.a.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    const T beta = r.beta.as<T>();
    const T* const first_a = r.a.data<T>();
    const T* const first_x = r.x.data<T>();
    return matrix_routines<T>::gemv_strided_batched(
        handle, a.transposition, a.rows, a.columns, &alpha, first_a, a.ld, a.stride, first_x,
        batch_increment(r.x), r.x.stride(0), &beta, r.y.data<T>(), batch_increment(r.y),
        r.y.stride(0), r.y.extent(0));
  });
}

result<void> run_trsm_batched(const blas::trsm_batched& r, lane& where) {
  if (r.b.empty()) return {};
  if (blas::vanishes(r.alpha, r.b.type())) return scale(where, r.b, 0);  // b and a are not read
  const dtype type = r.b.type();
  triangular_problem p = column_major(r);
  const bool alone = p.batch == 1;
  call_frame c(where);
  conjugated_factor a(c, p.a, p.extents_a(), type);
  const auto lists = c.array<void*>(alone ? 0 : 2 * p.batch);
  TRY(c.begin());
  const cublasHandle_t handle = TRY(cublas_of(where));
  if (!alone) {
    TRY(write_series(where, lists,
                     {{p.a.first, p.a.stride * size_of(type)}, {p.b, p.stride_b * size_of(type)}},
                     p.batch));
  }
  return for_classic_type(type, [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    if (alone) {
      return matrix_routines<T>::trsm(handle, p.side, p.uplo, p.a.transposition, p.diag, p.m, p.n,
                                      &alpha, reinterpret_cast<const T*>(p.a.first), p.a.ld,
                                      reinterpret_cast<T*>(p.b), p.ldb);
    }
    return matrix_routines<T>::trsm_batched(
        handle, p.side, p.uplo, p.a.transposition, p.diag, p.m, p.n, &alpha,
        reinterpret_cast<const T* const*>(lists.get()), p.a.ld,
        reinterpret_cast<T* const*>(lists + p.batch), p.ldb, p.batch);
  });
}

const plugin_operations batched_operations([](operation_table& table) {
  add<blas::gemm_strided_batched>(table, run_gemm_strided_batched);
  add<blas::gemm_batched>(table, multiply_list);
  add<blas::gemm_grouped>(table, multiply_groups);
  add<blas::gemv_batched>(table, run_gemv_batched);
  add<blas::trsm_batched>(table, run_trsm_batched);
});

}  // namespace

}  // namespace troupe::cuda
