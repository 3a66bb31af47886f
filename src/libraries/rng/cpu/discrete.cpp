#include "libraries/rng/cpu/draw.hpp"
#include "libraries/rng/shared/discrete_samplers.hpp"

#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

template <class Weight>
void sum_up(const any_tensor& weights, const rng::weight_sums& sums) {
  for (std::int64_t b = 0; b < sums.blocks(); ++b)
    sums.add_block(b, weights.data<Weight>(), weights.stride(0));
  sums.add_blocks();
}

result<void> run_discrete(const rng::discrete& r, lane_context& lane) {
  const std::int64_t count = r.weights.extent(0);
  auto workspace = lane.workspace(rng::weight_sums::bytes_for(count));
  if (!workspace) return std::move(workspace).error();
  const auto sums = rng::weight_sums::in(reinterpret_cast<double*>(workspace->data()), count);
  if (r.weights.type() == dtype::f32) {
    sum_up<float>(r.weights, sums);
  } else {
    sum_up<double>(r.weights, sums);
  }
  if (!sums.usable()) {
    return error{.code = errc::invalid_argument,
                 .message = "weights must be finite, none negative, with a finite sum above 0"};
  }
  with_sampler(r, sums, [&](const auto& sampler) { draw(r.from, r.to, sampler); });
  return {};
}

const plugin_operations discrete_operations([](operation_table& table) {
  table.add<rng::integers>(draw_request<rng::integers>, effort::by_size);
  table.add<rng::bernoulli>(draw_request<rng::bernoulli>, effort::by_size);
  table.add<rng::poisson>(draw_request<rng::poisson>, effort::by_size);
  table.add<rng::discrete>(run_discrete, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
