#include "backend/cuda/context/late_failure.cuh"
#include "backend/cuda/context/launch.cuh"
#include "backend/cuda/context/loading.hpp"
#include "backend/cuda/context/recording/conditions.hpp"

#include <string>

namespace troupe::cuda {
namespace {

struct looked_at {
  recorded_condition what;
  std::uint64_t* rounds;
  bool is_first;

  [[nodiscard]] __device__ std::int64_t value() const {
    switch (what.type) {
      case dtype::i64:
        return *reinterpret_cast<const std::int64_t*>(what.at);
      case dtype::u32:
        return *reinterpret_cast<const std::uint32_t*>(what.at);
      case dtype::i32:
        return *reinterpret_cast<const std::int32_t*>(what.at);
      default:
        return *reinterpret_cast<const std::uint8_t*>(what.at);
    }
  }
};

__global__ void set(cudaGraphConditionalHandle handle, const __grid_constant__ looked_at c,
                    const __grid_constant__ late_words before,
                    const __grid_constant__ late_words after, late_failure failure) {
  const std::int64_t value = c.value();
  unsigned which = value != 0 ? 1 : 0;
  if (c.what.what == recorded_condition::kind::choose) {
    const auto bodies = static_cast<unsigned>(c.what.bodies);
    which = value >= 0 && value < bodies ? static_cast<unsigned>(value) : bodies;
  } else if (c.what.what == recorded_condition::kind::repeat) {
    const std::uint64_t rounds = c.is_first ? 0 : *c.rounds + 1;
    *c.rounds = rounds;
    if (which != 0 && rounds == c.what.at_most) {
      failure.write(errc::numerical, before, static_cast<std::int64_t>(rounds), after);
      which = 0;
    }
  }
  cudaGraphSetConditional(handle, which);
}

__global__ void store(std::uint64_t* where, std::uint64_t value) { *where = value; }

const kernel_loading loading([]() -> result<void> {
  if (auto loaded = load(set); !loaded) return loaded;
  return load(store);
});

}  // namespace

result<void> set_condition(std::uint64_t handle, const recorded_condition& c, std::uint64_t* rounds,
                           bool is_first, std::byte* reply, cudaStream_t stream) {
  const late_words before("request " + std::to_string(c.number) +
                          ": repeat_while: the condition still holds after ");
  return launch(set, 1, 1, stream, static_cast<cudaGraphConditionalHandle>(handle),
                looked_at{c, rounds, is_first}, before, late_words(" rounds"), late_failure(reply));
}

result<void> store_word(std::uint64_t* where, std::uint64_t value, cudaStream_t stream) {
  return launch(store, 1, 1, stream, where, value);
}

}  // namespace troupe::cuda
