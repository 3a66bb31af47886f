#include "base/try.hpp"
#include "libraries/blas/cuda/call.hpp"
#include "libraries/solver/cuda/kernels/list.cuh"
#include "libraries/solver/cuda/kernels/shaping.hpp"

namespace troupe::cuda {
namespace {

template <class D>
__global__ void __launch_bounds__(threads_per_block)
    shape_elements(matrix_list<D> m, triangle_shape as) {
  for (std::int64_t flat = first_step(); flat < m.elements(); flat += step_width()) {
    const auto i = m.index_of(flat);
    if (i.row == i.column) {
      if (as.unit_diagonal) make_one(m.at(i));
      if (as.real_diagonal) make_real(m.at(i));
    } else if (as.zero_other && (as.upper ? i.row > i.column : i.row < i.column)) {
      m.at(i) = D{};
    }
  }
}

template <class D>
__global__ void __launch_bounds__(threads_per_block) mirror(matrix_list<D> m, bool upper) {
  for (std::int64_t flat = first_step(); flat < m.elements(); flat += step_width()) {
    const auto i = m.index_of(flat);
    if (upper ? i.row <= i.column : i.row >= i.column) continue;
    m.at(i) = conjugate_of(m.at({i.matrix, i.column, i.row}));
  }
}

template <class D>
__global__ void __launch_bounds__(threads_per_block) identity(matrix_list<D> m) {
  for (std::int64_t flat = first_step(); flat < m.elements(); flat += step_width()) {
    const auto i = m.index_of(flat);
    D value{};
    if (i.row == i.column) make_one(value);
    m.at(i) = value;
  }
}

template <class D>
__global__ void __launch_bounds__(threads_per_block) conjugate_all(matrix_list<D> m) {
  for (std::int64_t flat = first_step(); flat < m.elements(); flat += step_width()) {
    D& value = m.at(m.index_of(flat));
    value = conjugate_of(value);
  }
}

/// Returns i + 1 for the first i below `n` whose diagonal element `is_bad`, or 0, in every thread
/// of the block.
template <class D, class F>
__device__ std::int32_t first_on_diagonal(const matrix_list<D>& m, std::int64_t b, std::int64_t n,
                                          F is_bad) {
  unsigned long long mine = ~0ull;
  for (std::int64_t i = threadIdx.x; i < n && mine == ~0ull; i += threads_per_block) {
    if (is_bad(m.at({b, i, i}))) mine = static_cast<unsigned long long>(i);
  }
  return static_cast<std::int32_t>(lowest_of_block(mine) + 1);
}

// Blocks take one matrix each, in turn.
template <class D>
__global__ void __launch_bounds__(threads_per_block)
    first_zero(matrix_list<D> m, std::int32_t* info) {
  const std::int64_t n = m.rows < m.columns ? m.rows : m.columns;
  for (std::int64_t b = blockIdx.x; b < m.count; b += gridDim.x) {
    const std::int32_t found = first_on_diagonal(m, b, n, [](const D& v) { return is_zero(v); });
    if (threadIdx.x == 0) info[b] = found;
  }
}

__device__ bool is_nan(float v) { return isnan(v); }
__device__ bool is_nan(double v) { return isnan(v); }
template <class R>
__device__ bool is_nan(complex_value<R> v) {
  return isnan(v.re);
}

// Blocks take one matrix each, in turn.
template <class D>
__global__ void __launch_bounds__(threads_per_block)
    first_nan(matrix_list<D> m, std::int32_t* info) {
  for (std::int64_t b = blockIdx.x; b < m.count; b += gridDim.x) {
    const std::int64_t n = info[b] > 0 ? info[b] - 1 : m.rows;
    const std::int32_t found = first_on_diagonal(m, b, n, [](const D& v) { return is_nan(v); });
    if (threadIdx.x == 0 && found != 0) info[b] = found;
  }
}

/// The positions of the matrices of a tensor with any strides.
template <class D>
struct spread_matrices {
  const D* first = nullptr;
  std::int64_t row = 0;
  std::int64_t column = 0;
  std::int64_t extents[max_rank]{};
  std::int64_t strides[max_rank]{};
  int batch_rank = 0;

