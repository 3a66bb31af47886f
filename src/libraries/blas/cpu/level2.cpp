#include "libraries/blas/cpu/matrix_vector.hpp"
#include "libraries/blas/cpu/routines.hpp"
#include "libraries/blas/cpu/scaling.hpp"

#include <troupe/blas/level2.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

using blas::increment;

result<void> run_gemv(const blas::gemv& r, lane_context&) {
  multiply({r.a, r.x, r.y, r.alpha, r.beta, r.op_a});
  return {};
}

result<void> run_ger(const blas::ger& r, lane_context&) {
  if (r.a.empty()) return {};
  const auto layout = blas::layout_of(r.a);
  for_real_type(r.a.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    routines<T>::ger(as_cblas(layout.order), r.a.extent(0), r.a.extent(1), alpha, r.x.data<T>(),
                     increment(r.x), r.y.data<T>(), increment(r.y), r.a.data<T>(), layout.ld);
  });
  return {};
}

template <bool Conjugated, class Request>
void add_outer(const Request& r) {
  if (r.a.empty()) return;
  const auto layout = blas::layout_of(r.a);
  for_complex_type(r.a.type(), [&]<class T>(T) {
    constexpr auto routine = Conjugated ? routines<T>::gerc : routines<T>::geru;
    const T alpha = r.alpha.template as<T>();
    routine(as_cblas(layout.order), r.a.extent(0), r.a.extent(1), by(alpha), r.x.template data<T>(),
            increment(r.x), r.y.template data<T>(), increment(r.y), r.a.template data<T>(),
            layout.ld);
  });
}

result<void> run_geru(const blas::geru& r, lane_context&) {
  add_outer<false>(r);
  return {};
}

result<void> run_gerc(const blas::gerc& r, lane_context&) {
  add_outer<true>(r);
  return {};
}

result<void> run_trmv(const blas::trmv& r, lane_context&) {
  if (r.x.empty()) return {};
  const auto layout = blas::layout_of(r.a);
  for_classic_type(r.a.type(), [&]<class T>(T) {
    routines<T>::trmv(as_cblas(layout.order), as_cblas(r.uplo),
                      transposition(layout.order, layout.order, r.op_a), as_cblas(r.diag),
                      r.x.extent(0), r.a.data<T>(), layout.ld, r.x.data<T>(), increment(r.x));
  });
  return {};
}

result<void> run_trsv(const blas::trsv& r, lane_context&) {
  if (r.x.empty()) return {};
  const auto layout = blas::layout_of(r.a);
  for_classic_type(r.a.type(), [&]<class T>(T) {
    routines<T>::trsv(as_cblas(layout.order), as_cblas(r.uplo),
                      transposition(layout.order, layout.order, r.op_a), as_cblas(r.diag),
                      r.x.extent(0), r.a.data<T>(), layout.ld, r.x.data<T>(), increment(r.x));
  });
  return {};
}

}  // namespace

void multiply(const matrix_vector_product& p) {
  if (p.y.empty()) return;
  const auto layout = blas::layout_of(p.a);
  for_classic_type(p.a.type(), [&]<class T>(T) {
    if (p.a.empty()) return scale(p.y, p.beta.as<T>());
    const T alpha = p.alpha.as<T>();
    const T beta = settle_beta<T>(p.y, p.beta);
    routines<T>::gemv(as_cblas(layout.order), transposition(layout.order, layout.order, p.op_a),
                      p.a.extent(0), p.a.extent(1), by(alpha), p.a.data<T>(), layout.ld,
                      p.x.data<T>(), increment(p.x), by(beta), p.y.data<T>(), increment(p.y));
  });
}

namespace {

const plugin_operations level2_operations([](operation_table& table) {
  table.add<blas::gemv>(run_gemv, effort::by_size);
  table.add<blas::ger>(run_ger, effort::by_size);
  table.add<blas::geru>(run_geru, effort::by_size);
  table.add<blas::gerc>(run_gerc, effort::by_size);
  table.add<blas::trmv>(run_trmv, effort::by_size);
  table.add<blas::trsv>(run_trsv, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
