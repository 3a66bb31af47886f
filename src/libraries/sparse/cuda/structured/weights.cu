#include "backend/cuda/context/late_failure.cuh"
#include "backend/cuda/context/launch.cuh"
#include "base/try.hpp"
#include "libraries/sparse/cuda/structured/weights.hpp"
#include "libraries/sparse/shared/structured_groups.hpp"

#include <algorithm>

namespace troupe::cuda {
namespace {

using place = unsigned long long;  // the 64-bit type of atomicMin
static_assert(sizeof(place) == sizeof(std::uint64_t));
constexpr place nowhere = ~place{0};
constexpr unsigned threads = 256;

/// Weights that a kernel visits group by group.
template <class Bits>
struct weights {
  Bits* first;
  std::int64_t rows;
  std::int64_t groups;  ///< per row
  std::int64_t row_stride;
  std::int64_t column_stride;
  bool integer;
  bool in_vectors;  ///< a group is one aligned word

  explicit weights(const any_tensor& x) noexcept
      : first(reinterpret_cast<Bits*>(x.address())),
        rows(x.extent(0)),
        groups(x.extent(1) / sparse::structured_group),
        row_stride(x.stride(0)),
        column_stride(x.stride(1)),
        integer(x.type() == dtype::i8) {
    constexpr std::int64_t word = sizeof(sparse::weight_group<Bits>);
    in_vectors = column_stride == 1 && reinterpret_cast<std::uintptr_t>(first) % word == 0 &&
                 (rows <= 1 || row_stride % sparse::structured_group == 0);
  }

