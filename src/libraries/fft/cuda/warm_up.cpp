#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/failure.hpp"
#include "libraries/fft/cuda/advanced_layout.hpp"
#include "libraries/fft/cuda/caller_info.hpp"
#include "libraries/fft/cuda/cufft.hpp"
#include "libraries/fft/cuda/scale.hpp"
#include "libraries/fft/cuda/transforms.hpp"
#include "libraries/memory/cuda/kernels.hpp"

namespace troupe::cuda {
namespace {

/// Runs a transform of `like`'s kind and precision, in a piece of workspace.
result<void> warm_up(lane& where, fft::transform like, std::int64_t n) {
  like.axes[0] = {.n = n, .in = 1, .out = 1};
  const auto layout = advanced_layout_of(like);
  if (!layout) return {};
  const auto plan = TRY(plan_for(where, like, *layout));
  const std::int64_t bytes = n * fft::number_bytes(like.precision, true);
  call_frame c(where);
  const auto data = c.bytes(bytes);
  c.share(plan->work_bytes());
  TRY(c.begin());
  TRY(check(cudaMemsetAsync(data, 0, static_cast<std::size_t>(bytes), where.stream()),
            "cudaMemsetAsync"));
  return plan->run(data, data, like.direction, c.shared());
}

result<void> warm_up(lane& where) {
  TRY(load_copy_kernels());
  TRY(load_scale_kernels());
  TRY(load_caller_info_kernel());
  constexpr std::int64_t n = 1024;
  for (const dtype precision : {dtype::f32, dtype::f64}) {
    TRY(warm_up(where, {.precision = precision}, n));
  }
  return {};
}

const plugin_warm_up ahead_of_use([](lane_context& where) {
  return warm_up(static_cast<lane&>(where));
});

}  // namespace

}  // namespace troupe::cuda
