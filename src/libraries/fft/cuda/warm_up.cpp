#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/failure.hpp"
#include "backend/cuda/context/pieces.hpp"
#include "libraries/fft/cuda/advanced_layout.hpp"
#include "libraries/fft/cuda/caller_info.hpp"
#include "libraries/fft/cuda/cufft.hpp"
#include "libraries/fft/cuda/scale.hpp"
#include "libraries/fft/cuda/transforms.hpp"
#include "libraries/memory/cuda/kernels.hpp"

namespace troupe::cuda {
namespace {

/// A transform of `like`'s kind and precision, within a piece of workspace.
result<void> warm_up(lane& where, fft::transform like, std::int64_t n) {
  like.axes[0] = {.n = n, .in = 1, .out = 1};
  const auto layout = advanced_layout_of(like);
  if (!layout) return {};
  auto plan = plan_for(where, like, *layout);
  if (!plan) return std::move(plan).error();
  pieces all;
  const std::size_t work_at = all.add(static_cast<std::int64_t>((*plan)->work_bytes()));
  const std::int64_t bytes = n * fft::number_bytes(like.precision, true);
  const std::size_t data_at = all.add(bytes);
  auto memory = where.workspace(all.bytes());
  if (!memory) return std::move(memory).error();
  std::byte* const data = memory->data() + data_at;
  if (auto done = check(cudaMemsetAsync(data, 0, static_cast<std::size_t>(bytes), where.stream()),
                        "cudaMemsetAsync");
      !done) {
    return done;
  }
  return (*plan)->run(data, data, like.direction, memory->data() + work_at);
}

result<void> warm_up(lane& where) {
  if (auto loaded = load_copy_kernels(); !loaded) return loaded;
  if (auto loaded = load_scale_kernels(); !loaded) return loaded;
  if (auto loaded = load_caller_info_kernel(); !loaded) return loaded;
  constexpr std::int64_t n = 1024;
  for (const dtype precision : {dtype::f32, dtype::f64}) {
    if (auto done = warm_up(where, {.precision = precision}, n); !done) return done;
  }
  return {};
}

const plugin_warm_up ahead_of_use([](lane_context& where) {
  return warm_up(static_cast<lane&>(where));
});

}  // namespace

}  // namespace troupe::cuda
