#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/blas/cuda/conjugated.hpp"
#include "libraries/blas/cuda/routines.hpp"

#include <troupe/blas/level2.hpp>

namespace troupe::cuda {
namespace {

using blas::increment;
using blas::order;

result<void> run_gemv(const blas::gemv& r, lane& where) {
  if (r.y.empty()) return {};
  const auto layout = blas::layout_of(r.a);
  const cublasHandle_t handle = TRY(cublas_of(where));
  // A row-major matrix is, column by column, its transpose.
  const bool turned = layout.order == order::row_major;
  const std::int64_t rows = r.a.extent(turned ? 1 : 0);
  const std::int64_t columns = r.a.extent(turned ? 0 : 1);
  return for_classic_type(r.a.type(), [&]<class T>(T) {
    if (r.a.empty()) return scale_vector<T>(where, r.y, r.beta);
    return multiply_vector<T>(where, r, vectors_take_conjugate(layout.order, r.op_a),
                              [&](const T* alpha, const T* x, std::int64_t incx, const T* beta) {
                                return routines<T>::gemv(handle, as_cublas(layout.order, r.op_a),
                                                         rows, columns, alpha, r.a.data<T>(),
                                                         layout.ld, x, incx, beta, r.y.data<T>(),
                                                         increment(r.y));
                              });
  });
}

/// a = alpha · x · yᵀ + a: ger and geru.
template <class Request>
result<void> run_ger(const Request& r, lane& where) {
  if (r.a.empty()) return {};
  const auto layout = blas::layout_of(r.a);
  const cublasHandle_t handle = TRY(cublas_of(where));
  // a row-major is aᵀ column-major, and aᵀ = alpha · y · xᵀ + aᵀ.
  const bool turned = layout.order == order::row_major;
  const any_tensor& x = turned ? r.y : r.x;
  const any_tensor& y = turned ? r.x : r.y;
  return for_classic_type(r.a.type(), [&]<class T>(T) {
    const T alpha = r.alpha.template as<T>();
    constexpr auto call = [] {
      if constexpr (complex_v<T>) {
        return routines<T>::geru;
      } else {
        return routines<T>::ger;
      }
    }();
    return call(handle, x.extent(0), y.extent(0), &alpha, x.data<T>(), increment(x), y.data<T>(),
                increment(y), r.a.template data<T>(), layout.ld);
  });
}

result<void> run_gerc(const blas::gerc& r, lane& where) {
  if (r.a.empty()) return {};
  const auto layout = blas::layout_of(r.a);
  const cublasHandle_t handle = TRY(cublas_of(where));
  const std::int64_t m = r.a.extent(0);
  const std::int64_t n = r.a.extent(1);
  return for_complex_type(r.a.type(), [&]<class T>(T) -> result<void> {
    const T alpha = r.alpha.as<T>();
    if (layout.order == order::column_major) {
      return routines<T>::gerc(handle, m, n, &alpha, r.x.data<T>(), increment(r.x), r.y.data<T>(),
                               increment(r.y), r.a.data<T>(), layout.ld);
    }
    // aᵀ = alpha · conj(y) · xᵀ + aᵀ: the conjugate stands on the side where no routine takes it.
    call_frame c(where);
    const auto y = c.array<T>(n);
    TRY(c.begin());
    TRY(copy_conjugate(where, elements_of<T>(r.y), y.get()));
    return routines<T>::geru(handle, n, m, &alpha, y.get(), std::int64_t{1}, r.x.data<T>(),
                             increment(r.x), r.a.data<T>(), layout.ld);
  });
}

template <bool Solves, class Request>
result<void> run_triangular(const Request& r, lane& where) {
  if (r.x.empty()) return {};
  const auto layout = blas::layout_of(r.a);
  const cublasHandle_t handle = TRY(cublas_of(where));
  return for_classic_type(r.a.type(), [&]<class T>(T) {
    constexpr auto call = Solves ? routines<T>::trsv : routines<T>::trmv;
    return update_vector<T>(where, r.x, vectors_take_conjugate(layout.order, r.op_a), [&] {
      return call(handle, triangle(layout.order, r.uplo), as_cublas(layout.order, r.op_a),
                  as_cublas(r.diag), r.x.extent(0), r.a.template data<T>(), layout.ld,
                  r.x.template data<T>(), increment(r.x));
    });
  });
}

const plugin_operations level2_operations([](operation_table& table) {
  add<blas::gemv>(table, run_gemv);
  add<blas::ger>(table, run_ger<blas::ger>);
  add<blas::geru>(table, run_ger<blas::geru>);
  add<blas::gerc>(table, run_gerc);
  add<blas::trmv>(table, run_triangular<false, blas::trmv>);
  add<blas::trsv>(table, run_triangular<true, blas::trsv>);
});

}  // namespace

}  // namespace troupe::cuda
