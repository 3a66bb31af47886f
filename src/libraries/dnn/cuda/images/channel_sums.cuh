#pragma once

#include "libraries/dnn/cuda/images/images.cuh"

/// Two sums per channel over all images and all of space, in two steps: each block sums a part of
/// the elements, then one block per channel adds the parts. The order follows from shapes alone.
namespace troupe::cuda {

/// The moments of a channel's elements: count, mean, and sum of squared distances from the mean.
/// Means are relative to the channel's origin, so that no precision is lost if they are far from 0.
template <class Real>
struct moments {
  Real count = 0;
  Real first = 0;   ///< the mean, less the origin
  Real second = 0;  ///< Σ (x − mean)²

  /// Source: Chan, Golub, LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample
  /// Variances", 1979.
  __device__ __forceinline__ void take(const moments& other) {
    if (other.count == 0) return;
    const Real all = count + other.count;
    const Real share = other.count / all;
    const Real apart = other.first - first;
    first += apart * share;
    second += other.second + apart * apart * (count * share);
    count = all;
  }
};
/// Σ dy and Σ dy · (x − mean).
template <class Real>
struct products {
  Real count = 0;
  Real first = 0;
  Real second = 0;

  __device__ __forceinline__ void take(const products& other) {
    count += other.count;
    first += other.first;
    second += other.second;
  }
};

/// Accumulates the sums of a thread in parts of a few elements. `take` adds the first `valid` of
/// `N` elements; at least one.
template <template <class> class Sums, class Real>
class sums_in_parts;

/// A part is summed relative to its first element, which avoids a division per element.
template <class Real>
class sums_in_parts<moments, Real> {
 public:
  template <int N>
  __device__ __forceinline__ void take(const Real (&x)[N], const Real (&)[N], int valid,
                                       Real origin) {
    if (count_ == 0) shift_ = x[0];
    origin_ = origin;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const Real apart = i < valid ? x[i] - shift_ : Real{0};
      sum_ += apart;
      squares_ += apart * apart;
    }
    count_ += static_cast<Real>(valid);
  }
  __device__ __forceinline__ void end_part() {
    if (count_ == 0) return;
    const Real average = sum_ / count_;
    const Real squares = squares_ - sum_ * average;
    all_.take({count_, (shift_ - origin_) + average, squares < 0 ? Real{0} : squares});
    sum_ = squares_ = count_ = 0;
  }
  [[nodiscard]] __device__ __forceinline__ const moments<Real>& all() const { return all_; }

 private:
  moments<Real> all_;
  Real origin_ = 0;
  Real shift_ = 0;
  Real sum_ = 0;
  Real squares_ = 0;
  Real count_ = 0;
};
template <class Real>
class sums_in_parts<products, Real> {
 public:
  template <int N>
  __device__ __forceinline__ void take(const Real (&x)[N], const Real (&dy)[N], int valid,
                                       Real mean) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const Real gradient = i < valid ? dy[i] : Real{0};
      all_.first += gradient;
      all_.second += i < valid ? gradient * (x[i] - mean) : Real{0};
    }
  }
  __device__ __forceinline__ void end_part() {}
  [[nodiscard]] __device__ __forceinline__ const products<Real>& all() const { return all_; }

 private:
  products<Real> all_;
};

template <template <class> class Sums, class Real>
__device__ __forceinline__ Sums<Real> shuffled_down(const Sums<Real>& s, int lanes) {
  return {__shfl_down_sync(0xffffffffu, s.count, lanes),
          __shfl_down_sync(0xffffffffu, s.first, lanes),
          __shfl_down_sync(0xffffffffu, s.second, lanes)};
}
/// The sums of all lanes of a warp; only the first lane's result is valid.
template <template <class> class Sums, class Real>
__device__ __forceinline__ Sums<Real> sums_of_warp(Sums<Real> mine) {
#pragma unroll
  for (int half = 16; half > 0; half /= 2)
    mine.take(shuffled_down<Sums, Real>(mine, half));
  return mine;
}
/// The sums of all threads of a block; only the first thread's result is valid.
template <template <class> class Sums, class Real>
__device__ Sums<Real> sums_of_block(Sums<Real> mine) {
  constexpr int warps = image_threads / 32;
  __shared__ Sums<Real> of_warps[warps];
  mine = sums_of_warp<Sums, Real>(mine);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x < 32) {
    mine = threadIdx.x < warps ? of_warps[threadIdx.x] : Sums<Real>{};
#pragma unroll
    for (int half = warps / 2; half > 0; half /= 2)
      mine.take(shuffled_down<Sums, Real>(mine, half));
  }
  return mine;
}

