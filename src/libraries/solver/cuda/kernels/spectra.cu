#include "backend/cuda/context/late_failure.cuh"
#include "base/try.hpp"
#include "libraries/blas/cuda/call.hpp"
#include "libraries/solver/cuda/kernels/list.cuh"
#include "libraries/solver/cuda/kernels/spectra.hpp"

#include <cmath>

namespace troupe::cuda {
namespace {

struct wanted {
  solver::eigen_range range;
  double lower, upper;
  std::int64_t first;
  std::int64_t room;  ///< for each matrix's eigenvalues
  std::int64_t n;
  std::int64_t count;
};

// Eigenvalues are ascending.
template <class R>
__device__ std::int64_t how_many_at_most(const R* w, std::int64_t n, double bound) {
  std::int64_t low = 0;
  std::int64_t high = n;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (static_cast<double>(w[middle]) <= bound) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Blocks take one matrix each, in turn.
template <class R>
__global__ void __launch_bounds__(threads_per_block)
    choose(const R* all, const __grid_constant__ wanted what, const std::uint32_t* flags, chosen to,
           R* w, std::int64_t* counts) {
  for (std::int64_t b = blockIdx.x; b < what.count; b += gridDim.x) {
    const R* const its = all + b * what.n;
    const bool none = flags[b] != 0;
    std::int64_t first = 0;
    std::int64_t found = none ? 0 : what.room;
    if (what.range == solver::eigen_range::indices) first = what.first;
    if (what.range == solver::eigen_range::values && !none) {
      first = how_many_at_most(its, what.n, what.lower);
      found = how_many_at_most(its, what.n, what.upper) - first;
    }
    for (std::int64_t i = threadIdx.x; i < what.room; i += threads_per_block)
      w[b * what.room + i] = i < found ? its[first + i] : static_cast<R>(NAN);
    if (threadIdx.x != 0) continue;
    to.first[b] = first;
    to.found[b] = found;
    if (counts != nullptr) counts[b] = found;
    atomicMax(to.most, static_cast<unsigned long long>(found));
  }
}

template <class D>
__global__ void __launch_bounds__(threads_per_block)
    choose_vectors(matrix_list<D> from, chosen which, matrix_list<D> to) {
  for (std::int64_t flat = first_step(); flat < to.elements(); flat += step_width()) {
    const auto i = to.index_of(flat);
    D value{};
    if (i.column < which.found[i.matrix]) {
      value = from.at({i.matrix, i.row, which.first[i.matrix] + i.column});
    }
    to.at(i) = value;
  }
}

__global__ void tell_capacity(const unsigned long long* most, std::int64_t room,
                              late_failure failure) {
  if (threadIdx.x != 0 || static_cast<std::int64_t>(*most) <= room) return;
  failure.write(errc::capacity_exceeded, "needs ", static_cast<std::int64_t>(*most),
                " elements of w, which has ", room);
}

template <class R>
__global__ void __launch_bounds__(threads_per_block)
    copy_leading(const R* from, std::int64_t values, R* to, std::int64_t kept, std::int64_t count) {
  for (std::int64_t flat = first_step(); flat < kept * count; flat += step_width())
    to[flat] = from[flat / kept * values + flat % kept];
}

// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
__device__ std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}
__device__ double2 normal_pair(std::uint64_t seed, std::uint64_t place) {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15ull;
  const std::uint64_t begin = mixed(seed + odd);
  const double u =
      (static_cast<double>(mixed(begin + (2 * place + 1) * odd) >> 11) + 0.5) * 0x1p-53;
  const double v = static_cast<double>(mixed(begin + (2 * place + 2) * odd) >> 11) * 0x1p-53;
  const double radius = sqrt(-2 * log(u));
  double sine = 0;
  double cosine = 0;
  sincospi(2 * v, &sine, &cosine);
  return {radius * cosine, radius * sine};
}
__device__ void set_normal(float& to, double2 pair) { to = static_cast<float>(pair.x); }
__device__ void set_normal(double& to, double2 pair) { to = pair.x; }
template <class R>
__device__ void set_normal(complex_value<R>& to, double2 pair) {
  to = {static_cast<R>(pair.x), static_cast<R>(pair.y)};
}

template <class D>
__global__ void __launch_bounds__(threads_per_block) normal(matrix_list<D> m, std::uint64_t seed) {
  for (std::int64_t flat = first_step(); flat < m.elements(); flat += step_width()) {
    const auto i = m.index_of(flat);
    set_normal(m.at(i), normal_pair(seed, static_cast<std::uint64_t>(i.column * m.rows + i.row)));
  }
}

__device__ float divided(float v, float by) { return v / by; }
__device__ double divided(double v, double by) { return v / by; }
template <class R>
__device__ complex_value<R> divided(complex_value<R> v, R by) {
  return {v.re / by, v.im / by};
}

template <class D, class R>
__global__ void __launch_bounds__(threads_per_block)
    divide(matrix_list<D> c, const R* s, std::int64_t values, R rcond) {
  for (std::int64_t flat = first_step(); flat < c.elements(); flat += step_width()) {
    const auto i = c.index_of(flat);
    const R* const its = s + i.matrix * values;
    D& value = c.at(i);
    value = its[i.row] > rcond * its[0] ? divided(value, its[i.row]) : D{};
  }
}
template <class R>
__global__ void __launch_bounds__(threads_per_block)
    count_values(const R* s, std::int64_t values, std::int64_t count, R rcond,
                 const std::uint32_t* flags, std::int32_t* rank) {
  for (std::int64_t b = first_step(); b < count; b += step_width()) {
    const R* const its = s + b * values;
    std::int32_t left = 0;
    for (std::int64_t i = 0; flags[b] == 0 && i < values; ++i)
      left += its[i] > rcond * its[0] ? 1 : 0;
    rank[b] = left;
  }
}

// The first eigenvalue of a pair has a positive imaginary part. An eigenvalue is the first of its
// pair if the number of complex ones before it is even, so columns can be processed independently.
template <class R>
__global__ void __launch_bounds__(threads_per_block)
    spread(matrix_list<R> from, const complex_value<R>* w, matrix_list<complex_value<R>> to,
           std::int64_t matrix) {
  for (std::int64_t flat = first_step(); flat < to.rows * to.columns; flat += step_width()) {
    const std::int64_t row = flat % to.rows;
    const std::int64_t j = flat / to.rows;
    complex_value<R> value{from.at({matrix, row, j}), 0};
    if (w[j].im > 0 && j + 1 < to.columns) {
      value.im = from.at({matrix, row, j + 1});
    } else if (w[j].im < 0 && j > 0) {
      value = {from.at({matrix, row, j - 1}), -from.at({matrix, row, j})};
    }
    to.at({matrix, row, j}) = value;
  }
}

// A single block. Each eigenvalue takes the nearest of those that are left. This takes n² steps,
// which is little beside the n³ of the eigenvalues.
template <class R>
__global__ void __launch_bounds__(threads_per_block)
    match(const complex_value<R>* other, const complex_value<R>* w, std::int64_t n,
          std::int32_t* taken, std::int32_t* from) {
  __shared__ R distances[threads_per_block];
  __shared__ std::int32_t places[threads_per_block];
  for (std::int64_t j = threadIdx.x; j < n; j += threads_per_block)
    taken[j] = 0;
  __syncthreads();
  for (std::int64_t i = 0; i < n; ++i) {
    R best = INFINITY;
    std::int32_t place = -1;
    for (std::int64_t j = threadIdx.x; j < n; j += threads_per_block) {
      if (taken[j] != 0) continue;
      const R re = other[j].re - w[i].re;
      const R im = -other[j].im - w[i].im;
      const R distance = hypot(re, im);  // a square could overflow or underflow
      if (place < 0 || distance < best) {
        best = distance;
        place = static_cast<std::int32_t>(j);
      }
    }
    distances[threadIdx.x] = best;
    places[threadIdx.x] = place;
    __syncthreads();
    for (unsigned half = threads_per_block / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) {
        const unsigned with = threadIdx.x + half;
        const bool is_nearer = places[with] >= 0 && (places[threadIdx.x] < 0 ||
                                                     distances[with] < distances[threadIdx.x]);
        if (is_nearer) {
          distances[threadIdx.x] = distances[with];
          places[threadIdx.x] = places[with];
        }
      }
      __syncthreads();
    }
    if (threadIdx.x == 0) {
      from[i] = places[0];
      taken[places[0]] = 1;
    }
    __syncthreads();
  }
}
template <class R>
__global__ void __launch_bounds__(threads_per_block)
    gather(matrix_list<complex_value<R>> from, const std::int32_t* which,
           matrix_list<complex_value<R>> to, std::int64_t matrix) {
  for (std::int64_t flat = first_step(); flat < to.rows * to.columns; flat += step_width()) {
    const std::int64_t row = flat % to.rows;
    const std::int64_t j = flat / to.rows;
    to.at({matrix, row, j}) = from.at({matrix, row, which[j]});
  }
}

template <class R>
__global__ void __launch_bounds__(threads_per_block)
    conjugate_each(complex_value<R>* values, std::int64_t count) {
  for (std::int64_t i = first_step(); i < count; i += step_width())
    values[i].im = -values[i].im;
}

template <class F>
result<void> for_real(dtype type, F f) {
  return type == dtype::f32 || type == dtype::c64 ? f(float{}) : f(double{});
}

}  // namespace

