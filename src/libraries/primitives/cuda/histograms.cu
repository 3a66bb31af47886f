#include "backend/cuda/context/call_frame.hpp"
#include "libraries/primitives/cuda/cub_call.hpp"
#include "libraries/primitives/cuda/histograms.hpp"
#include "libraries/primitives/cuda/kernels/first_wrong.cuh"
#include "libraries/primitives/cuda/kernels/numbers.cuh"
#include "libraries/primitives/shared/bins.hpp"

#include <algorithm>

namespace troupe::cuda {
namespace {

/// An element as f64, in which it is compared.
__device__ double real_at(const vector_place& x, std::int64_t i) {
  const std::byte* at = x.at(i);
  switch (x.type) {
    case dtype::f64:
      return *reinterpret_cast<const double*>(at);
    case dtype::f32:
      return *reinterpret_cast<const float*>(at);
    case dtype::f16:
    case dtype::bf16:
    case dtype::e4m3:
    case dtype::e5m2:
      return widened_bits(x.type, static_cast<std::uint16_t>(load_bits(at, x.bytes)));
    case dtype::i8:
      return *reinterpret_cast<const std::int8_t*>(at);
    case dtype::i16:
      return *reinterpret_cast<const std::int16_t*>(at);
    case dtype::i32:
      return *reinterpret_cast<const std::int32_t*>(at);
    case dtype::i64:
      return static_cast<double>(*reinterpret_cast<const std::int64_t*>(at));
    case dtype::boolean:
      return load_bits(at, x.bytes) != 0 ? 1 : 0;
    default:
      return static_cast<double>(load_bits(at, x.bytes));
  }
}

struct bin_counts {
  unsigned long long* first;
  std::int64_t step;
  std::int64_t bins;
  explicit bin_counts(const any_tensor& to)
      : first(reinterpret_cast<unsigned long long*>(to.address())),
        step(to.stride(0)),
        bins(to.extent(0)) {}
};

__global__ void __launch_bounds__(block_threads) clear_counts(bin_counts counts) {
  for_each_element(counts.bins, [&](std::int64_t i) { counts.first[i * counts.step] = 0; });
}

/// Up to this number of bins, a block counts in shared memory before it adds to the global bins.
constexpr int most_shared_bins = 4096;

template <class Bins>
__global__ void __launch_bounds__(block_threads)
    count_elements(vector_place x, std::int64_t n, Bins bins, bin_counts counts) {
  __shared__ unsigned of_block[most_shared_bins];
  const bool shares = counts.bins <= most_shared_bins;
  if (shares) {
    for (int i = static_cast<int>(threadIdx.x); i < counts.bins; i += block_threads)
      of_block[i] = 0;
  }
  __syncthreads();
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * block_threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x; i < n;
       i += threads) {
    const std::int64_t bin = bins.bin_of(real_at(x, i));
    if (bin < 0) continue;
    if (shares) {
      atomicAdd(&of_block[bin], 1U);
    } else {
      atomicAdd(&counts.first[bin * counts.step], 1ULL);
    }
  }
  __syncthreads();
  if (!shares) return;
  for (int i = static_cast<int>(threadIdx.x); i < counts.bins; i += block_threads) {
    if (of_block[i] != 0) {
      atomicAdd(&counts.first[i * counts.step], static_cast<unsigned long long>(of_block[i]));
    }
  }
}

template <class Bins>
result<void> enqueue_counts(const any_tensor& x, const any_tensor& to, const Bins& bins,
                            const lane& where) {
  const bin_counts counts(to);
  TRY(launch_over(counts.bins, clear_counts, where.stream(), counts));
  if (x.empty() || to.empty()) return {};
  constexpr std::int64_t per_multiprocessor = 8;
  constexpr std::int64_t thread_share = 16;
  const std::int64_t n = x.extent(0);
  const std::int64_t blocks = std::clamp<std::int64_t>(
      n / (thread_share * block_threads), 1, where.multiprocessors() * per_multiprocessor);
  // A block must not count more than fits in 32 bits.
  return launch(count_elements<Bins>, std::max(blocks, n >> 31), block_threads, where.stream(),
                vector_place(x), n, bins, counts);
}

struct ascending_edges {
  const double* first;
  std::int64_t step;
  std::int64_t count;
  [[nodiscard]] __host__ __device__ std::int64_t number() const { return count; }
  [[nodiscard]] __device__ bool wrong(std::int64_t i) const {
    const double edge = first[i * step];
    return i == 0 ? edge != edge : !(edge >= first[(i - 1) * step]);
  }
  __device__ void write_failure(std::int64_t i, const late_failure& failure) const {
    failure.write(errc::invalid_argument, "edges[", i, "] is NaN or below the edge before it");
  }
};

}  // namespace

result<void> enqueue_even(const primitives::histogram_even& r, lane& where) {
  return enqueue_counts(r.x, r.counts, primitives::even_bins(r.lower, r.upper, r.counts.extent(0)),
                        where);
}

result<void> enqueue_range(const primitives::histogram_range& r, lane& where,
                           late_failure failure) {
  const primitives::edged_bins bins(r.edges.data<double>(), r.edges.stride(0), r.counts.extent(0));
  TRY(enqueue_counts(r.x, r.counts, bins, where));
  call_frame c(where);
  const auto first_wrong = c.array<unsigned long long>(1);
  TRY(c.begin());
  return enqueue_check(
      ascending_edges{r.edges.data<double>(), r.edges.stride(0), r.edges.extent(0)}, first_wrong,
      failure, where.stream());
}

}  // namespace troupe::cuda