/// The origin of the channel's moments: its first element. The channel must not be empty.
template <class T>
__device__ __forceinline__ image_real<T> origin_of(const image_view& x, std::int64_t c) {
  return real_of(x.elements<T>()[c * x.c_step]);
}

/// The operands of the sums.
struct sum_operands {
  image_view x, dy;
  std::int64_t channels = 0;
  std::int64_t columns = 1;  ///< extent of the last spatial dimension
  std::int64_t parts = 1;
  image_places each;     ///< places of one channel: pieces of lines, or all if channels are inside
  void* sums = nullptr;  ///< [channels][parts]
  const void* mean = nullptr;  ///< products only
};

/// The vectors that each thread takes of a piece of a line.
inline constexpr int vectors_each = 4;
/// The steps that a thread adds up for one part of its sums.
inline constexpr int times_of_part = 4;

/// The first of the `all` places that belong to this block's part.
__device__ __forceinline__ std::int64_t part_begin(std::int64_t all, std::int64_t parts,
                                                   std::int64_t part) {
  const std::int64_t rest = all % parts;
  return all / parts * part + (part < rest ? part : rest);
}

// One block per part of one channel. `across` threads take each piece of a line.
template <template <class> class Sums, class T, int V>
__global__ void __launch_bounds__(image_threads)
    sum_lines(const __grid_constant__ sum_operands p, int across) {
  using real = image_real<T>;
  const std::int64_t c = blockIdx.x % p.channels;
  const std::int64_t part = blockIdx.x / p.channels;
  const std::int64_t begin = part_begin(p.each.count, p.parts, part);
  const std::int64_t end = part_begin(p.each.count, p.parts, part + 1);
  const int lane = static_cast<int>(threadIdx.x) % across;
  real mean = 0;
  if (begin < end)
    mean = p.mean == nullptr ? origin_of<T>(p.x, c) : static_cast<const real*>(p.mean)[c];
  sums_in_parts<Sums, real> mine;
  int times = 0;
  for (std::int64_t i = begin + static_cast<int>(threadIdx.x) / across; i < end;
       i += static_cast<int>(image_threads) / across) {
    image_place at = p.each.at(i);
    at.w += lane * V;
    const T* const line = p.x.elements<T>() + c * p.x.c_step + at.in(p.x);
    const T* const gradients =
        p.dy.given() ? p.dy.elements<T>() + c * p.dy.c_step + at.in(p.dy) : nullptr;
    real x[vectors_each * V];
    real dy[vectors_each * V] = {};
    int valid = 0;
#pragma unroll
    for (int g = 0; g < vectors_each; ++g) {
      const std::int64_t column = g * across * V;
      if (at.w + column >= p.columns) break;
      real one[V];
      load_pack<T, V>(line + column * p.x.steps[2], one);
      copy_pack(one, x, g * V);
      if (gradients != nullptr) {
        load_pack<T, V>(gradients + column * p.dy.steps[2], one);
        copy_pack(one, dy, g * V);
      }
      valid += V;
    }
    if (valid > 0) mine.take(x, dy, valid, mean);
    if (++times % times_of_part == 0) mine.end_part();
  }
  mine.end_part();
  const Sums<real> all = sums_of_block<Sums, real>(mine.all());
  if (threadIdx.x == 0) static_cast<Sums<real>*>(p.sums)[c * p.parts + part] = all;
}

