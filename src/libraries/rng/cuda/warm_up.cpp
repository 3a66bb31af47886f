#include "backend/cuda/context/executor.hpp"
#include "libraries/rng/cuda/draws.hpp"
#include "libraries/rng/shared/bits_samplers.hpp"
#include "libraries/rng/shared/continuous_samplers.hpp"

namespace troupe::cuda {
namespace {

// Philox needs only its kernels. cuRAND's generators allocate memory at their first use.
result<void> warm_up(lane& where) {
  constexpr std::int64_t count = 1024;
  call_frame c(where);
  const auto room = c.array<float>(count);
  TRY(c.begin());
  const auto to =
      any_tensor::unowned(reinterpret_cast<std::byte*>(room.get()), dtype::f32, {count});
  const rng::position from;
  TRY(enqueue_draws(from, to, rng::uniform_sampler<float>(rng::uniform{}), nullptr, where));
  return enqueue_draws(from, to, rng::normal_sampler<float>(rng::normal{}), nullptr, where);
}

const plugin_warm_up ahead_of_use([](lane_context& where) {
  return warm_up(static_cast<lane&>(where));
});

}  // namespace

}  // namespace troupe::cuda
