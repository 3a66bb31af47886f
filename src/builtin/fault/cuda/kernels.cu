// Its assertion must fail in every build type.
#undef NDEBUG

#include "backend/cuda/context/launch.cuh"
#include "builtin/fault/cuda/kernels.hpp"

#include <cuda_runtime.h>

#include <cassert>

// These faults must reach the hardware: every access is volatile, and every address, condition and
// depth comes from outside, so that the compiler cannot know any of it.
namespace troupe::cuda {
namespace {

constexpr unsigned writers = 256;

template <class Word>
__global__ void write(std::byte* where) {
  *reinterpret_cast<volatile Word*>(where) = 1;
}

__global__ void trap() { asm volatile("trap;"); }

__global__ void assert_that(int holds) { assert(holds != 0 && "injected by fault.inject"); }

__device__ __noinline__ unsigned descend(unsigned levels) {
  constexpr unsigned size = 64;
  volatile unsigned frame[size];
  frame[levels % size] = levels;
  const unsigned below = levels == 0 ? 0 : descend(levels - 1);
  return below ^ frame[(below + levels) % size];  // after the call: this frame is needed until then
}

__global__ void descend_from(unsigned levels, std::byte* scratch) {
  *reinterpret_cast<volatile unsigned*>(scratch) = descend(levels);
}

__device__ std::uint64_t now_ns() {
  std::uint64_t time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

__global__ void spin(std::int64_t duration_ns) {
  const std::uint64_t begin = now_ns();
  while (now_ns() - begin < static_cast<std::uint64_t>(duration_ns))
    __nanosleep(500);
}

__global__ void spin_until(const std::uint32_t* flag, std::int64_t at_most_ns, float* output,
                           std::int64_t count, float value, bool add) {
  if (threadIdx.x == 0) {
    const std::uint64_t begin = now_ns();
    while (*static_cast<const volatile std::uint32_t*>(flag) == 0 &&
           now_ns() - begin < static_cast<std::uint64_t>(at_most_ns))
      __nanosleep(500);
    // Everything that the program wrote before the flag is visible after this.
    __threadfence_system();
  }
  __syncthreads();
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x)
    output[i] = add ? output[i] + value : value;
}

}  // namespace

result<void> enqueue_write(std::byte* where, cudaStream_t stream) {
  return launch(write<std::uint8_t>, 1, 1, stream, where);
}

result<void> enqueue_write_word(std::byte* where, cudaStream_t stream) {
  return launch(write<std::uint32_t>, 1, 1, stream, where);
}

result<void> enqueue_trap(cudaStream_t stream) { return launch(trap, 1, 1, stream); }

result<void> enqueue_failed_assertion(cudaStream_t stream) {
  return launch(assert_that, 1, 1, stream, 0);
}

result<void> enqueue_stack_overflow(std::byte* scratch, cudaStream_t stream) {
  return launch(descend_from, 1, 1, stream, 1u << 24, scratch);
}

result<void> enqueue_invalid_launch(cudaStream_t stream) {
  constexpr unsigned more_threads_than_any_block_has = 4096;
  return launch(trap, 1, more_threads_than_any_block_has, stream);
}

result<void> enqueue_spin(std::int64_t duration_ns, cudaStream_t stream) {
  return launch(spin, 1, 1, stream, duration_ns);
}

result<void> enqueue_spin_until(const std::uint32_t* flag, std::int64_t at_most_ns, float* output,
                                std::int64_t count, float value, bool add, cudaStream_t stream) {
  return launch(spin_until, 1, writers, stream, flag, at_most_ns, output, count, value, add);
}

result<void> load_fault_kernels() {
  for (auto loaded : {load(write<std::uint8_t>), load(write<std::uint32_t>), load(trap),
                      load(assert_that), load(descend_from), load(spin), load(spin_until)}) {
    if (!loaded) return loaded;
  }
  return {};
}

}  // namespace troupe::cuda