// One block per group of channels and part of the rows, with V channels per thread.
template <template <class> class Sums, class T, int V>
__global__ void __launch_bounds__(image_threads)
    sum_rows(const __grid_constant__ sum_operands p, int threads_across) {
  using real = image_real<T>;
  constexpr int group = 4;  // rows that are taken together
  __shared__ real shared[image_threads * V * 3];
  const int across = static_cast<int>(threadIdx.x) % threads_across;
  const int down = static_cast<int>(threadIdx.x) / threads_across;
  const int rows_down = image_threads / threads_across;
  const std::int64_t units = p.channels / V;
  const std::int64_t strips = (units - 1) / threads_across + 1;
  const std::int64_t c = (blockIdx.x % strips * threads_across + across) * V;
  const std::int64_t part = blockIdx.x / strips;
  const std::int64_t begin = part_begin(p.each.count, p.parts, part);
  const std::int64_t end = part_begin(p.each.count, p.parts, part + 1);
  const bool with_dy = p.dy.given();
  sums_in_parts<Sums, real> mine[V];
  if (c < p.channels) {
    real mean[V] = {};
#pragma unroll
    for (int v = 0; v < V && begin < end; ++v) {
      mean[v] =
          p.mean == nullptr ? origin_of<T>(p.x, c + v) : static_cast<const real*>(p.mean)[c + v];
    }
    int times = 0;
    for (std::int64_t i = begin + down; i < end; i += std::int64_t{rows_down} * group) {
      real x[group][V];
      real dy[group][V];
      int valid = 0;
#pragma unroll
      for (int g = 0; g < group; ++g) {
        const std::int64_t flat = i + std::int64_t{g} * rows_down;
        if (flat >= end) break;
        const image_place at = p.each.at(flat);
        load_pack<T, V>(p.x.elements<T>() + c + at.in(p.x), x[g]);
        if (with_dy) load_pack<T, V>(p.dy.elements<T>() + c + at.in(p.dy), dy[g]);
        ++valid;
      }
#pragma unroll
      for (int v = 0; v < V; ++v) {
        real column[group];
        real gradients[group];
#pragma unroll
        for (int g = 0; g < group; ++g) {
          column[g] = g < valid ? x[g][v] : real{0};
          gradients[g] = with_dy && g < valid ? dy[g][v] : real{0};
        }
        mine[v].take(column, gradients, valid, mean[v]);
      }
      if (++times % times_of_part != 0) continue;
#pragma unroll
      for (int v = 0; v < V; ++v)
        mine[v].end_part();
    }
#pragma unroll
    for (int v = 0; v < V; ++v)
      mine[v].end_part();
  }
#pragma unroll
  for (int v = 0; v < V; ++v) {
    real* const to = shared + (threadIdx.x * V + v) * 3;
    to[0] = mine[v].all().count;
    to[1] = mine[v].all().first;
    to[2] = mine[v].all().second;
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < threads_across * V; i += image_threads) {
    const std::int64_t channel = blockIdx.x % strips * threads_across * V + i;
    if (channel >= p.channels) continue;
    Sums<real> all;
    for (int row = 0; row < rows_down; ++row) {
      const real* const from = shared + (row * threads_across * V + i) * 3;
      all.take(Sums<real>{from[0], from[1], from[2]});
    }
    static_cast<Sums<real>*>(p.sums)[channel * p.parts + part] = all;
  }
}

/// The sum over all parts of this warp's channel; only the first lane's result is valid.
template <template <class> class Sums, class Real>
__device__ Sums<Real> sums_of_channel(const void* sums, std::int64_t c, std::int64_t parts) {
  Sums<Real> mine;
  for (std::int64_t part = threadIdx.x % 32; part < parts; part += 32)
    mine.take(static_cast<const Sums<Real>*>(sums)[c * parts + part]);
  return sums_of_warp<Sums, Real>(mine);
}

}  // namespace troupe::cuda
