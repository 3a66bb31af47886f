#pragma once

#include "libraries/solver/cuda/kernels/banded.hpp"
#include "libraries/solver/cuda/kernels/block.cuh"

/// Band solves by a block of threads, a column of the matrix at a time.
namespace troupe::cuda {

/// One system of a batch.
template <class D>
struct band_system {
  D* band;
  D* x;
  std::int64_t n;
  std::int64_t nrhs;
  std::int64_t ld;
  std::int64_t ldx;
  std::int64_t kl;
  std::int64_t ku;

  __device__ band_system(const matrices& storage, const matrices& sides, std::int64_t lower,
                         std::int64_t upper, std::int64_t matrix)
      : band(reinterpret_cast<D*>(storage.first) + matrix * storage.step),
        x(reinterpret_cast<D*>(sides.first) + matrix * sides.step),
        n(sides.rows),
        nrhs(sides.columns),
        ld(storage.ld),
        ldx(sides.ld),
        kl(lower),
        ku(upper) {}

  [[nodiscard]] __device__ D& stored(std::int64_t row, std::int64_t j) const {
    return band[j * ld + row];
  }
};

/// Calls `f(i, j)` for 1 ≤ i ≤ m and 0 ≤ j < n, in turn by the threads.
template <class F>
__device__ void for_pairs(int t, std::int64_t m, std::int64_t n, const F& f) {
  for (std::int64_t flat = t; flat < m * n; flat += matrix_threads)
    f(flat % m + 1, flat / m);
}

/// Solves with U, whose diagonal is in row kl + ku.
template <class Block, class D>
__device__ void substitute_back(const Block& block, const band_system<D>& s) {
  for (std::int64_t j = s.n - 1; j >= 0; --j) {
    block.each([&](int t) {
      for (std::int64_t r = t; r < s.nrhs; r += matrix_threads) {
        D& at = s.x[r * s.ldx + j];
        at = quotient(at, s.stored(s.kl + s.ku, j));
      }
    });
    block.each([&](int t) {
      for_pairs(t, s.kl + s.ku < j ? s.kl + s.ku : j, s.nrhs, [&](std::int64_t i, std::int64_t r) {
        D* const at = s.x + r * s.ldx + j;
        at[-i] = at[-i] - s.stored(s.kl + s.ku - i, j) * at[0];
      });
    });
  }
}

/// LU with partial pivoting, as xGBTF2 computes it, and the solution. Returns LAPACK's info, in
/// every thread.
template <class Block, class D>
__device__ std::int32_t solve_by_lu(const Block& block, block_memory<D>& shared,
                                    const band_system<D>& s) {
  const std::int64_t diagonal = s.kl + s.ku;  // its row; exchanges of rows fill kl rows above
  block.each([&](int t) {
    for_pairs(t, s.kl, s.n, [&](std::int64_t i, std::int64_t j) { s.stored(i - 1, j) = D{}; });
  });
  std::int32_t info = 0;
  std::int64_t last = 0;  // the last column that rows up to here reach
  for (std::int64_t j = 0; j < s.n; ++j) {
    const std::int64_t below = s.kl < s.n - 1 - j ? s.kl : s.n - 1 - j;
    find_largest(block, shared, below + 1,
                 [&](std::int64_t i) { return sum_of_parts(s.stored(diagonal + i, j)); });
    block.each([&](int t) {
      if (t != 0) return;
      shared.place = shared.places[0];
      shared.pivot = s.stored(diagonal + shared.place, j);
    });
    const std::int64_t pivot = shared.place;
    const bool is_zero = real_in(shared.pivot) == 0 && imaginary_in(shared.pivot) == 0;
    const std::int64_t reached = j + s.ku + pivot < s.n - 1 ? j + s.ku + pivot : s.n - 1;
    last = reached > last ? reached : last;
    block.each([&](int t) {
      if (pivot == 0 || is_zero) return;
      for (std::int64_t c = t; c <= last - j; c += matrix_threads) {
        D& upper = s.stored(diagonal - c, j + c);
        D& lower = s.stored(diagonal + pivot - c, j + c);
        const D held = upper;
        upper = lower;
        lower = held;
      }
      for (std::int64_t r = t; r < s.nrhs; r += matrix_threads) {
        D* const at = s.x + r * s.ldx + j;
        const D held = at[0];
        at[0] = at[pivot];
        at[pivot] = held;
      }
    });
    block.each([&](int t) {
      for (std::int64_t i = t + 1; i <= below && !is_zero; i += matrix_threads)
        s.stored(diagonal + i, j) = quotient(s.stored(diagonal + i, j), shared.pivot);
    });
    block.each([&](int t) {
      if (is_zero) return;
      const auto factor = [&](std::int64_t i) { return s.stored(diagonal + i, j); };
      for_pairs(t, below, last - j, [&](std::int64_t i, std::int64_t c) {
        D& to = s.stored(diagonal + i - c - 1, j + c + 1);
        to = to - factor(i) * s.stored(diagonal - c - 1, j + c + 1);
      });
      for_pairs(t, below, s.nrhs, [&](std::int64_t i, std::int64_t r) {
        D* const at = s.x + r * s.ldx + j;
        at[i] = at[i] - factor(i) * at[0];
      });
    });
    if (is_zero && info == 0) info = static_cast<std::int32_t>(j + 1);
  }
  if (info == 0) substitute_back(block, s);
  return info;
}

/// The lower triangle of a Hermitian band matrix of which either one is stored.
template <class D, bool Upper>
struct lower_band {
  const band_system<D>& s;

