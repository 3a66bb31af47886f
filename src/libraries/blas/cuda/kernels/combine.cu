#include "libraries/blas/cuda/kernels/combine.hpp"
#include "libraries/blas/cuda/kernels/factors.cuh"
#include "libraries/blas/cuda/kernels/launch.cuh"

#include <algorithm>
#include <complex>
#include <utility>

namespace troupe::cuda {
namespace {

// A block does tiles of 32 × 32 elements, 32 × 8 at a time. Wherever possible, neighbouring threads
// stand on neighbouring elements: `inner` is the dimension in which c does.
constexpr int tile = 32;
constexpr int depth = threads_per_block / tile;
constexpr int steps = tile / depth;

template <class D>
using wide_t = decltype(widened(std::declval<D>()));

template <class D>
struct term {
  const D* first = nullptr;
  std::int64_t inner = 0;
  std::int64_t outer = 0;
  std::int64_t batch = 0;
  std::int64_t inner_valid = 0;
  std::int64_t outer_valid = 0;
  wide_t<D> factor{};
  weight how = weight::zero;
  bool conjugated = false;
  bool across = false;  ///< its elements are neighbours in the outer dimension: through the tile
};

struct tiling {
  std::int64_t inner = 0;  ///< extents, in elements
  std::int64_t outer = 0;
  std::int64_t inner_tiles = 0;
  std::int64_t outer_tiles = 0;
  std::int64_t tiles = 0;
};

template <class W>
__device__ W conjugate_if(W v, bool conjugated) {
  if constexpr (!std::is_arithmetic_v<W>) {
    if (conjugated) return conjugate_of(v);
  }
  return v;
}

/// Adds the term's part of one tile to the sums of this thread's elements.
template <class D>
__device__ void accumulate(const term<D>& from, D (&shared)[tile][tile + 1], std::int64_t inner0,
                           std::int64_t outer0, std::int64_t batch, wide_t<D> (&sums)[steps]) {
  if (from.how == weight::zero) return;
  const int x = static_cast<int>(threadIdx.x) % tile;
  const int y = static_cast<int>(threadIdx.x) / tile;
  const D* const first = from.first + batch * from.batch;
  if (from.across) {
    __syncthreads();  // the tile's last content has been read
    for (int s = 0; s < steps; ++s) {
      const std::int64_t inner = inner0 + y + s * depth;
      if (inner < from.inner_valid && outer0 + x < from.outer_valid) {
        shared[y + s * depth][x] = first[inner * from.inner + (outer0 + x) * from.outer];
      }
    }
    __syncthreads();
  }
  for (int s = 0; s < steps; ++s) {
    const std::int64_t outer = outer0 + y + s * depth;
    if (inner0 + x >= from.inner_valid || outer >= from.outer_valid) continue;
    const D element = from.across ? shared[x][y + s * depth]
                                  : first[(inner0 + x) * from.inner + outer * from.outer];
    wide_t<D> value = conjugate_if(widened(element), from.conjugated);
    if (from.how == weight::any) value = from.factor * value;
    sums[s] = sums[s] + value;
  }
}

template <class D>
__global__ void __launch_bounds__(threads_per_block)
    combine_tiles(D* c, std::int64_t c_inner, std::int64_t c_outer, std::int64_t c_batch, tiling of,
                  term<D> a, term<D> b) {
  // As bytes, because shared memory takes no constructors.
  __shared__ alignas(16) unsigned char memory[tile * (tile + 1) * sizeof(D)];
  auto& shared = *reinterpret_cast<D(*)[tile][tile + 1]>(memory);
  for (std::int64_t t = blockIdx.x; t < of.tiles; t += gridDim.x) {
    const std::int64_t rest = t / of.inner_tiles;
    const std::int64_t batch = rest / of.outer_tiles;
    const std::int64_t inner0 = t % of.inner_tiles * tile;
    const std::int64_t outer0 = rest % of.outer_tiles * tile;
    wide_t<D> sums[steps] = {};
    accumulate(a, shared, inner0, outer0, batch, sums);
    accumulate(b, shared, inner0, outer0, batch, sums);
    const std::int64_t inner = inner0 + threadIdx.x % tile;
    for (int s = 0; s < steps; ++s) {
      const std::int64_t outer = outer0 + threadIdx.x / tile + s * depth;
      if (inner >= of.inner || outer >= of.outer) continue;
      c[batch * c_batch + inner * c_inner + outer * c_outer] = narrowed<D>::from(sums[s]);
    }
  }
}

/// Whether neighbouring threads stand in one column of c, or in one row: along its unit stride.
bool along_columns(const batch_extents& extents, const batch_place& c) noexcept {
  if (extents.rows == 1 || extents.columns == 1) return extents.columns == 1;
  if (c.row == 1 || c.column == 1) return c.row == 1;
  return extents.rows >= extents.columns;
}

template <class T>
term<device_t<T>> term_of(const batch_term& t, const batch_extents& extents, bool columns) {
  const weighted_factor<T> factor(t.factor);
  term<device_t<T>> made{
      .first = reinterpret_cast<const device_t<T>*>(t.place.first),
      .inner = t.place.row,
      .outer = t.place.column,
      .batch = t.place.batch,
      .inner_valid = t.valid.rows < 0 ? extents.rows : std::min(t.valid.rows, extents.rows),
      .outer_valid =
          t.valid.columns < 0 ? extents.columns : std::min(t.valid.columns, extents.columns),
      .factor = factor.value,
      .how = factor.how,
      .conjugated = t.conjugated};
  if (!columns) {
    std::swap(made.inner, made.outer);
    std::swap(made.inner_valid, made.outer_valid);
  }
  made.across = made.inner != 1 && made.outer == 1 && made.inner_valid > 1;
  return made;
}

template <class T>
result<void> combine_as(lane& where, const batch_extents& extents, const batch_place& c,
                        const batch_term& a, const batch_term& b) {
  const bool columns = along_columns(extents, c);
  tiling of{.inner = columns ? extents.rows : extents.columns,
            .outer = columns ? extents.columns : extents.rows};
  of.inner_tiles = (of.inner + tile - 1) / tile;
  of.outer_tiles = (of.outer + tile - 1) / tile;
  of.tiles = of.inner_tiles * of.outer_tiles * extents.count;
  return launch(where, "combine_tiles", combine_tiles<device_t<T>>,
                blocks_for(where, of.tiles * threads_per_block),
                reinterpret_cast<device_t<T>*>(c.first), columns ? c.row : c.column,
                columns ? c.column : c.row, c.batch, of, term_of<T>(a, extents, columns),
                term_of<T>(b, extents, columns));
}

}  // namespace

batch_extents extents_of(const any_tensor& t) noexcept {
  const int rows = t.rank() - 2;
  return {t.extent(rows), t.extent(rows + 1), rows == 0 ? 1 : t.extent(0)};
}

batch_place place_of(const any_tensor& t) noexcept {
  const int rows = t.rank() - 2;
  return {t.address(), t.stride(rows), t.stride(rows + 1), rows == 0 ? 0 : t.stride(0)};
}

result<void> combine(lane& where, dtype type, const batch_extents& extents, const batch_place& c,
                     const batch_term& a, const batch_term& b) {
  if (extents.rows == 0 || extents.columns == 0 || extents.count == 0) return {};
  switch (type) {
    case dtype::f32:
      return combine_as<float>(where, extents, c, a, b);
    case dtype::f64:
      return combine_as<double>(where, extents, c, a, b);
    case dtype::c64:
      return combine_as<std::complex<float>>(where, extents, c, a, b);
    case dtype::c128:
      return combine_as<std::complex<double>>(where, extents, c, a, b);
    case dtype::f16:
      return combine_as<f16>(where, extents, c, a, b);
    case dtype::bf16:
      return combine_as<bf16>(where, extents, c, a, b);
    case dtype::i32:
      return combine_as<std::uint32_t>(where, extents, c, a, b);
    case dtype::i8:
      return combine_as<std::int8_t>(where, extents, c, a, b);
    default:
      return error{.code = errc::type_mismatch, .message = "no sums of this type"};
  }
}

result<void> scale(lane& where, const any_tensor& c, const scalar& beta) {
  if (beta.as<std::complex<double>>() == 1.0) return {};
  return combine(where, c.type(), extents_of(c), place_of(c),
                 {.place = place_of(c), .factor = beta});
}

}  // namespace troupe::cuda