  explicit spread_matrices(const any_tensor& t) : batch_rank(t.rank() - 2) {
    first = reinterpret_cast<const D*>(t.address());
    row = t.stride(t.rank() - 2);
    column = t.stride(t.rank() - 1);
    for (int d = 0; d < batch_rank; ++d) {
      extents[d] = t.extent(d);
      strides[d] = t.stride(d);
    }
  }
  [[nodiscard]] __device__ D at(std::int64_t matrix, std::int64_t i, std::int64_t j) const {
    std::int64_t offset = i * row + j * column;
    for (int d = batch_rank - 1; d >= 0; --d) {
      offset += matrix % extents[d] * strides[d];
      matrix /= extents[d];
    }
    return first[offset];
  }
};

template <class D>
__global__ void __launch_bounds__(threads_per_block)
    restore(matrix_list<D> m, const __grid_constant__ spread_matrices<D> old,
            const std::int32_t* info) {
  for (std::int64_t flat = first_step(); flat < m.elements(); flat += step_width()) {
    const auto i = m.index_of(flat);
    if (info[i.matrix] != 0) m.at(i) = old.at(i.matrix, i.row, i.column);
  }
}

template <class D>
__global__ void __launch_bounds__(threads_per_block)
    restore_others(matrix_list<D> m, const __grid_constant__ spread_matrices<D> old,
                   triangle_shape as) {
  for (std::int64_t flat = first_step(); flat < m.elements(); flat += step_width()) {
    const auto i = m.index_of(flat);
    const bool beside = i.row == i.column ? as.unit_diagonal
                        : as.upper        ? i.row > i.column
                                          : i.row < i.column;
    if (beside) m.at(i) = old.at(i.matrix, i.row, i.column);
  }
}

/// True if the element belongs to that part.
__device__ bool is_in(part looked_at, std::int64_t row, std::int64_t column) {
  return looked_at == part::all || (looked_at == part::upper ? row <= column : row >= column);
}

template <class D>
__global__ void __launch_bounds__(threads_per_block)
    flag_not_finite(matrix_list<D> m, part looked_at, std::uint32_t* flags) {
  for (std::int64_t flat = first_step(); flat < m.elements(); flat += step_width()) {
    const auto i = m.index_of(flat);
    if (!is_in(looked_at, i.row, i.column)) continue;
    D value = m.at(i);
    if (looked_at != part::all && i.row == i.column) make_real(value);
    if (!is_finite(value)) atomicOr(flags + i.matrix, 1u);
  }
}

template <class D>
__global__ void __launch_bounds__(threads_per_block)
    zero_flagged(matrix_list<D> m, const std::uint32_t* flags) {
  for (std::int64_t flat = first_step(); flat < m.elements(); flat += step_width()) {
    const auto i = m.index_of(flat);
    if (flags[i.matrix] != 0) m.at(i) = D{};
  }
}

__device__ float largest_part(float v) { return fabsf(v); }
__device__ double largest_part(double v) { return fabs(v); }
template <class R>
__device__ R largest_part(complex_value<R> v) {
  return fmax(largest_part(v.re), largest_part(v.im));
}
__device__ void multiply(float& v, float by) { v *= by; }
__device__ void multiply(double& v, double by) { v *= by; }
template <class R>
__device__ void multiply(complex_value<R>& v, R by) {
  v.re *= by;
  v.im *= by;
}

/// Half the range of exponents, less the digits that a sum of squares needs. Source: LAPACK xGESVD.
template <class R>
constexpr int largest_exponent = sizeof(R) == sizeof(double) ? 459 : 40;
/// The largest scale whose inverse is not subnormal.
template <class R>
constexpr int largest_scale = sizeof(R) == sizeof(double) ? 1022 : 126;

__device__ std::uint32_t bits_of(float v) { return __float_as_uint(v); }
__device__ unsigned long long bits_of(double v) {
  return static_cast<unsigned long long>(__double_as_longlong(v));
}

/// Stores the largest element of each matrix in `scales`, which must be clear. Numbers that are not
/// negative compare like their bits. Blocks take one column each, in turn.
template <class D, class R>
__global__ void __launch_bounds__(threads_per_block)
    find_largest(matrix_list<D> m, part looked_at, R* scales) {
  using bits = decltype(bits_of(R{}));
  __shared__ bits largest;
  for (std::int64_t flat = blockIdx.x; flat < m.columns * m.count; flat += gridDim.x) {
    const std::int64_t b = flat / m.columns;
    const std::int64_t j = flat % m.columns;
    R mine = 0;
    for (std::int64_t i = threadIdx.x; i < m.rows; i += threads_per_block) {
      if (is_in(looked_at, i, j)) mine = fmax(mine, largest_part(m.at({b, i, j})));
    }
    if (threadIdx.x == 0) largest = 0;
    __syncthreads();
    if (mine > 0) atomicMax(&largest, bits_of(mine));
    __syncthreads();
    if (threadIdx.x == 0 && largest > 0) atomicMax(reinterpret_cast<bits*>(scales + b), largest);
    __syncthreads();
  }
}

/// Replaces the largest element of each matrix by its scale.
template <class R>
__global__ void __launch_bounds__(threads_per_block) choose_scales(R* scales, std::int64_t count) {
  for (std::int64_t b = first_step(); b < count; b += step_width()) {
    const int exponent = scales[b] > 0 ? ilogb(scales[b]) : 0;
    const bool is_far = abs(exponent) > largest_exponent<R>;
    const int by = max(-largest_scale<R>, min(-exponent, largest_scale<R>));
    scales[b] = is_far ? ldexp(R{1}, by) : R{1};
  }
}

template <class D, class R>
__global__ void __launch_bounds__(threads_per_block)
    multiply_by_scales(matrix_list<D> m, const R* scales) {
  for (std::int64_t flat = first_step(); flat < m.elements(); flat += step_width()) {
    const auto i = m.index_of(flat);
    if (scales[i.matrix] != 1) multiply(m.at(i), scales[i.matrix]);
  }
}

template <class R>
__global__ void __launch_bounds__(threads_per_block)
    divide_each(R* numbers, std::int64_t each, std::int64_t count, const R* scales) {
  for (std::int64_t flat = first_step(); flat < each * count; flat += step_width())
    numbers[flat] /= scales[flat / each];
}

/// Calls `f` with the list in its type, unless it is empty.
template <class F>
result<void> on_list(const matrices& m, F f) {
  if (m.elements() == 0) return {};
  return for_classic_type(m.type, [&]<class T>(T) { return f(list_of<T>(m)); });
}

}  // namespace

result<void> shape_triangle(const matrices& m, const triangle_shape& as, lane& where) {
  return on_list(m, [&]<class D>(matrix_list<D> list) {
    return launch(where, "shape_elements", shape_elements<D>, blocks_for(where, m.elements()), list,
                  as);
  });
}

result<void> mirror_triangle(const matrices& m, bool upper, lane& where) {
  return on_list(m, [&]<class D>(matrix_list<D> list) {
    return launch(where, "mirror", mirror<D>, blocks_for(where, m.elements()), list, upper);
  });
}

result<void> fill_identity(const matrices& m, lane& where) {
  return on_list(m, [&]<class D>(matrix_list<D> list) {
    return launch(where, "identity", identity<D>, blocks_for(where, m.elements()), list);
  });
}

result<void> conjugate(const matrices& m, lane& where) {
  if (!is_complex(m.type)) return {};
  return on_list(m, [&]<class D>(matrix_list<D> list) {
    return launch(where, "conjugate_all", conjugate_all<D>, blocks_for(where, m.elements()), list);
  });
}

result<void> find_zero_on_diagonal(const matrices& m, std::int32_t* info, lane& where) {
  if (m.count == 0) return {};
  return for_classic_type(m.type, [&]<class T>(T) {
    return launch(where, "first_zero", first_zero<device_t<T>>,
                  blocks_for(where, m.count * threads_per_block), list_of<T>(m), info);
  });
}

result<void> find_nan_on_diagonal(const matrices& m, std::int32_t* info, lane& where) {
  return on_list(m, [&]<class D>(matrix_list<D> list) {
    return launch(where, "first_nan", first_nan<D>, blocks_for(where, m.count * threads_per_block),
                  list, info);
  });
}

result<void> restore_where_failed(const matrices& m, const any_tensor& old,
                                  const std::int32_t* info, lane& where) {
  return on_list(m, [&]<class D>(matrix_list<D> list) {
    return launch(where, "restore", restore<D>, blocks_for(where, m.elements()), list,
                  spread_matrices<D>(old), info);
  });
}

result<void> restore_beside(const matrices& m, const any_tensor& old, const triangle_shape& as,
                            lane& where) {
  return on_list(m, [&]<class D>(matrix_list<D> list) {
    return launch(where, "restore_others", restore_others<D>, blocks_for(where, m.elements()), list,
                  spread_matrices<D>(old), as);
  });
}

result<void> set_aside_not_finite(const matrices& m, part looked_at, std::uint32_t* flags,
                                  lane& where) {
  return on_list(m, [&]<class D>(matrix_list<D> list) -> result<void> {
    const unsigned blocks = blocks_for(where, m.elements());
    TRY(launch(where, "flag_not_finite", flag_not_finite<D>, blocks, list, looked_at, flags));
    return launch(where, "zero_flagged", zero_flagged<D>, blocks, list, flags);
  });
}

result<void> scale_into_range(const matrices& m, part looked_at, std::byte* scales, lane& where) {
  if (m.elements() == 0) return {};
  return for_classic_type(m.type, [&]<class T>(T) -> result<void> {
    using real = real_t<T>;
    auto* const its = reinterpret_cast<real*>(scales);
    TRY(clear(scales, m.count * static_cast<std::int64_t>(sizeof(real)), where));
    TRY(launch(where, "find_largest", find_largest<device_t<T>, real>,
               blocks_for(where, m.columns * m.count * threads_per_block), list_of<T>(m), looked_at,
               its));
    TRY(launch(where, "choose_scales", choose_scales<real>, blocks_for(where, m.count), its,
               m.count));
    return launch(where, "multiply_by_scales", multiply_by_scales<device_t<T>, real>,
                  blocks_for(where, m.elements()), list_of<T>(m), static_cast<const real*>(its));
  });
}

result<void> divide_by_scales(const matrices& m, std::byte* numbers, std::int64_t each,
                              const std::byte* scales, lane& where) {
  if (each * m.count == 0) return {};
  return for_classic_type(m.type, [&]<class T>(T) {
    return launch(where, "divide_each", divide_each<real_t<T>>, blocks_for(where, each * m.count),
                  reinterpret_cast<real_t<T>*>(numbers), each, m.count,
                  reinterpret_cast<const real_t<T>*>(scales));
  });
}

result<void> clear(void* at, std::int64_t bytes, lane& where) {
  if (bytes == 0) return {};
  return check(cudaMemsetAsync(at, 0, static_cast<std::size_t>(bytes), where.stream()),
               "cudaMemsetAsync");
}

}  // namespace troupe::cuda
