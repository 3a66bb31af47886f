#include "backend/cuda/backend.hpp"
#include "backend/cuda/rng/draws.hpp"
#include "backend/random/bits_samplers.hpp"
#include "backend/random/continuous_samplers.hpp"

namespace troupe::cuda {

// Of philox, which needs nothing but its kernels. What cuRAND's generators take they take when one
// is first asked for.
result<void> warm_up_rng(lane& where) {
  constexpr std::int64_t count = 1024;
  auto room = where.workspace(count * sizeof(float));
  if (!room) return std::move(room).error();
  const auto to = any_tensor::unowned(room->data(), dtype::f32, {count});
  const rng::position from;
  if (auto done =
          enqueue_draws(from, to, random::uniform_sampler<float>(rng::uniform{}), {}, where);
      !done) {
    return done;
  }
  return enqueue_draws(from, to, random::normal_sampler<float>{0, 1}, {}, where);
}

}  // namespace troupe::cuda
