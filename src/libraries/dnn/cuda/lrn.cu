#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/executor.hpp"
#include "libraries/dnn/cuda/images/images.cuh"

#include <troupe/dnn/lrn.hpp>

namespace troupe::cuda {
namespace {

struct lrn_operands {
  image_view x, dy, to;
  image_places each;
  std::int64_t channels;
  std::int64_t before, after;  ///< neighbours of a channel in its sum
  double share, beta, k;
  void* sums;  ///< per place, in the order of `each`
};

template <class T>
__device__ image_real<T> sum_at(const lrn_operands& p, image_place at) {
  using real = image_real<T>;
  const std::int64_t c = at.c;
  at.c = 0;
  const T* const x = p.x.elements<T>() + at.in(p.x);
  const std::int64_t first = c < p.before ? 0 : c - p.before;
  const std::int64_t end = c + p.after < p.channels ? c + p.after + 1 : p.channels;
  real sum = 0;
  for (std::int64_t i = first; i < end; ++i) {
    const real one = real_of(x[i * p.x.c_step]);
    sum += one * one;
  }
  return static_cast<real>(p.k) + static_cast<real>(p.share) * sum;
}
template <class Real>
__device__ Real power(const lrn_operands& p, Real s) {
  return std::pow(s, static_cast<Real>(-p.beta));
}

template <class T>
__global__ void __launch_bounds__(image_threads)
    lrn_forward(const __grid_constant__ lrn_operands p) {
  const std::int64_t flat = flat_thread();
  if (flat >= p.each.count) return;
  const image_place at = p.each.at(flat);
  const auto x = real_of(p.x.elements<T>()[at.in(p.x)]);
  p.to.elements<T>()[at.in(p.to)] = element_of<T>(x * power(p, sum_at<T>(p, at)));
}

// First pass: dy · x · s^(−beta − 1) of each element.
template <class T>
__global__ void __launch_bounds__(image_threads) lrn_terms(const __grid_constant__ lrn_operands p) {
  using real = image_real<T>;
  const std::int64_t flat = flat_thread();
  if (flat >= p.each.count) return;
  const image_place at = p.each.at(flat);
  const real s = sum_at<T>(p, at);
  const real x = real_of(p.x.elements<T>()[at.in(p.x)]);
  const real dy = real_of(p.dy.elements<T>()[at.in(p.dy)]);
  static_cast<real*>(p.sums)[flat] = dy * x * power(p, s) / s;
}
template <class T>
__global__ void __launch_bounds__(image_threads)
    lrn_backward(const __grid_constant__ lrn_operands p) {
  using real = image_real<T>;
  const std::int64_t flat = flat_thread();
  if (flat >= p.each.count) return;
  const image_place at = p.each.at(flat);
  const std::int64_t c = at.c;
  // The channels whose sums contain this one: `before` and `after` swap.
  const std::int64_t first = c < p.after ? 0 : c - p.after;
  const std::int64_t end = c + p.before < p.channels ? c + p.before + 1 : p.channels;
  const std::int64_t step = p.each.channels_inside ? 1 : p.each.d.by * p.each.h.by * p.each.w.by;
  real sum = 0;
  for (std::int64_t i = first; i < end; ++i)
    sum += static_cast<const real*>(p.sums)[flat + (i - c) * step];
  const real x = real_of(p.x.elements<T>()[at.in(p.x)]);
  const real dy = real_of(p.dy.elements<T>()[at.in(p.dy)]);
  p.to.elements<T>()[at.in(p.to)] = element_of<T>(
      dy * power(p, sum_at<T>(p, at)) - static_cast<real>(2 * p.share * p.beta) * x * sum);
}

template <class R>
lrn_operands operands_of(const R& r, const any_tensor& to) {
  const image_extents of(r.x);
  lrn_operands p{};
  p.x = image_view(r.x);
  p.to = image_view(to);
  p.each = image_places(of, channels_are_inside(of, p.x), 1, 1);
  p.channels = of.c;
  p.before = r.size / 2;
  p.after = (r.size - 1) / 2;
  p.share = r.alpha / static_cast<double>(r.size);
  p.beta = r.beta;
  p.k = r.k;
  return p;
}

result<void> forward(const dnn::lrn_forward& r, lane& where) {
  if (r.x.empty()) return {};
  const lrn_operands p = operands_of(r, r.y);
  return dnn::for_image_type(r.x.type(), [&]<class T>(T) {
    return launch(lrn_forward<T>, blocks_for(p.each.count), image_threads, where.stream(), p);
  });
}
result<void> backward(const dnn::lrn_backward& r, lane& where) {
  if (r.x.empty()) return {};
  lrn_operands p = operands_of(r, r.dx);
  p.dy = image_view(r.dy);
  return dnn::for_image_type(r.x.type(), [&]<class T>(T) -> result<void> {
    call_frame c(where);
    const auto sums = c.array<image_real<T>>(p.each.count);
    TRY(c.begin());
    p.sums = sums;
    const std::int64_t blocks = blocks_for(p.each.count);
    TRY(launch(lrn_terms<T>, blocks, image_threads, where.stream(), p));
    return launch(lrn_backward<T>, blocks, image_threads, where.stream(), p);
  });
}

const plugin_operations operations([](operation_table& table) {
  add<dnn::lrn_forward>(table, forward);
  add<dnn::lrn_backward>(table, backward);
});

}  // namespace
}  // namespace troupe::cuda
