#include "libraries/blas/cpu/routines.hpp"
#include "libraries/blas/cpu/scaling.hpp"
#include "libraries/blas/shared/rotations.hpp"

#include <troupe/blas/level1_rotations.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

using blas::increment;

result<void> run_rot(const blas::rot& r, lane_context&) {
  for_classic_type(r.x.type(), [&]<class T>(T) {
    const real_t<T> c = r.c_at.null() ? r.c.as<real_t<T>>() : *r.c_at.data<real_t<T>>();
    const T s = r.s_at.null() ? r.s.as<T>() : *r.s_at.data<T>();
    T* const x = r.x.data<T>();
    T* const y = r.y.data<T>();
    const std::int64_t step_x = increment(r.x);
    const std::int64_t step_y = increment(r.y);
    // By hand: BLAS has no routine for a complex s, and this one is bound by memory anyway.
    for (std::int64_t i = 0; i < r.x.extent(0); ++i) {
      const T old = x[i * step_x];
      x[i * step_x] = c * old + product_of(s, y[i * step_y]);
      y[i * step_y] = c * y[i * step_y] - product_of(conjugate(s), old);
    }
  });
  return {};
}

// What generates rotations is by hand, the same as on a GPU: OpenBLAS's overflow and underflow.
result<void> run_rotg(const blas::rotg& r, lane_context&) {
  for_classic_type(r.a.type(), [&]<class T>(T) {
    using R = real_t<T>;
    T& a = *r.a.data<T>();
    T& b = *r.b.data<T>();
    if constexpr (complex_v<T>) {
      const auto made = rotations::generate(rotations::complex_parts<R>{a.real(), a.imag()},
                                            rotations::complex_parts<R>{b.real(), b.imag()});
      a = {made.r.re, made.r.im};
      *r.c.data<R>() = made.c;
      *r.s.data<T>() = {made.s.re, made.s.im};
    } else {
      const auto made = rotations::generate(a, b);
      a = made.r;
      b = made.z;
      *r.c.data<R>() = made.c;
      *r.s.data<T>() = made.s;
    }
  });
  return {};
}

result<void> run_rotm(const blas::rotm& r, lane_context&) {
  for_real_type(r.x.type(), [&]<class T>(T) {
    routines<T>::rotm(r.x.extent(0), r.x.data<T>(), increment(r.x), r.y.data<T>(), increment(r.y),
                      r.param.data<T>());
  });
  return {};
}

result<void> run_rotmg(const blas::rotmg& r, lane_context&) {
  for_real_type(r.x1.type(), [&]<class T>(T) {
    rotations::generate_modified(*r.d1.data<T>(), *r.d2.data<T>(), *r.x1.data<T>(), *r.y1.data<T>(),
                                 r.param.data<T>());
  });
  return {};
}

const plugin_operations operations([](operation_table& table) {
  table.add<blas::rot>(run_rot, effort::by_size);
  table.add<blas::rotg>(run_rotg, effort::by_size);
  table.add<blas::rotm>(run_rotm, effort::by_size);
  table.add<blas::rotmg>(run_rotmg, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
