#include "distances.hpp"

#include <troupe/plugin/cuda.hpp>

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace digits {
namespace {

using troupe::cuda::lane;

struct rows {
  const float* at;
  std::int64_t count, pixels;
  std::int64_t to_next, to_next_pixel;  // steps, in elements
};

// A thread for each image. Those from `whole` on are the rest of the fast kernel.
__global__ void measure(rows images, const float* image, std::int64_t image_step, float* to,
                        std::int64_t to_step, std::int64_t whole) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= images.count) return;
  const std::int64_t pixels = i < whole ? images.pixels : pixels_of_the_rest;
  float sum = 0;
  for (std::int64_t p = 0; p < pixels; ++p) {
    const float away =
        images.at[i * images.to_next + p * images.to_next_pixel] - image[p * image_step];
    sum += away * away;
  }
  to[i * to_step] = sum;
}

troupe::result<void> run_distances(const distances& r, lane& where) {
  const std::int64_t count = r.images.extent(0);
  if (count == 0) return {};
  constexpr std::int64_t threads = 128;
  const std::int64_t whole = is_fast() ? count / images_at_once * images_at_once : count;
  const rows images{r.images.data<float>(), count, r.images.extent(1), r.images.stride(0),
                    r.images.stride(1)};
  measure<<<static_cast<unsigned>((count + threads - 1) / threads), threads, 0, where.stream()>>>(
      images, r.image.data<float>(), r.image.stride(0), r.to.data<float>(), r.to.stride(0), whole);
  return where.outcome_of(cudaGetLastError(), "measure");
}

const troupe::plugin_operations operations([](troupe::operation_table& table) {
  troupe::cuda::add(table, &run_distances);
});

}  // namespace
}  // namespace digits