result<void> choose_eigenvalues(const solver::eigh& r, const std::byte* w,
                                const std::uint32_t* flags, const chosen& to, lane& where) {
  const wanted what{.range = r.range,
                    .lower = r.lower,
                    .upper = r.upper,
                    .first = r.first,
                    .room = r.w.extent(r.w.rank() - 1),
                    .n = columns_of(r.a),
                    .count = cuda::batch_of(r.a)};
  auto* const counts = r.count.null() ? nullptr : r.count.data<std::int64_t>();
  return for_real(r.w.type(), [&]<class R>(R) {
    return launch(where, "choose", choose<R>, blocks_for(where, what.count * threads_per_block),
                  reinterpret_cast<const R*>(w), what, flags, to, r.w.data<R>(), counts);
  });
}

result<void> choose_columns(const matrices& from, const chosen& which, const matrices& to,
                            lane& where) {
  if (to.elements() == 0) return {};
  return for_classic_type(to.type, [&]<class T>(T) {
    return launch(where, "choose_vectors", choose_vectors<device_t<T>>,
                  blocks_for(where, to.elements()), list_of<T>(from), which, list_of<T>(to));
  });
}

result<void> report_capacity(const chosen& of, std::int64_t room, late_failure failure,
                             lane& where) {
  return launch(where, "tell_capacity", tell_capacity, 1, of.most, room, failure);
}

