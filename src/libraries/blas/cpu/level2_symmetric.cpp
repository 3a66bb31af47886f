#include "libraries/blas/cpu/routines.hpp"
#include "libraries/blas/cpu/scaling.hpp"
#include "libraries/blas/requests/factors.hpp"

#include <troupe/blas/level2_symmetric.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

using blas::increment;

/// The Fortran routines take column-major matrices; a row-major symmetric one is the other
/// triangle of the same.
char fortran_triangle(blas::order o, blas::uplo u) {
  return triangle(o, blas::order::column_major, u) == CblasUpper ? 'U' : 'L';
}

result<void> run_symv(const blas::symv& r, lane_context&) {
  if (r.y.empty()) return {};
  const auto layout = blas::layout_of(r.a);
  for_classic_type(r.a.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    const T beta = settle_beta<T>(r.y, r.beta);
    const std::int64_t n = r.y.extent(0);
    const std::int64_t incx = increment(r.x);
    const std::int64_t incy = increment(r.y);
    if constexpr (complex_v<T>) {
      const char uplo = fortran_triangle(layout.order, r.uplo);
      routines<T>::symv(&uplo, &n, &alpha, r.a.data<T>(), &layout.ld, r.x.data<T>(), &incx, &beta,
                        r.y.data<T>(), &incy);
    } else {
      routines<T>::symv(as_cblas(layout.order), as_cblas(r.uplo), n, alpha, r.a.data<T>(),
                        layout.ld, r.x.data<T>(), incx, beta, r.y.data<T>(), incy);
    }
  });
  return {};
}

result<void> run_hemv(const blas::hemv& r, lane_context&) {
  if (r.y.empty()) return {};
  const auto layout = blas::layout_of(r.a);
  for_complex_type(r.a.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    const T beta = settle_beta<T>(r.y, r.beta);
    routines<T>::hemv(as_cblas(layout.order), as_cblas(r.uplo), r.y.extent(0), by(alpha),
                      r.a.data<T>(), layout.ld, r.x.data<T>(), increment(r.x), by(beta),
                      r.y.data<T>(), increment(r.y));
  });
  return {};
}

result<void> run_syr(const blas::syr& r, lane_context&) {
  if (r.a.empty()) return {};
  const auto layout = blas::layout_of(r.a);
  for_classic_type(r.a.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    const std::int64_t n = r.x.extent(0);
    const std::int64_t incx = increment(r.x);
    if constexpr (complex_v<T>) {
      const char uplo = fortran_triangle(layout.order, r.uplo);
      routines<T>::syr(&uplo, &n, &alpha, r.x.data<T>(), &incx, r.a.data<T>(), &layout.ld);
    } else {
      routines<T>::syr(as_cblas(layout.order), as_cblas(r.uplo), n, alpha, r.x.data<T>(), incx,
                       r.a.data<T>(), layout.ld);
    }
  });
  return {};
}

result<void> run_her(const blas::her& r, lane_context&) {
  if (r.a.empty() || blas::vanishes(r.alpha, r.a.type())) return {};
  const auto layout = blas::layout_of(r.a);
  for_complex_type(r.a.type(), [&]<class T>(T) {
    routines<T>::her(as_cblas(layout.order), as_cblas(r.uplo), r.x.extent(0),
                     r.alpha.as<real_t<T>>(), r.x.data<T>(), increment(r.x), r.a.data<T>(),
                     layout.ld);
  });
  return {};
}

result<void> run_syr2(const blas::syr2& r, lane_context&) {
  if (r.a.empty()) return {};
  const auto layout = blas::layout_of(r.a);
  for_classic_type(r.a.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    const std::int64_t n = r.x.extent(0);
    const std::int64_t incx = increment(r.x);
    const std::int64_t incy = increment(r.y);
    if constexpr (complex_v<T>) {
      const char uplo = fortran_triangle(layout.order, r.uplo);
      routines<T>::syr2(&uplo, &n, &alpha, r.x.data<T>(), &incx, r.y.data<T>(), &incy,
                        r.a.data<T>(), &layout.ld);
    } else {
      routines<T>::syr2(as_cblas(layout.order), as_cblas(r.uplo), n, alpha, r.x.data<T>(), incx,
                        r.y.data<T>(), incy, r.a.data<T>(), layout.ld);
    }
  });
  return {};
}

result<void> run_her2(const blas::her2& r, lane_context&) {
  if (r.a.empty() || blas::vanishes(r.alpha, r.a.type())) return {};
  const auto layout = blas::layout_of(r.a);
  for_complex_type(r.a.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    routines<T>::her2(as_cblas(layout.order), as_cblas(r.uplo), r.x.extent(0), by(alpha),
                      r.x.data<T>(), increment(r.x), r.y.data<T>(), increment(r.y), r.a.data<T>(),
                      layout.ld);
  });
  return {};
}

const plugin_operations level2_symmetric_operations([](operation_table& table) {
  table.add<blas::symv>(run_symv, effort::by_size);
  table.add<blas::hemv>(run_hemv, effort::by_size);
  table.add<blas::syr>(run_syr, effort::by_size);
  table.add<blas::her>(run_her, effort::by_size);
  table.add<blas::syr2>(run_syr2, effort::by_size);
  table.add<blas::her2>(run_her2, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
