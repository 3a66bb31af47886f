#include "backend/cuda/context/executor.hpp"
#include "libraries/rng/cuda/draws.hpp"
#include "libraries/rng/cuda/weights.hpp"
#include "libraries/rng/shared/discrete_samplers.hpp"

namespace troupe::cuda {
namespace {

result<void> run_discrete(const rng::discrete& r, lane& where, late_failure failure) {
  const std::int64_t count = r.weights.extent(0);
  call_frame c(where);
  const auto room = c.bytes(rng::weight_sums::bytes_for(count));
  c.share(draw_scratch_bytes(r.from, r.to, rng::budget::choice));
  TRY(c.begin());
  const auto sums = rng::weight_sums::in(reinterpret_cast<double*>(room.get()), count);
  TRY(enqueue_weight_sums(r.weights, sums, where));
  TRY(with_sampler(r, sums, [&](const auto& sampler) {
    return enqueue_draws(r.from, r.to, sampler, c.shared(), where);
  }));
  return enqueue_weight_check(sums, failure, where);
}

const plugin_operations discrete_operations([](operation_table& table) {
  add<rng::integers>(table, draw_request<rng::integers>);
  add<rng::bernoulli>(table, draw_request<rng::bernoulli>);
  add<rng::poisson>(table, draw_request<rng::poisson>);
  add<rng::discrete>(table, run_discrete);
});

}  // namespace

}  // namespace troupe::cuda