result<void> copy_first(const std::byte* from, std::int64_t values, const any_tensor& to,
                        lane& where) {
  const std::int64_t kept = to.extent(to.rank() - 1);
  if (to.empty()) return {};
  return for_real(to.type(), [&]<class R>(R) {
    return launch(where, "copy_leading", copy_leading<R>, blocks_for(where, to.count()),
                  reinterpret_cast<const R*>(from), values, to.data<R>(), kept, to.count() / kept);
  });
}

result<void> fill_normal(const matrices& m, std::uint64_t seed, lane& where) {
  if (m.elements() == 0) return {};
  return for_classic_type(m.type, [&]<class T>(T) {
    return launch(where, "normal", normal<device_t<T>>, blocks_for(where, m.elements()),
                  list_of<T>(m), seed);
  });
}

result<void> divide_by_values(const matrices& c, const std::byte* s, std::int64_t values,
                              double rcond, std::int32_t* rank, const std::uint32_t* flags,
                              lane& where) {
  return for_classic_type(c.type, [&]<class T>(T) -> result<void> {
    using real = real_t<T>;
    const auto* const its = reinterpret_cast<const real*>(s);
    if (c.elements() > 0) {
      TRY(launch(where, "divide", divide<device_t<T>, real>, blocks_for(where, c.elements()),
                 list_of<T>(c), its, values, static_cast<real>(rcond)));
    }
    if (rank == nullptr) return {};
    return launch(where, "count_values", count_values<real>, blocks_for(where, c.count), its,
                  values, c.count, static_cast<real>(rcond), flags, rank);
  });
}

result<void> spread_vectors(const matrices& from, const std::byte* w, const matrices& to,
                            std::int64_t matrix, lane& where) {
  return for_real(from.type, [&]<class R>(R) {
    return launch(where, "spread", spread<R>, blocks_for(where, to.rows * to.columns),
                  list_of<R>(from), reinterpret_cast<const complex_value<R>*>(w),
                  list_of<std::complex<R>>(to), matrix);
  });
}

result<void> match_vectors(const matrices& from, const std::byte* other, const std::byte* w,
                           std::int32_t* taken, const matrices& to, std::int64_t matrix,
                           lane& where) {
  const std::int64_t n = to.columns;
  return for_real(from.type, [&]<class R>(R) -> result<void> {
    std::int32_t* const which = taken + n;
    TRY(launch(where, "match", match<R>, 1, reinterpret_cast<const complex_value<R>*>(other),
               reinterpret_cast<const complex_value<R>*>(w), n, taken, which));
    return launch(where, "gather", gather<R>, blocks_for(where, to.rows * n),
                  list_of<std::complex<R>>(from), which, list_of<std::complex<R>>(to), matrix);
  });
}

result<void> conjugate_values(std::byte* at, dtype type, std::int64_t count, lane& where) {
  if (count == 0) return {};
  return for_real(type, [&]<class R>(R) {
    return launch(where, "conjugate_each", conjugate_each<R>, blocks_for(where, count),
                  reinterpret_cast<complex_value<R>*>(at), count);
  });
}

}  // namespace troupe::cuda
