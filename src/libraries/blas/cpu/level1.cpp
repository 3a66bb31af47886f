#include "libraries/blas/cpu/half_vectors.hpp"
#include "libraries/blas/cpu/routines.hpp"
#include "libraries/blas/cpu/scaling.hpp"
#include "libraries/blas/requests/factors.hpp"

#include <troupe/blas/level1.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

using blas::increment;

template <class Half>
void axpy_half(const blas::axpy& r) {
  const float alpha = r.alpha.as<float>();
  half_block x;
  half_block y;
  for (std::int64_t from = 0; from < r.x.extent(0); from += half_block::capacity) {
    const std::int64_t n = x.read<Half>(r.x, from);
    y.read<Half>(r.y, from);
    for (std::int64_t i = 0; i < n; ++i)
      y.values[i] = alpha * x.values[i] + y.values[i];
    y.write<Half>(r.y, from);
  }
}

result<void> run_axpy(const blas::axpy& r, lane_context&) {
  if (blas::vanishes(r.alpha, r.x.type())) return {};  // x is not read
  if (r.x.type() == dtype::f16) axpy_half<f16>(r);
  if (r.x.type() == dtype::bf16) axpy_half<bf16>(r);
  for_classic_type(r.x.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    routines<T>::axpy(r.x.extent(0), by(alpha), r.x.data<T>(), increment(r.x), r.y.data<T>(),
                      increment(r.y));
  });
  return {};
}

template <class Half>
void axpby_half(const blas::axpby& r) {
  const float alpha = r.alpha.as<float>();
  const float beta = r.beta.as<float>();
  half_block x;
  half_block y;
  for (std::int64_t from = 0; from < r.y.extent(0); from += half_block::capacity) {
    const std::int64_t n = y.read<Half>(r.y, from);
    x.read<Half>(r.x, from);
    for (std::int64_t i = 0; i < n; ++i)
      y.values[i] = scaled(alpha, x.values[i]) + scaled(beta, y.values[i]);
    y.write<Half>(r.y, from);
  }
}

// Own loops: OpenBLAS reads a vector even if its factor is 0.
result<void> run_axpby(const blas::axpby& r, lane_context&) {
  if (r.y.type() == dtype::f16) axpby_half<f16>(r);
  if (r.y.type() == dtype::bf16) axpby_half<bf16>(r);
  for_classic_type(r.y.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    const T beta = r.beta.as<T>();
    const T* const x = r.x.data<T>();
    T* const y = r.y.data<T>();
    for (std::int64_t i = 0; i < r.y.extent(0); ++i) {
      T& to = y[i * increment(r.y)];
      to = scaled(alpha, x[i * increment(r.x)]) + scaled(beta, to);
    }
  });
  return {};
}

template <class Half>
void scal_half(const blas::scal& r) {
  const float alpha = r.alpha.as<float>();
  half_block x;
  for (std::int64_t from = 0; from < r.x.extent(0); from += half_block::capacity) {
    const std::int64_t n = x.read<Half>(r.x, from);
    for (std::int64_t i = 0; i < n; ++i)
      x.values[i] *= alpha;
    x.write<Half>(r.x, from);
  }
}

result<void> run_scal(const blas::scal& r, lane_context&) {
  if (r.x.type() == dtype::f16) scal_half<f16>(r);
  if (r.x.type() == dtype::bf16) scal_half<bf16>(r);
  for_classic_type(r.x.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    T* const x = r.x.data<T>();
    const std::int64_t step = increment(r.x);
    if (!is_ordinary(alpha)) {
      // By hand: OpenBLAS stores zeros for some of these, and would lose NaNs of x.
      for (std::int64_t i = 0; i < r.x.extent(0); ++i)
        x[i * step] = product_of(alpha, x[i * step]);
    } else {
      routines<T>::scal(r.x.extent(0), by(alpha), x, step);
    }
  });
  return {};
}

result<void> run_copy(const blas::copy& r, lane_context&) {
  // To BLAS, a negative increment walks through the same elements from the last to the first.
  const std::int64_t incx = r.reversed ? -increment(r.x) : increment(r.x);
  for_classic_type(r.x.type(), [&]<class T>(T) {
    routines<T>::copy(r.x.extent(0), r.x.data<T>(), incx, r.y.data<T>(), increment(r.y));
  });
  return {};
}

result<void> run_swap(const blas::swap& r, lane_context&) {
  for_classic_type(r.x.type(), [&]<class T>(T) {
    routines<T>::swap(r.x.extent(0), r.x.data<T>(), increment(r.x), r.y.data<T>(), increment(r.y));
  });
  return {};
}

const plugin_operations level1_operations([](operation_table& table) {
  table.add<blas::axpy>(run_axpy, effort::by_size);
  table.add<blas::axpby>(run_axpby, effort::by_size);
  table.add<blas::scal>(run_scal, effort::by_size);
  table.add<blas::copy>(run_copy, effort::by_size);
  table.add<blas::swap>(run_swap, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