  /// Element [j + i, j].
  [[nodiscard]] __device__ D get(std::int64_t i, std::int64_t j) const {
    if constexpr (Upper) return conjugate_of(s.stored(s.ku - i, j + i));
    return s.stored(i, j);
  }
  __device__ void put(std::int64_t i, std::int64_t j, D v) const {
    if constexpr (Upper) {
      s.stored(s.ku - i, j + i) = conjugate_of(v);
    } else {
      s.stored(i, j) = v;
    }
  }
};

/// Cholesky, and the solution. ku is the number of diagonals beside the main one. Returns LAPACK's
/// info, in every thread.
template <bool Upper, class Block, class D>
__device__ std::int32_t solve_by_cholesky(const Block& block, block_memory<D>& shared,
                                          const band_system<D>& s) {
  using real = real_value_t<D>;
  const lower_band<D, Upper> a{s};
  for (std::int64_t j = 0; j < s.n; ++j) {
    const std::int64_t below = s.ku < s.n - 1 - j ? s.ku : s.n - 1 - j;
    block.each([&](int t) {
      if (t != 0) return;
      const real square_of_it = real_in(a.get(0, j));
      shared.info = square_of_it > 0 ? 0 : static_cast<std::int32_t>(j + 1);
      shared.pivot = from_parts<D>(std::sqrt(square_of_it > 0 ? square_of_it : real{1}), 0);
      a.put(0, j, shared.pivot);
    });
    if (shared.info != 0) return shared.info;
    block.each([&](int t) {
      const real by = real_in(shared.pivot);
      for (std::int64_t i = t + 1; i <= below; i += matrix_threads)
        a.put(i, j, divided(a.get(i, j), by));
      for (std::int64_t r = t; r < s.nrhs; r += matrix_threads)
        s.x[r * s.ldx + j] = divided(s.x[r * s.ldx + j], by);
    });
    block.each([&](int t) {
      for_pairs(t, below, below, [&](std::int64_t i, std::int64_t c) {
        if (i <= c) return;
        a.put(i - c - 1, j + c + 1,
              a.get(i - c - 1, j + c + 1) - a.get(i, j) * conjugate_of(a.get(c + 1, j)));
      });
      for_pairs(t, below, s.nrhs, [&](std::int64_t i, std::int64_t r) {
        D* const at = s.x + r * s.ldx + j;
        at[i] = at[i] - a.get(i, j) * at[0];
      });
    });
  }
  for (std::int64_t j = s.n - 1; j >= 0; --j) {
    block.each([&](int t) {
      for (std::int64_t r = t; r < s.nrhs; r += matrix_threads)
        s.x[r * s.ldx + j] = divided(s.x[r * s.ldx + j], real_in(a.get(0, j)));
    });
    block.each([&](int t) {
      for_pairs(t, s.ku < j ? s.ku : j, s.nrhs, [&](std::int64_t i, std::int64_t r) {
        D* const at = s.x + r * s.ldx + j;
        at[-i] = at[-i] - conjugate_of(a.get(i, j - i)) * at[0];
      });
    });
  }
  return 0;
}

}  // namespace troupe::cuda
