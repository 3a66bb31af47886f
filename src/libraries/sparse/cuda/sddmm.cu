#include "backend/cuda/context/executor.hpp"
#include "libraries/sparse/cuda/kernels/dense.cuh"
#include "libraries/sparse/cuda/kernels/grid.cuh"
#include "libraries/sparse/cuda/kernels/values.cuh"
#include "libraries/sparse/cuda/pattern_check.hpp"
#include "libraries/sparse/cuda/sampled_blocks.hpp"

#include <troupe/sparse/products.hpp>

namespace troupe::cuda {
namespace {

constexpr int warp = 32;

template <class D>
struct sampled_product {
  sparse::pattern p;
  D* values;
  std::int64_t stored;
  dense_operand<const D> a;
  dense_operand<const D> b;
  device_update<D> finish;
  std::int64_t terms;  ///< 0 if alpha is 0
};

/// `Lanes` threads per element share its terms.
template <int Lanes, class D>
__global__ void sample(sampled_product<D> s) {
  const std::int64_t e = thread_number() / Lanes;
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  sparse::element_place place{};
  if (e < s.stored) place = s.p.place_of(e);
  const bool has_place = place.what == sparse::element_place::kind::element;
  work_of<D> sum{};
  if (has_place) {
    for (std::int64_t k = lane; k < s.terms; k += Lanes)
      sum = sum + widened(s.a(place.row, k)) * widened(s.b(k, place.column));
  }
  if constexpr (Lanes == warp) sum = warp_sum(sum);
  if (has_place && lane == 0) s.finish(s.values[e], sum);
}

result<void> run_sddmm(const sparse::sddmm& r, lane& where, late_failure failure) {
  if (offers_sampled_blocks(r)) {
    auto done = enqueue_sampled_blocks(r, where, failure);
    if (done || done.error().code != errc::unsupported) return done;
  }
  return with_values(r.a.type(), [&]<class T, class D>(T, D) -> result<void> {
    call_frame c(where);
    checking pattern(c, r.c, sparse::pattern_claim::places, failure);
    TRY(c.begin());
    const sampled_product<D> s{.p = sparse::pattern_of(r.c),
                               .values = reinterpret_cast<D*>(r.c.values.address()),
                               .stored = r.c.stored(),
                               .a = dense_operand<const D>(r.a),
                               .b = dense_operand<const D>(r.b),
                               .finish = update_of<D>(r.alpha, r.beta),
                               .terms = r.alpha.is_zero() ? 0 : r.a.extent(1)};
    TRY(s.terms < warp ? launch_over(s.stored, sample<1, D>, where.stream(), s)
                       : launch_over(s.stored * warp, sample<warp, D>, where.stream(), s));
    return c.end();
  });
}

const plugin_operations operations([](operation_table& table) {
  add<sparse::sddmm>(table, run_sddmm);
});

}  // namespace
}  // namespace troupe::cuda
