#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/blas/cuda/conjugated.hpp"
#include "libraries/blas/cuda/routines.hpp"
#include "libraries/blas/requests/factors.hpp"

#include <troupe/blas/level2_symmetric.hpp>

namespace troupe::cuda {
namespace {

using blas::increment;
using blas::order;

/// Runs `call`, a symv or hemv: without `deterministic` cuBLAS may sum by atomics.
template <class Call>
result<void> as_deterministic(bool deterministic, cublasHandle_t handle, Call call) {
  return deterministic ? call() : with_atomics(handle, call);
}

result<void> run_symv(const blas::symv& r, lane& where) {
  if (r.y.empty()) return {};
  const auto layout = blas::layout_of(r.a);
  const cublasHandle_t handle = TRY(cublas_of(where));
  return for_classic_type(r.a.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    const T beta = r.beta.as<T>();
    if (alpha == T{}) return scale_vector<T>(where, r.y, r.beta);
    return as_deterministic(r.deterministic, handle, [&] {
      return routines<T>::symv(handle, triangle(layout.order, r.uplo), r.y.extent(0), &alpha,
                               r.a.data<T>(), layout.ld, r.x.data<T>(), increment(r.x), &beta,
                               r.y.data<T>(), increment(r.y));
    });
  });
}

result<void> run_hemv(const blas::hemv& r, lane& where) {
  if (r.y.empty()) return {};
  const auto layout = blas::layout_of(r.a);
  const cublasHandle_t handle = TRY(cublas_of(where));
  return for_complex_type(r.a.type(), [&]<class T>(T) {
    // A row-major Hermitian matrix is, column by column, its conjugate.
    return multiply_vector<T>(where, r, layout.order == order::row_major,
                              [&](const T* alpha, const T* x, std::int64_t incx, const T* beta) {
                                return as_deterministic(r.deterministic, handle, [&] {
                                  return routines<T>::hemv(handle, triangle(layout.order, r.uplo),
                                                           r.y.extent(0), alpha, r.a.data<T>(),
                                                           layout.ld, x, incx, beta, r.y.data<T>(),
                                                           increment(r.y));
                                });
                              });
  });
}

result<void> run_syr(const blas::syr& r, lane& where) {
  if (r.a.empty()) return {};
  const auto layout = blas::layout_of(r.a);
  const cublasHandle_t handle = TRY(cublas_of(where));
  return for_classic_type(r.a.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    return routines<T>::syr(handle, triangle(layout.order, r.uplo), r.x.extent(0), &alpha,
                            r.x.data<T>(), increment(r.x), r.a.data<T>(), layout.ld);
  });
}

result<void> run_syr2(const blas::syr2& r, lane& where) {
  if (r.a.empty()) return {};
  const auto layout = blas::layout_of(r.a);
  const cublasHandle_t handle = TRY(cublas_of(where));
  return for_classic_type(r.a.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    return routines<T>::syr2(handle, triangle(layout.order, r.uplo), r.x.extent(0), &alpha,
                             r.x.data<T>(), increment(r.x), r.y.data<T>(), increment(r.y),
                             r.a.data<T>(), layout.ld);
  });
}

result<void> run_her(const blas::her& r, lane& where) {
  if (r.a.empty() || blas::vanishes(r.alpha, r.a.type())) return {};
  const auto layout = blas::layout_of(r.a);
  const cublasHandle_t handle = TRY(cublas_of(where));
  return for_complex_type(r.a.type(), [&]<class T>(T) -> result<void> {
    const auto alpha = r.alpha.as<real_t<T>>();
    const std::int64_t n = r.x.extent(0);
    if (layout.order == order::column_major) {
      return routines<T>::her(handle, as_cublas(r.uplo), n, &alpha, r.x.data<T>(), increment(r.x),
                              r.a.data<T>(), layout.ld);
    }
    // aᵀ = alpha · conj(x) · conj(x)ᴴ + aᵀ.
    call_frame c(where);
    const auto x = c.array<T>(n);
    TRY(c.begin());
    TRY(copy_conjugate(where, elements_of<T>(r.x), x.get()));
    return routines<T>::her(handle, as_cublas(other(r.uplo)), n, &alpha, x.get(), std::int64_t{1},
                            r.a.data<T>(), layout.ld);
  });
}

result<void> run_her2(const blas::her2& r, lane& where) {
  if (r.a.empty() || blas::vanishes(r.alpha, r.a.type())) return {};
  const auto layout = blas::layout_of(r.a);
  const cublasHandle_t handle = TRY(cublas_of(where));
  return for_complex_type(r.a.type(), [&]<class T>(T) -> result<void> {
    const T alpha = r.alpha.as<T>();
    const std::int64_t n = r.x.extent(0);
    if (layout.order == order::column_major) {
      return routines<T>::her2(handle, as_cublas(r.uplo), n, &alpha, r.x.data<T>(), increment(r.x),
                               r.y.data<T>(), increment(r.y), r.a.data<T>(), layout.ld);
    }
    // aᵀ = alpha · conj(y) · conj(x)ᴴ + conj(alpha) · conj(x) · conj(y)ᴴ + aᵀ.
    call_frame c(where);
    const auto x = c.array<T>(n);
    const auto y = c.array<T>(n);
    TRY(c.begin());
    TRY(copy_conjugate(where, elements_of<T>(r.x), x.get()));
    TRY(copy_conjugate(where, elements_of<T>(r.y), y.get()));
    return routines<T>::her2(handle, as_cublas(other(r.uplo)), n, &alpha, y.get(), std::int64_t{1},
                             x.get(), std::int64_t{1}, r.a.data<T>(), layout.ld);
  });
}

const plugin_operations level2_symmetric_operations([](operation_table& table) {
  add<blas::symv>(table, run_symv);
  add<blas::hemv>(table, run_hemv);
  add<blas::syr>(table, run_syr);
  add<blas::her>(table, run_her);
  add<blas::syr2>(table, run_syr2);
  add<blas::her2>(table, run_her2);
});

}  // namespace

}  // namespace troupe::cuda
