#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/blas/cuda/conjugated.hpp"
#include "libraries/blas/cuda/kernels/symmetric.hpp"
#include "libraries/blas/cuda/routines.hpp"

#include <troupe/blas/level2_banded.hpp>

namespace troupe::cuda {
namespace {

using blas::increment;
using blas::storage_op;

std::int64_t band_ld(const any_tensor& ab) {
  return blas::leading_dimension(ab, blas::order::column_major);
}

result<void> run_gbmv(const blas::gbmv& r, lane& where) {
  if (r.y.empty()) return {};
  const cublasHandle_t handle = TRY(cublas_of(where));
  const bool transposes =
      r.op_a == storage_op::transpose || r.op_a == storage_op::conjugate_transpose;
  const std::int64_t m = (transposes ? r.x : r.y).extent(0);
  return for_classic_type(r.ab.type(), [&]<class T>(T) {
    if (r.x.empty()) return scale_vector<T>(where, r.y, r.beta);
    return multiply_vector<T>(where, r, r.op_a == storage_op::conjugate,
                              [&](const T* alpha, const T* x, std::int64_t incx, const T* beta) {
                                return routines<T>::gbmv(handle, as_cublas(r.op_a), m,
                                                         r.ab.extent(1), r.kl, r.ku, alpha,
                                                         r.ab.data<T>(), band_ld(r.ab), x, incx,
                                                         beta, r.y.data<T>(), increment(r.y));
                              });
  });
}

result<void> run_sbmv(const blas::sbmv& r, lane& where) {
  if (r.y.empty()) return {};
  const std::int64_t n = r.y.extent(0);
  const std::int64_t k = r.ab.extent(0) - 1;
  return for_classic_type(r.ab.type(), [&]<class T>(T) -> result<void> {
    const T alpha = r.alpha.as<T>();
    const T beta = r.beta.as<T>();
    if (alpha == T{}) return scale_vector<T>(where, r.y, r.beta);
    if constexpr (complex_v<T>) {
      return multiply(
          where,
          symmetric_band<T>{r.ab.data<T>(), band_ld(r.ab), k, n, r.uplo == blas::uplo::upper},
          elements_of<const T>(r.x), elements_of<T>(r.y), alpha, beta);
    } else {
      const cublasHandle_t handle = TRY(cublas_of(where));
      return routines<T>::sbmv(handle, as_cublas(r.uplo), n, k, &alpha, r.ab.data<T>(),
                               band_ld(r.ab), r.x.data<T>(), increment(r.x), &beta, r.y.data<T>(),
                               increment(r.y));
    }
  });
}

result<void> run_hbmv(const blas::hbmv& r, lane& where) {
  if (r.y.empty()) return {};
  const cublasHandle_t handle = TRY(cublas_of(where));
  return for_complex_type(r.ab.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    const T beta = r.beta.as<T>();
    if (alpha == T{}) return scale_vector<T>(where, r.y, r.beta);
    return routines<T>::hbmv(handle, as_cublas(r.uplo), r.y.extent(0), r.ab.extent(0) - 1, &alpha,
                             r.ab.data<T>(), band_ld(r.ab), r.x.data<T>(), increment(r.x), &beta,
                             r.y.data<T>(), increment(r.y));
  });
}

template <bool Solves, class Request>
result<void> run_banded_triangular(const Request& r, lane& where) {
  if (r.x.empty()) return {};
  const cublasHandle_t handle = TRY(cublas_of(where));
  return for_classic_type(r.ab.type(), [&]<class T>(T) {
    constexpr auto call = Solves ? routines<T>::tbsv : routines<T>::tbmv;
    return update_vector<T>(where, r.x, r.op_a == storage_op::conjugate, [&] {
      return call(handle, as_cublas(r.uplo), as_cublas(r.op_a), as_cublas(r.diag), r.x.extent(0),
                  r.ab.extent(0) - 1, r.ab.template data<T>(), band_ld(r.ab),
                  r.x.template data<T>(), increment(r.x));
    });
  });
}

const plugin_operations level2_banded_operations([](operation_table& table) {
  add<blas::gbmv>(table, run_gbmv);
  add<blas::sbmv>(table, run_sbmv);
  add<blas::hbmv>(table, run_hbmv);
  add<blas::tbmv>(table, run_banded_triangular<false, blas::tbmv>);
  add<blas::tbsv>(table, run_banded_triangular<true, blas::tbsv>);
});

}  // namespace

}  // namespace troupe::cuda
