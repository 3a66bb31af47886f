#include "raw_check.hpp"
#include "raw_sparse_reads.hpp"

namespace troupe::bench::raw {
namespace {

constexpr int threads = 256;
constexpr int thread_elements = 8;

template <class T>
__global__ void read_elements(const std::int32_t* columns, const T* values, const T* x,
                              std::int64_t elements) {
  const std::int64_t first = std::int64_t{blockIdx.x} * threads * thread_elements + threadIdx.x;
  std::int32_t at[thread_elements] = {};
  T factors[thread_elements] = {};
#pragma unroll
  for (int n = 0; n < thread_elements; ++n) {
    const std::int64_t k = first + n * threads;
    if (k >= elements) continue;
    at[n] = __ldcs(columns + k);
    factors[n] = __ldcs(values + k);
  }
  T sum = 0;
#pragma unroll
  for (int n = 0; n < thread_elements; ++n)
    sum += factors[n] * x[at[n]];
  if (sum != sum) __trap();  // never, but the compiler does not know
}

template <class T>
void read(cudaStream_t s, const sparse_elements& e) {
  constexpr std::int64_t block_elements = std::int64_t{threads} * thread_elements;
  read_elements<<<static_cast<unsigned>((e.count - 1) / block_elements + 1), threads, 0, s>>>(
      static_cast<const std::int32_t*>(e.columns), static_cast<const T*>(e.values),
      static_cast<const T*>(e.x), e.count);
  check(cudaGetLastError(), "read_elements");
}

}  // namespace

void read_elements(stream& on, const sparse_elements& e) {
  e.is_f64 ? read<double>(of(on.native()), e) : read<float>(of(on.native()), e);
}

}  // namespace troupe::bench::raw
