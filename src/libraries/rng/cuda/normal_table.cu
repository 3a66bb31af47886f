#include "backend/cuda/context/launch.cuh"
#include "base/try.hpp"
#include "libraries/rng/cuda/normal_table.hpp"

#include <memory>

namespace troupe::cuda {
namespace {

struct free_memory {
  void operator()(void* held) const noexcept { (void)cudaFree(held); }
};

/// The table of a lane. It ends with the lane, after its stream has drained.
struct attached {
  std::unique_ptr<rng::normal_segment, free_memory> table;
};
constexpr char attachment_key = 0;

// Uses the same operations as the CPU backend.
__global__ void fill(rng::normal_segment* table) {
  table[threadIdx.x] = rng::normal_segment_of(static_cast<int>(threadIdx.x));
}

}  // namespace

result<const rng::normal_segment*> normal_table_on(lane& where) {
  std::shared_ptr<void>& place = where.attachment(&attachment_key);
  if (!place) {
    void* memory = nullptr;
    TRY(check(cudaMalloc(&memory, rng::normal_segments * sizeof(rng::normal_segment)),
              "cudaMalloc"));
    auto made = std::make_shared<attached>();
    made->table.reset(static_cast<rng::normal_segment*>(memory));
    TRY(launch(fill, 1, rng::normal_segments, where.stream(), made->table.get()));
    place = std::move(made);
  }
  return static_cast<attached*>(place.get())->table.get();
}

}  // namespace troupe::cuda
