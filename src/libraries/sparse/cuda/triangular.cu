#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/launch.cuh"
#include "libraries/sparse/cuda/kernels/report.cuh"
#include "libraries/sparse/cuda/kernels/values.cuh"
#include "libraries/sparse/shared/triangles.hpp"

#include <troupe/sparse/triangular.hpp>

#include <cuda/atomic>

#include <algorithm>

// One warp per unknown, in the order of the solution. A warp takes its number when it begins, so
// every unknown that it waits for belongs to a warp that has begun before. Source: W. Liu et al.,
// "A synchronization-free algorithm for parallel sparse triangular solves", Euro-Par 2016.
namespace troupe::cuda {
namespace {

constexpr unsigned threads = 256;
constexpr int warp = 32;

/// A system as kernels see it. T: as `device_t`.
template <class T>
struct system {
  sparse::pattern p;
  sparse::triangle shape;
  const T* values;
  const T* b;
  T* x;
  std::int64_t n;
  std::int64_t nrhs;
  std::int64_t b_row, b_column, x_row, x_column;  ///< strides
  T alpha;
  T* diagonal = nullptr;
  T* sums = nullptr;  ///< [n, nrhs], for solving by columns
  /// By rows: 1 if the unknown is solved. By columns: the number of unknowns that it still waits
  /// for.
  int* waits = nullptr;
  place* next = nullptr;  ///< the first step that no warp has begun
  place* zero = nullptr;  ///< the first row whose diagonal is zero

