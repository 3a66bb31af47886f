#include "libraries/blas/cpu/routines.hpp"
#include "libraries/blas/cpu/scaling.hpp"

#include <troupe/blas/level2_packed.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

using blas::increment;

result<void> run_spmv(const blas::spmv& r, lane_context&) {
  if (r.y.empty()) return {};
  for_classic_type(r.ap.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    const T beta = settle_beta<T>(r.y, r.beta);
    const std::int64_t n = r.y.extent(0);
    const std::int64_t incx = increment(r.x);
    const std::int64_t incy = increment(r.y);
    if constexpr (complex_v<T>) {
      const char uplo = r.uplo == blas::uplo::upper ? 'U' : 'L';
      routines<T>::spmv(&uplo, &n, &alpha, r.ap.data<T>(), r.x.data<T>(), &incx, &beta,
                        r.y.data<T>(), &incy);
    } else {
      routines<T>::spmv(CblasColMajor, as_cblas(r.uplo), n, alpha, r.ap.data<T>(), r.x.data<T>(),
                        incx, beta, r.y.data<T>(), incy);
    }
  });
  return {};
}

result<void> run_hpmv(const blas::hpmv& r, lane_context&) {
  if (r.y.empty()) return {};
  for_complex_type(r.ap.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    const T beta = settle_beta<T>(r.y, r.beta);
    routines<T>::hpmv(CblasColMajor, as_cblas(r.uplo), r.y.extent(0), by(alpha), r.ap.data<T>(),
                      r.x.data<T>(), increment(r.x), by(beta), r.y.data<T>(), increment(r.y));
  });
  return {};
}

result<void> run_spr(const blas::spr& r, lane_context&) {
  for_real_type(r.ap.type(), [&]<class T>(T) {
    routines<T>::spr(CblasColMajor, as_cblas(r.uplo), r.x.extent(0), r.alpha.as<T>(), r.x.data<T>(),
                     increment(r.x), r.ap.data<T>());
  });
  return {};
}

result<void> run_hpr(const blas::hpr& r, lane_context&) {
  for_complex_type(r.ap.type(), [&]<class T>(T) {
    routines<T>::hpr(CblasColMajor, as_cblas(r.uplo), r.x.extent(0), r.alpha.as<real_t<T>>(),
                     r.x.data<T>(), increment(r.x), r.ap.data<T>());
  });
  return {};
}

result<void> run_spr2(const blas::spr2& r, lane_context&) {
  for_real_type(r.ap.type(), [&]<class T>(T) {
    routines<T>::spr2(CblasColMajor, as_cblas(r.uplo), r.x.extent(0), r.alpha.as<T>(),
                      r.x.data<T>(), increment(r.x), r.y.data<T>(), increment(r.y), r.ap.data<T>());
  });
  return {};
}

result<void> run_hpr2(const blas::hpr2& r, lane_context&) {
  for_complex_type(r.ap.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    routines<T>::hpr2(CblasColMajor, as_cblas(r.uplo), r.x.extent(0), by(alpha), r.x.data<T>(),
                      increment(r.x), r.y.data<T>(), increment(r.y), r.ap.data<T>());
  });
  return {};
}

result<void> run_tpmv(const blas::tpmv& r, lane_context&) {
  if (r.x.empty()) return {};
  for_classic_type(r.ap.type(), [&]<class T>(T) {
    routines<T>::tpmv(CblasColMajor, as_cblas(r.uplo), as_cblas(r.op_a), as_cblas(r.diag),
                      r.x.extent(0), r.ap.data<T>(), r.x.data<T>(), increment(r.x));
  });
  return {};
}

result<void> run_tpsv(const blas::tpsv& r, lane_context&) {
  if (r.x.empty()) return {};
  for_classic_type(r.ap.type(), [&]<class T>(T) {
    routines<T>::tpsv(CblasColMajor, as_cblas(r.uplo), as_cblas(r.op_a), as_cblas(r.diag),
                      r.x.extent(0), r.ap.data<T>(), r.x.data<T>(), increment(r.x));
  });
  return {};
}

const plugin_operations level2_packed_operations([](operation_table& table) {
  table.add<blas::spmv>(run_spmv, effort::by_size);
  table.add<blas::hpmv>(run_hpmv, effort::by_size);
  table.add<blas::spr>(run_spr, effort::by_size);
  table.add<blas::hpr>(run_hpr, effort::by_size);
  table.add<blas::spr2>(run_spr2, effort::by_size);
  table.add<blas::hpr2>(run_hpr2, effort::by_size);
  table.add<blas::tpmv>(run_tpmv, effort::by_size);
  table.add<blas::tpsv>(run_tpsv, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
