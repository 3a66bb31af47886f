#include "backend/cuda/context/executor.hpp"
#include "libraries/rng/cuda/draws.hpp"
#include "libraries/rng/shared/bits_samplers.hpp"
#include "libraries/rng/shared/continuous_samplers.hpp"

namespace troupe::cuda {
namespace {

// Of philox, which needs nothing but its kernels. What cuRAND's generators take they take when one
// is first asked for.
result<void> warm_up(lane& where) {
  constexpr std::int64_t count = 1024;
  auto room = where.workspace(count * sizeof(float));
  if (!room) return std::move(room).error();
  const auto to = any_tensor::unowned(room->data(), dtype::f32, {count});
  const rng::position from;
  if (auto done = enqueue_draws(from, to, rng::uniform_sampler<float>(rng::uniform{}), {}, where);
      !done) {
    return done;
  }
  return enqueue_draws(from, to, rng::normal_sampler<float>(rng::normal{}), {}, where);
}

const plugin_warm_up ahead_of_use([](lane_context& where) {
  return warm_up(static_cast<lane&>(where));
});

}  // namespace

}  // namespace troupe::cuda