  [[nodiscard]] __device__ T value(std::int64_t k) const {
    return shape.conjugated ? conjugate_of(values[k]) : values[k];
  }
  [[nodiscard]] __device__ T right(std::int64_t i, std::int64_t c) const {
    return alpha * b[i * b_row + c * b_column];
  }
};

using flag = ::cuda::atomic_ref<int, ::cuda::thread_scope_device>;

/// Waits until the number is `wanted`. Everything written before that change is then visible.
__device__ void await(int* number, int wanted) {
  while (flag(*number).load(::cuda::memory_order_acquire) != wanted) {
  }
}

/// Takes the next step for this warp.
__device__ std::int64_t begin_step(place* next) {
  place step = 0;
  if (threadIdx.x % warp == 0) step = atomicAdd(next, 1);
  return static_cast<std::int64_t>(__shfl_sync(~0u, step, 0));
}

/// Sums up the diagonal; by columns, counts what each unknown waits for.
template <class T>
__global__ void __launch_bounds__(threads) inspect(system<T> s) {
  const int lane = static_cast<int>(threadIdx.x) % warp;
  const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * (threads / warp);
  for (std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x) / warp;
       i < s.n; i += warps) {
    const slot_range range = range_of(s.p, i);
    T sum{};
    for (std::int64_t k = range.begin + lane; k < range.end; k += warp) {
      const std::int64_t j = s.p.indices[k];
      if (j == i) {
        sum = sum + s.value(k);
      } else if (!s.shape.by_rows && is_inside(j, s.n) && s.shape.has(i, j)) {
        atomicAdd(s.waits + j, 1);
      }
    }
    sum = warp_sum(sum);
    if (lane != 0) continue;
    s.diagonal[i] = sum;
    if (!s.shape.unit && is_zero(sum)) atomicMin(s.zero, static_cast<place>(i));
  }
}

template <class T>
__device__ T divided(const system<T>& s, std::int64_t i, T v) {
  return s.shape.unit ? v : v / s.diagonal[i];
}

/// Majors are rows: computes an unknown from the others in its row.
template <class T>
__device__ void solve_row(const system<T>& s, std::int64_t i, int lane) {
  const slot_range range = range_of(s.p, i);
  if (s.nrhs == 1) {
    T sum{};
    for (std::int64_t k = range.begin + lane; k < range.end; k += warp) {
      const std::int64_t j = s.p.indices[k];
      if (!is_inside(j, s.n) || !s.shape.has(i, j)) continue;
      await(s.waits + j, 1);
      sum = sum + s.value(k) * s.x[j * s.x_row];
    }
    __syncwarp();
    sum = warp_sum(sum);
    if (lane == 0) s.x[i * s.x_row] = divided(s, i, s.right(i, 0) - sum);
    return;
  }
  for (std::int64_t c = lane; c < s.nrhs; c += warp) {
    T rest = s.right(i, c);
    for (std::int64_t k = range.begin; k < range.end; ++k) {
      const std::int64_t j = s.p.indices[k];
      if (!is_inside(j, s.n) || !s.shape.has(i, j)) continue;
      await(s.waits + j, 1);
      rest = rest - s.value(k) * s.x[j * s.x_row + c * s.x_column];
    }
    s.x[i * s.x_row + c * s.x_column] = divided(s, i, rest);
  }
}

template <class T>
__global__ void __launch_bounds__(threads) solve_by_rows(system<T> s) {
  const int lane = static_cast<int>(threadIdx.x) % warp;
  for (std::int64_t step = begin_step(s.next); step < s.n; step = begin_step(s.next)) {
    const std::int64_t i = s.shape.major_of(step, s.n);
    solve_row(s, i, lane);
    // Makes the stores of all lanes visible before the flag says that the unknown is solved.
    __threadfence();
    __syncwarp();
    if (lane == 0) flag(s.waits[i]).store(1, ::cuda::memory_order_release);
  }
}

/// Majors are columns: subtracts a solved unknown from all others in its column.
template <class T>
__device__ void solve_column(const system<T>& s, std::int64_t i, int lane) {
  const slot_range range = range_of(s.p, i);
  await(s.waits + i, 0);
  if (s.nrhs == 1) {
    const T x = divided(s, i, s.right(i, 0) - s.sums[i]);
    __syncwarp();  // x may be b
    if (lane == 0) s.x[i * s.x_row] = x;
    for (std::int64_t k = range.begin + lane; k < range.end; k += warp) {
      const std::int64_t j = s.p.indices[k];
      if (!is_inside(j, s.n) || !s.shape.has(i, j)) continue;
      add_atomically(s.sums + j, s.value(k) * x);
      __threadfence();
      atomicSub(s.waits + j, 1);
    }
    return;
  }
  for (std::int64_t c = lane; c < s.nrhs; c += warp) {
    s.x[i * s.x_row + c * s.x_column] = divided(s, i, s.right(i, c) - s.sums[i * s.nrhs + c]);
  }
  for (std::int64_t k = range.begin; k < range.end; ++k) {
    const std::int64_t j = s.p.indices[k];
    if (!is_inside(j, s.n) || !s.shape.has(i, j)) continue;
    const T v = s.value(k);
    for (std::int64_t c = lane; c < s.nrhs; c += warp)
      add_atomically(s.sums + j * s.nrhs + c, v * s.x[i * s.x_row + c * s.x_column]);
    __threadfence();
    __syncwarp();
    if (lane == 0) atomicSub(s.waits + j, 1);
  }
}

template <class T>
__global__ void __launch_bounds__(threads) solve_by_columns(system<T> s) {
  const int lane = static_cast<int>(threadIdx.x) % warp;
  for (std::int64_t step = begin_step(s.next); step < s.n; step = begin_step(s.next))
    solve_column(s, s.shape.major_of(step, s.n), lane);
}

__global__ void conclude(const __grid_constant__ pattern_report report, const place* zero,
                         const __grid_constant__ late_words zero_before,
                         const __grid_constant__ late_words zero_after, late_failure failure) {
  if (report.write(failure) || *zero == nowhere) return;
  failure.write(errc::numerical, zero_before, static_cast<std::int64_t>(*zero), zero_after);
}

/// As many warps as the device runs at once, so that no waiting warp keeps another from starting;
/// at most one per row.
std::int64_t blocks_for(std::int64_t rows, const lane& where) noexcept {
  constexpr std::int64_t rows_of_a_block = threads / warp;
  return std::clamp<std::int64_t>((rows + rows_of_a_block - 1) / rows_of_a_block, 1,
                                  std::int64_t{8} * where.multiprocessors());
}

template <class T, class R>
result<void> solve(const R& r, lane& where, late_failure failure) {
  using device = device_t<T>;
  const bool matrix = r.x.rank() == 2;
  const std::int64_t n = r.a.rows;
  const std::int64_t nrhs = matrix ? r.x.extent(1) : 1;
  system<device> s{.p = sparse::pattern_of(r.a),
                   .shape = sparse::triangle(r),
                   .values = on_device(r.a.values.template data<T>()),
                   .b = on_device(static_cast<const T*>(r.b.template data<T>())),
                   .x = on_device(r.x.template data<T>()),
                   .n = n,
                   .nrhs = nrhs,
                   .b_row = r.b.stride(0),
                   .b_column = matrix ? r.b.stride(1) : 1,
                   .x_row = r.x.stride(0),
                   .x_column = matrix ? r.x.stride(1) : 1,
                   .alpha = value_of(r.alpha.template as<T>())};
  call_frame c(where);
  const auto first_fault = c.array<place>(1);
  const auto zero = c.array<place>(1);
  const auto next = c.array<place>(1);  // zeros from here …
  const auto waits = c.array<int>(n);
  const auto sums = c.array<device>(s.shape.by_rows ? 0 : n * nrhs);
  const auto diagonal = c.array<device>(n);  // … to here
  TRY(c.begin());
  s.zero = zero;
  s.next = next;
  s.waits = waits;
  s.sums = sums;
  s.diagonal = diagonal;
  constexpr auto claim = sparse::pattern_claim::places;
  const std::int64_t blocks = blocks_for(n, where);
  const cudaStream_t stream = where.stream();
  TRY(check(cudaMemsetAsync(zero, 0xff, sizeof(place), stream), "cudaMemsetAsync"));
  TRY(check(cudaMemsetAsync(next, 0, bytes_between(next, diagonal), stream), "cudaMemsetAsync"));
  TRY(enqueue_pattern_check(r.a, claim, first_fault, stream));
  TRY(launch(inspect<device>, blocks, threads, stream, s));
  if (nrhs > 0) {
    TRY(launch(s.shape.by_rows ? solve_by_rows<device> : solve_by_columns<device>, blocks, threads,
               stream, s));
  }
  return launch(conclude, 1, 1, stream, pattern_report(r.a, claim, first_fault), s.zero,
                late_words(sparse::zero_diagonal_before), late_words(sparse::zero_diagonal_after),
                failure);
}

template <class R>
result<void> run_solve(const R& r, lane& where, late_failure failure) {
  switch (r.x.type()) {
    case dtype::f64:
      return solve<double>(r, where, failure);
    case dtype::c64:
      return solve<std::complex<float>>(r, where, failure);
    case dtype::c128:
      return solve<std::complex<double>>(r, where, failure);
    default:
      return solve<float>(r, where, failure);
  }
}

const plugin_operations operations([](operation_table& table) {
  add<sparse::spsv>(table, run_solve<sparse::spsv>);
  add<sparse::spsm>(table, run_solve<sparse::spsm>);
});

}  // namespace
}  // namespace troupe::cuda
