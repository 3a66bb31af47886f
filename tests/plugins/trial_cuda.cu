#include "trial.hpp"

#include <troupe/plugin/cuda.hpp>
#include <troupe/plugin/static_registration.hpp>

#include <cuda_runtime.h>

#include <atomic>
#include <stdexcept>
#include <string_view>

namespace trial {
namespace {

using troupe::lane_context;
using troupe::result;
using troupe::cuda::lane;

constexpr int threads = 256;

__device__ std::uint64_t now_ns() {
  std::uint64_t time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

__global__ void affine_elements(const float* x, std::int64_t x_stride, float* y,
                                std::int64_t y_stride, std::int64_t n, double a, double b,
                                const std::uint32_t* until, std::int64_t at_most_ns) {
  if (threadIdx.x == 0 && until != nullptr) {
    const std::uint64_t begin = now_ns();
    while (*static_cast<const volatile std::uint32_t*>(until) == 0 &&
           now_ns() - begin < static_cast<std::uint64_t>(at_most_ns))
      __nanosleep(500);
    __threadfence_system();
  }
  __syncthreads();
  for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x)
    y[i * y_stride] = static_cast<float>(a * static_cast<double>(x[i * x_stride]) + b);
}

__global__ void sum_elements(const float* x, std::int64_t stride, std::int64_t n, double* sum) {
  double all = 0;
  for (std::int64_t i = 0; i < n; ++i)
    all += static_cast<double>(x[i * stride]);
  *sum = all;
}

__global__ void write_nowhere() { *reinterpret_cast<volatile float*>(8) = 1.0F; }

result<void> run_affine(const affine& r, lane& where) {
  affine_elements<<<1, threads, 0, where.stream()>>>(
      r.x.data<float>(), r.x.stride(0), r.y.data<float>(), r.y.stride(0), r.x.extent(0), r.a, r.b,
      r.until.null() ? nullptr : r.until.data<std::uint32_t>(), longest_wait_ns);
  return where.outcome_of(cudaGetLastError(), "affine_elements");
}

result<void> run_total(const total& r, lane& where, double* sum) {
  sum_elements<<<1, 1, 0, where.stream()>>>(r.x.data<float>(), r.x.stride(0), r.x.extent(0), sum);
  return where.outcome_of(cudaGetLastError(), "sum_elements");
}

result<void> run_misdeed(const misdeed& r, lane& where) {
  switch (r.what) {
    case deed::crash:
      write_nowhere<<<1, 1, 0, where.stream()>>>();
      break;
    case deed::throw_exception:
      throw std::runtime_error("thrown by a plugin");
    case deed::be_refused:
      write_nowhere<<<1, 100'000, 0, where.stream()>>>();  // more threads than a block has
      break;
  }
  return where.outcome_of(cudaGetLastError(), "write_nowhere");
}

std::atomic<std::int64_t> times{0};

result<void> run_times_warm(const times_warm&, lane&, std::int64_t* reply) {
  *reply = times.load();
  return {};
}

const troupe::plugin_operations operations([](troupe::operation_table& table) {
  troupe::cuda::add(table, &run_affine);
  troupe::cuda::add(table, &run_total);
  troupe::cuda::add(table, &run_misdeed);
  troupe::cuda::add(table, &run_times_warm);
});

// Loading a kernel waits for those that run, which wait for their flags.
const troupe::plugin_warm_up warm_up([](lane_context& of_worker) -> result<void> {
  auto& where = static_cast<lane&>(of_worker);
  auto room = where.workspace(1000);
  if (!room) return std::move(room).error();
  ++times;
  for (const void* const kernel : {reinterpret_cast<const void*>(&affine_elements),
                                   reinterpret_cast<const void*>(&sum_elements),
                                   reinterpret_cast<const void*>(&write_nowhere)}) {
    cudaFuncAttributes of_kernel;
    auto loaded =
        where.outcome_of(cudaFuncGetAttributes(&of_kernel, kernel), "cudaFuncGetAttributes");
    if (!loaded) return loaded;
  }
  return {};
});

}  // namespace
}  // namespace trial
