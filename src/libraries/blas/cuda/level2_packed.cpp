#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/blas/cuda/conjugated.hpp"
#include "libraries/blas/cuda/kernels/symmetric.hpp"
#include "libraries/blas/cuda/routines.hpp"
#include "libraries/blas/requests/factors.hpp"

#include <troupe/blas/level2_packed.hpp>

namespace troupe::cuda {
namespace {

using blas::increment;
using blas::storage_op;

result<void> run_spmv(const blas::spmv& r, lane& where) {
  if (r.y.empty()) return {};
  const std::int64_t n = r.y.extent(0);
  return for_classic_type(r.ap.type(), [&]<class T>(T) -> result<void> {
    const T alpha = r.alpha.as<T>();
    const T beta = r.beta.as<T>();
    if (alpha == T{}) return scale_vector<T>(where, r.y, r.beta);
    if constexpr (complex_v<T>) {
      return multiply(where, symmetric_packed<T>{r.ap.data<T>(), n, r.uplo == blas::uplo::upper},
                      elements_of<const T>(r.x), elements_of<T>(r.y), alpha, beta);
    } else {
      const cublasHandle_t handle = TRY(cublas_of(where));
      return routines<T>::spmv(handle, as_cublas(r.uplo), n, &alpha, r.ap.data<T>(), r.x.data<T>(),
                               increment(r.x), &beta, r.y.data<T>(), increment(r.y));
    }
  });
}

result<void> run_hpmv(const blas::hpmv& r, lane& where) {
  if (r.y.empty()) return {};
  const cublasHandle_t handle = TRY(cublas_of(where));
  return for_complex_type(r.ap.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    const T beta = r.beta.as<T>();
    if (alpha == T{}) return scale_vector<T>(where, r.y, r.beta);
    return routines<T>::hpmv(handle, as_cublas(r.uplo), r.y.extent(0), &alpha, r.ap.data<T>(),
                             r.x.data<T>(), increment(r.x), &beta, r.y.data<T>(), increment(r.y));
  });
}

/// An update that weighs nothing changes nothing, and reads nothing.
template <class Request>
bool changes_nothing(const Request& r) noexcept {
  return r.ap.empty() || blas::vanishes(r.alpha, r.ap.type());
}

result<void> run_spr(const blas::spr& r, lane& where) {
  if (changes_nothing(r)) return {};
  const cublasHandle_t handle = TRY(cublas_of(where));
  return for_real_type(r.ap.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    return routines<T>::spr(handle, as_cublas(r.uplo), r.x.extent(0), &alpha, r.x.data<T>(),
                            increment(r.x), r.ap.data<T>());
  });
}

result<void> run_hpr(const blas::hpr& r, lane& where) {
  if (changes_nothing(r)) return {};
  const cublasHandle_t handle = TRY(cublas_of(where));
  return for_complex_type(r.ap.type(), [&]<class T>(T) {
    const auto alpha = r.alpha.as<real_t<T>>();
    return routines<T>::hpr(handle, as_cublas(r.uplo), r.x.extent(0), &alpha, r.x.data<T>(),
                            increment(r.x), r.ap.data<T>());
  });
}

result<void> run_spr2(const blas::spr2& r, lane& where) {
  if (changes_nothing(r)) return {};
  const cublasHandle_t handle = TRY(cublas_of(where));
  return for_real_type(r.ap.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    return routines<T>::spr2(handle, as_cublas(r.uplo), r.x.extent(0), &alpha, r.x.data<T>(),
                             increment(r.x), r.y.data<T>(), increment(r.y), r.ap.data<T>());
  });
}

result<void> run_hpr2(const blas::hpr2& r, lane& where) {
  if (changes_nothing(r)) return {};
  const cublasHandle_t handle = TRY(cublas_of(where));
  return for_complex_type(r.ap.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    return routines<T>::hpr2(handle, as_cublas(r.uplo), r.x.extent(0), &alpha, r.x.data<T>(),
                             increment(r.x), r.y.data<T>(), increment(r.y), r.ap.data<T>());
  });
}

template <bool Solves, class Request>
result<void> run_packed_triangular(const Request& r, lane& where) {
  if (r.x.empty()) return {};
  const cublasHandle_t handle = TRY(cublas_of(where));
  return for_classic_type(r.ap.type(), [&]<class T>(T) {
    constexpr auto call = Solves ? routines<T>::tpsv : routines<T>::tpmv;
    return update_vector<T>(where, r.x, r.op_a == storage_op::conjugate, [&] {
      return call(handle, as_cublas(r.uplo), as_cublas(r.op_a), as_cublas(r.diag), r.x.extent(0),
                  r.ap.template data<T>(), r.x.template data<T>(), increment(r.x));
    });
  });
}

const plugin_operations level2_packed_operations([](operation_table& table) {
  add<blas::spmv>(table, run_spmv);
  add<blas::hpmv>(table, run_hpmv);
  add<blas::spr>(table, run_spr);
  add<blas::hpr>(table, run_hpr);
  add<blas::spr2>(table, run_spr2);
  add<blas::hpr2>(table, run_hpr2);
  add<blas::tpmv>(table, run_packed_triangular<false, blas::tpmv>);
  add<blas::tpsv>(table, run_packed_triangular<true, blas::tpsv>);
});

}  // namespace

}  // namespace troupe::cuda