  [[nodiscard]] __device__ Bits* at(std::int64_t row, std::int64_t group) const {
    return first + row * row_stride + group * sparse::structured_group * column_stride;
  }
  [[nodiscard]] __device__ sparse::weight_group<Bits> load(std::int64_t row,
                                                           std::int64_t group) const {
    const Bits* const from = at(row, group);
    sparse::weight_group<Bits> all;
    if (in_vectors) {
      using word = std::conditional_t<sizeof(Bits) == 1, std::uint32_t, uint2>;
      *reinterpret_cast<word*>(&all) = *reinterpret_cast<const word*>(from);
    } else {
      for (int q = 0; q < all.size; ++q)
        all.elements[q] = from[q * column_stride];
    }
    return all;
  }
  __device__ void store(std::int64_t row, std::int64_t group,
                        const sparse::weight_group<Bits>& all) const {
    Bits* const to = at(row, group);
    if (in_vectors) {
      using word = std::conditional_t<sizeof(Bits) == 1, std::uint32_t, uint2>;
      *reinterpret_cast<word*>(to) = *reinterpret_cast<const word*>(&all);
    } else {
      for (int q = 0; q < all.size; ++q)
        to[q * column_stride] = all.elements[q];
    }
  }
};

/// Calls `f(row, group)` for all groups. Consecutive groups are neighbours in memory.
template <class Index, class Bits, class F>
__device__ void walk_groups(const weights<Bits>& x, F f) {
  const auto rows = static_cast<Index>(x.rows);
  const auto groups = static_cast<Index>(x.groups);
  const Index step = static_cast<Index>(gridDim.x) * threads;
  for (Index flat = static_cast<Index>(blockIdx.x) * threads + threadIdx.x; flat < rows * groups;
       flat += step) {
    if (x.column_stride == 1) {
      f(flat / groups, flat % groups);
    } else {
      f(flat % rows, flat / rows);
    }
  }
}
/// Uses 32-bit indices if possible: 64-bit division would dominate the time.
template <class Bits, class F>
__device__ void for_each_group(const weights<Bits>& x, F f) {
  if (x.rows * x.groups < (std::int64_t{1} << 30)) {
    walk_groups<std::uint32_t>(x, f);
  } else {
    walk_groups<std::uint64_t>(x, f);
  }
}

template <class Bits>
__global__ void __launch_bounds__(threads) prune(weights<Bits> x, weights<Bits> y) {
  for_each_group(x, [&](std::int64_t row, std::int64_t group) {
    auto all = x.load(row, group);
    all.prune(x.integer);
    y.store(row, group, all);
  });
}

template <class Bits>
__global__ void __launch_bounds__(threads) find(weights<Bits> x, place* first_bad) {
  place mine = nowhere;
  for_each_group(x, [&](std::int64_t row, std::int64_t group) {
    if (x.load(row, group).filled(x.integer) <= 2) return;
    mine = min(mine, static_cast<place>(row * x.groups + group));
  });
  if (mine != nowhere) atomicMin(first_bad, mine);
}

template <class Bits>
__global__ void conclude(weights<Bits> x, const place* first_bad, sparse::structured_stamp stamp,
                         sparse::structured_stamp* compressed, late_failure failure) {
  const bool good = *first_bad == nowhere;
  if (compressed != nullptr) {
    if (!good) stamp.magic = 0;
    *compressed = stamp;
  }
  if (good) return;
  const auto flat = static_cast<std::int64_t>(*first_bad);
  const std::int64_t row = flat / x.groups;
  const std::int64_t column = flat % x.groups * sparse::structured_group;
  const std::int64_t filled = x.load(row, flat % x.groups).filled(x.integer);
  failure.write(errc::invalid_argument, "weights [", row, ", ", column, " to ", column + 3,
                "]: ", filled, " are not zero, 2 of 4 may be");
}

__global__ void check_made_of(const sparse::structured_stamp* found,
                              sparse::structured_stamp expected, bool of_any_maker,
                              const __grid_constant__ late_words other_weights,
                              const __grid_constant__ late_words other_version,
                              late_failure failure) {
  const std::int64_t maker = expected.maker;
  expected.maker = found->maker;
  if (*found != expected) {
    failure.write(errc::invalid_argument, other_weights);
  } else if (!of_any_maker && found->maker != maker) {
    failure.write(errc::invalid_argument, other_version);
  }
}

/// Enough blocks to fill the device several times over. Threads loop over further groups.
std::int64_t blocks_for(const any_tensor& x, const lane& where) noexcept {
  const std::int64_t groups = x.count() / sparse::structured_group;
  return std::clamp<std::int64_t>((groups + threads - 1) / threads, 1,
                                  std::int64_t{16} * where.multiprocessors());
}

template <class F>
auto with_bits(dtype type, F f) {
  return size_of(type) == 1 ? f(std::uint8_t{}) : f(std::uint16_t{});
}

}  // namespace

result<void> prune_weights(const any_tensor& x, const any_tensor& y, lane& where) {
  return with_bits(x.type(), [&]<class Bits>(Bits) {
    return launch(prune<Bits>, blocks_for(x, where), threads, where.stream(), weights<Bits>(x),
                  weights<Bits>(y));
  });
}

result<void> find_bad_group(const any_tensor& x, std::uint64_t* first_bad, lane& where) {
  TRY(check(cudaMemsetAsync(first_bad, 0xff, sizeof *first_bad, where.stream()),
            "cudaMemsetAsync"));
  return with_bits(x.type(), [&]<class Bits>(Bits) {
    return launch(find<Bits>, blocks_for(x, where), threads, where.stream(), weights<Bits>(x),
                  reinterpret_cast<place*>(first_bad));
  });
}

result<void> conclude_weights(const any_tensor& x, const std::uint64_t* first_bad,
                              const sparse::structured_stamp& stamp, std::byte* compressed,
                              late_failure failure, lane& where) {
  return with_bits(x.type(), [&]<class Bits>(Bits) {
    return launch(conclude<Bits>, 1, 1, where.stream(), weights<Bits>(x),
                  reinterpret_cast<const place*>(first_bad), stamp,
                  reinterpret_cast<sparse::structured_stamp*>(compressed), failure);
  });
}

result<void> check_stamp(const std::byte* compressed, const sparse::structured_stamp& stamp,
                         bool of_any_maker, late_failure failure, lane& where) {
  return launch(check_made_of, 1, 1, where.stream(),
                reinterpret_cast<const sparse::structured_stamp*>(compressed), stamp, of_any_maker,
                late_words(sparse::not_of_weights), late_words(sparse::of_another_version),
                failure);
}

}  // namespace troupe::cuda
