#include "backend/cuda/context/executor.hpp"
#include "libraries/rng/cuda/draws.hpp"
#include "libraries/rng/cuda/weights.hpp"
#include "libraries/rng/shared/discrete_samplers.hpp"

namespace troupe::cuda {
namespace {

result<void> run_discrete(const rng::discrete& r, lane& where, late_failure failure) {
  constexpr std::size_t alignment = 256;
  const std::int64_t count = r.weights.extent(0);
  const std::size_t sum_bytes =
      (rng::weight_sums::bytes_for(count) + alignment - 1) / alignment * alignment;
  auto room = where.workspace(sum_bytes + draw_scratch_bytes(r.from, r.to, rng::budget::choice));
  if (!room) return std::move(room).error();
  const auto sums = rng::weight_sums::in(reinterpret_cast<double*>(room->data()), count);
  if (auto done = enqueue_weight_sums(r.weights, sums, where); !done) return done;
  auto drawn = with_sampler(r, sums, [&](const auto& sampler) {
    return enqueue_draws(r.from, r.to, sampler, room->subspan(sum_bytes), where);
  });
  if (!drawn) return drawn;
  return enqueue_weight_check(sums, failure, where);
}

const plugin_operations operations([](operation_table& table) {
  add<rng::integers>(table, draw_request<rng::integers>);
  add<rng::bernoulli>(table, draw_request<rng::bernoulli>);
  add<rng::poisson>(table, draw_request<rng::poisson>);
  add<rng::discrete>(table, run_discrete);
});

}  // namespace

}  // namespace troupe::cuda
