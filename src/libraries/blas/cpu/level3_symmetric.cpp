#include "libraries/blas/cpu/routines.hpp"
#include "libraries/blas/cpu/scaling.hpp"
#include "libraries/blas/requests/factors.hpp"

#include <troupe/blas/level3_symmetric.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

result<void> run_symm(const blas::symm& r, lane_context&) {
  if (r.c.empty()) return {};
  const auto order = *blas::common_order({&r.b, &r.c});  // checked
  const auto a = blas::layout_of(r.a, order);
  for_classic_type(r.c.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    const T beta = r.beta.as<T>();
    routines<T>::symm(as_cblas(order), as_cblas(r.side), triangle(a.order, order, r.uplo),
                      r.c.extent(0), r.c.extent(1), by(alpha), r.a.data<T>(), a.ld, r.b.data<T>(),
                      blas::leading_dimension(r.b, order), by(beta), r.c.data<T>(),
                      blas::leading_dimension(r.c, order));
  });
  return {};
}

result<void> run_hemm(const blas::hemm& r, lane_context&) {
  if (r.c.empty()) return {};
  const auto order = *blas::common_order({&r.a, &r.b, &r.c});
  for_complex_type(r.c.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    const T beta = r.beta.as<T>();
    routines<T>::hemm(as_cblas(order), as_cblas(r.side), as_cblas(r.uplo), r.c.extent(0),
                      r.c.extent(1), by(alpha), r.a.data<T>(), blas::leading_dimension(r.a, order),
                      r.b.data<T>(), blas::leading_dimension(r.b, order), by(beta), r.c.data<T>(),
                      blas::leading_dimension(r.c, order));
  });
  return {};
}

/// c = beta · c where a product has nothing to add: answers whether that was all. OpenBLAS's quick
/// returns leave out what others do. A beta of one changes nothing, imaginary parts of a Hermitian
/// diagonal included, as in reference BLAS.
template <class Factor, class T, class Request>
bool only_scales(const Request& r) {
  if (!r.a.empty() && !blas::vanishes(r.alpha, r.c.type())) return false;
  if (const auto beta = r.beta.template as<Factor>(); beta != Factor{1}) {
    scale<T>(r.c, r.uplo, beta);
  }
  return true;
}

result<void> run_syrk(const blas::syrk& r, lane_context&) {
  if (r.c.empty()) return {};
  const auto c = blas::layout_of(r.c);
  const auto a = blas::layout_of(r.a, c.order);
  for_classic_type(r.c.type(), [&]<class T>(T) {
    if (only_scales<T, T>(r)) return;
    const T alpha = r.alpha.as<T>();
    const T beta = settle_beta<T, T>(r.c, r.uplo, r.beta);
    routines<T>::syrk(as_cblas(c.order), as_cblas(r.uplo),
                      transposition(a.order, c.order, blas::op::none), r.c.extent(0), r.a.extent(1),
                      by(alpha), r.a.data<T>(), a.ld, by(beta), r.c.data<T>(), c.ld);
  });
  return {};
}

result<void> run_syr2k(const blas::syr2k& r, lane_context&) {
  if (r.c.empty()) return {};
  const auto c = blas::layout_of(r.c);
  const auto order = r.a.empty() ? c.order : *blas::common_order({&r.a, &r.b});
  for_classic_type(r.c.type(), [&]<class T>(T) {
    if (only_scales<T, T>(r)) return;
    const T alpha = r.alpha.as<T>();
    const T beta = settle_beta<T, T>(r.c, r.uplo, r.beta);
    routines<T>::syr2k(as_cblas(c.order), as_cblas(r.uplo),
                       transposition(order, c.order, blas::op::none), r.c.extent(0), r.a.extent(1),
                       by(alpha), r.a.data<T>(), blas::leading_dimension(r.a, order), r.b.data<T>(),
                       blas::leading_dimension(r.b, order), by(beta), r.c.data<T>(), c.ld);
  });
  return {};
}

/// The order in which c is taken so that a (and b) are in the order that `applied` needs.
blas::order order_for(const any_tensor& c, std::initializer_list<const any_tensor*> inputs,
                      blas::op applied) {
  for (const auto o : {blas::order::column_major, blas::order::row_major}) {
    const auto wanted = applied == blas::op::none ? o : blas::other(o);
    bool fits = blas::leading_dimension(c, o) != 0;
    for (const any_tensor* input : inputs)
      fits = fits && (input->empty() || blas::leading_dimension(*input, wanted) != 0);
    if (fits) return o;
  }
  return blas::order::column_major;  // not reached: a rule asks the same
}

result<void> run_herk(const blas::herk& r, lane_context&) {
  if (r.c.empty()) return {};
  const auto order = order_for(r.c, {&r.a}, r.op_a);
  const bool none = r.op_a == blas::op::none;
  for_complex_type(r.c.type(), [&]<class T>(T) {
    if (only_scales<real_t<T>, T>(r)) return;
    const auto beta = settle_beta<real_t<T>, T>(r.c, r.uplo, r.beta);
    routines<T>::herk(as_cblas(order), as_cblas(r.uplo), none ? CblasNoTrans : CblasConjTrans,
                      r.c.extent(0), r.a.extent(1), r.alpha.as<real_t<T>>(), r.a.data<T>(),
                      blas::leading_dimension(r.a, none ? order : blas::other(order)), beta,
                      r.c.data<T>(), blas::leading_dimension(r.c, order));
  });
  return {};
}

result<void> run_her2k(const blas::her2k& r, lane_context&) {
  if (r.c.empty()) return {};
  const auto order = order_for(r.c, {&r.a, &r.b}, r.op_ab);
  const bool none = r.op_ab == blas::op::none;
  const auto input_order = none ? order : blas::other(order);
  for_complex_type(r.c.type(), [&]<class T>(T) {
    if (only_scales<real_t<T>, T>(r)) return;
    const T alpha = r.alpha.as<T>();
    const auto beta = settle_beta<real_t<T>, T>(r.c, r.uplo, r.beta);
    routines<T>::her2k(as_cblas(order), as_cblas(r.uplo), none ? CblasNoTrans : CblasConjTrans,
                       r.c.extent(0), r.a.extent(1), by(alpha), r.a.data<T>(),
                       blas::leading_dimension(r.a, input_order), r.b.data<T>(),
                       blas::leading_dimension(r.b, input_order), beta, r.c.data<T>(),
                       blas::leading_dimension(r.c, order));
  });
  return {};
}

const plugin_operations level3_symmetric_operations([](operation_table& table) {
  table.add<blas::symm>(run_symm, effort::by_size);
  table.add<blas::hemm>(run_hemm, effort::by_size);
  table.add<blas::syrk>(run_syrk, effort::by_size);
  table.add<blas::syr2k>(run_syr2k, effort::by_size);
  table.add<blas::herk>(run_herk, effort::by_size);
  table.add<blas::her2k>(run_her2k, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
