#include "libraries/blas/cpu/routines.hpp"
#include "libraries/blas/cpu/scaling.hpp"

#include <troupe/blas/level2_banded.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

using blas::increment;

std::int64_t band_ld(const any_tensor& ab) {
  return blas::leading_dimension(ab, blas::order::column_major);
}

result<void> run_gbmv(const blas::gbmv& r, lane_context&) {
  if (r.y.empty()) return {};
  const bool transposes =
      r.op_a == blas::storage_op::transpose || r.op_a == blas::storage_op::conjugate_transpose;
  const std::int64_t m = (transposes ? r.x : r.y).extent(0);
  for_classic_type(r.ab.type(), [&]<class T>(T) {
    if (r.x.empty()) return scale(r.y, r.beta.as<T>());
    const T alpha = r.alpha.as<T>();
    const T beta = settle_beta<T>(r.y, r.beta);
    routines<T>::gbmv(CblasColMajor, as_cblas(r.op_a), m, r.ab.extent(1), r.kl, r.ku, by(alpha),
                      r.ab.data<T>(), band_ld(r.ab), r.x.data<T>(), increment(r.x), by(beta),
                      r.y.data<T>(), increment(r.y));
  });
  return {};
}

result<void> run_sbmv(const blas::sbmv& r, lane_context&) {
  if (r.y.empty()) return {};
  for_classic_type(r.ab.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    const T beta = settle_beta<T>(r.y, r.beta);
    const std::int64_t n = r.y.extent(0);
    const std::int64_t k = r.ab.extent(0) - 1;
    const std::int64_t ld = band_ld(r.ab);
    const std::int64_t incx = increment(r.x);
    const std::int64_t incy = increment(r.y);
    if constexpr (complex_v<T>) {
      const char uplo = r.uplo == blas::uplo::upper ? 'U' : 'L';
      routines<T>::sbmv(&uplo, &n, &k, &alpha, r.ab.data<T>(), &ld, r.x.data<T>(), &incx, &beta,
                        r.y.data<T>(), &incy);
    } else {
      routines<T>::sbmv(CblasColMajor, as_cblas(r.uplo), n, k, alpha, r.ab.data<T>(), ld,
                        r.x.data<T>(), incx, beta, r.y.data<T>(), incy);
    }
  });
  return {};
}

result<void> run_hbmv(const blas::hbmv& r, lane_context&) {
  if (r.y.empty()) return {};
  for_complex_type(r.ab.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    const T beta = settle_beta<T>(r.y, r.beta);
    routines<T>::hbmv(CblasColMajor, as_cblas(r.uplo), r.y.extent(0), r.ab.extent(0) - 1, by(alpha),
                      r.ab.data<T>(), band_ld(r.ab), r.x.data<T>(), increment(r.x), by(beta),
                      r.y.data<T>(), increment(r.y));
  });
  return {};
}

result<void> run_tbmv(const blas::tbmv& r, lane_context&) {
  if (r.x.empty()) return {};
  for_classic_type(r.ab.type(), [&]<class T>(T) {
    routines<T>::tbmv(CblasColMajor, as_cblas(r.uplo), as_cblas(r.op_a), as_cblas(r.diag),
                      r.x.extent(0), r.ab.extent(0) - 1, r.ab.data<T>(), band_ld(r.ab),
                      r.x.data<T>(), increment(r.x));
  });
  return {};
}

result<void> run_tbsv(const blas::tbsv& r, lane_context&) {
  if (r.x.empty()) return {};
  for_classic_type(r.ab.type(), [&]<class T>(T) {
    routines<T>::tbsv(CblasColMajor, as_cblas(r.uplo), as_cblas(r.op_a), as_cblas(r.diag),
                      r.x.extent(0), r.ab.extent(0) - 1, r.ab.data<T>(), band_ld(r.ab),
                      r.x.data<T>(), increment(r.x));
  });
  return {};
}

const plugin_operations level2_banded_operations([](operation_table& table) {
  table.add<blas::gbmv>(run_gbmv, effort::by_size);
  table.add<blas::sbmv>(run_sbmv, effort::by_size);
  table.add<blas::hbmv>(run_hbmv, effort::by_size);
  table.add<blas::tbmv>(run_tbmv, effort::by_size);
  table.add<blas::tbsv>(run_tbsv, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
