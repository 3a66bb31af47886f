#pragma once

#include "libraries/solver/cuda/kernels/block.cuh"
#include "libraries/solver/cuda/kernels/hermitian.hpp"

/// Bunch's and Kaufman's factorisation, as xHETF2 computes it.
namespace troupe::cuda {

/// One matrix of a batch, by its lower triangle. An upper one is the lower triangle of the matrix
/// with rows and columns in reverse order: U · D · Uᴴ of one is L · D · Lᴴ of the other.
template <class D>
struct hermitian_matrix {
  D* first;
  std::int64_t* pivots;
  std::int64_t n;
  std::int64_t ld;
  bool reversed;
  bool symmetric;  ///< L · D · Lᵀ, with a complex D

  __device__ hermitian_matrix(const matrices& a, bool upper, std::int64_t* its_pivots,
                              std::int64_t matrix, bool is_symmetric = false)
      : first(reinterpret_cast<D*>(a.first) + matrix * a.step),
        pivots(its_pivots + matrix * a.rows),
        n(a.rows),
        ld(a.ld),
        reversed(upper),
        symmetric(is_symmetric) {}

  [[nodiscard]] __device__ std::int64_t place(std::int64_t i) const {
    return reversed ? n - 1 - i : i;
  }
  /// i ≥ j.
  [[nodiscard]] __device__ D& at(std::int64_t i, std::int64_t j) const {
    return first[place(j) * ld + place(i)];
  }
  /// The element across the diagonal from `v`.
  [[nodiscard]] __device__ D across(D v) const { return symmetric ? v : conjugate_of(v); }
  /// The row that k is exchanged with, from 0; `is_pair` for a block of two.
  [[nodiscard]] __device__ bool is_pair(std::int64_t k) const { return pivots[place(k)] < 0; }
  [[nodiscard]] __device__ std::int64_t exchanged(std::int64_t k) const {
    const std::int64_t pivot = pivots[place(k)];
    return place((pivot < 0 ? -pivot : pivot) - 1);
  }
  __device__ void set_pivot(std::int64_t k, std::int64_t other, bool pair) const {
    pivots[place(k)] = pair ? -(place(other) + 1) : place(other) + 1;
  }
};

template <class D>
__device__ void exchange(D& a, D& b) {
  const D held = a;
  a = b;
  b = held;
}
template <class D>
__device__ void drop_imaginary(D& v) {
  v = from_parts<D>(real_in(v), 0);
}

/// The block of D that begins at a column.
struct pivot_choice {
  std::int64_t other;  ///< exchanged with the block's last row
  int size;            ///< 0: the column is zero
};

/// Chooses a pivot for column k.
template <class Block, class D>
__device__ pivot_choice choose_pivot(const Block& block, block_memory<D>& shared,
                                     const hermitian_matrix<D>& a, std::int64_t k) {
  using real = real_value_t<D>;
  const auto alpha = static_cast<real>(0.64038820320220756872767623199676L);  // (1 + √17) / 8
  find_largest(block, shared, a.n - k - 1,
               [&](std::int64_t i) { return sum_of_parts(a.at(k + 1 + i, k)); });
  block.each([&](int t) {
    if (t != 0) return;
    const real own = std::fabs(real_in(a.at(k, k)));
    shared.bound = std::fmax(shared.reals[0], real{0});
    shared.place = k + 1 + shared.places[0];
    const bool is_zero = !(std::fmax(own, shared.bound) > 0) || std::isnan(own);
    shared.info = is_zero ? 0 : own >= alpha * shared.bound ? 1 : 2;
  });
  if (shared.info == 0) return {k, 0};
  if (shared.info == 1) return {k, 1};
  const std::int64_t row = shared.place;
  find_largest(block, shared, a.n - k, [&](std::int64_t i) {
    const std::int64_t j = k + i;
    return j == row ? real{0} : sum_of_parts(j < row ? a.at(row, j) : a.at(j, row));
  });
  block.each([&](int t) {
    if (t != 0) return;
    const real own = std::fabs(real_in(a.at(k, k)));
    const real across = shared.reals[0];
    shared.info = own >= alpha * shared.bound * (shared.bound / across)  ? 1
                  : std::fabs(real_in(a.at(row, row))) >= alpha * across ? 2
                                                                         : 3;
  });
  if (shared.info == 1) return {k, 1};
  return {row, shared.info == 2 ? 1 : 2};
}

/// Exchanges rows and columns of what is left, and makes the block's diagonal real.
template <class Block, class D>
__device__ void exchange_rows(const Block& block, const hermitian_matrix<D>& a, std::int64_t k,
                              const pivot_choice& with) {
  const std::int64_t own = k + (with.size == 2 ? 1 : 0);
  const std::int64_t other = with.other;
  block.each([&](int t) {
    for (std::int64_t i = own + 1 + t; i < a.n && other != own; i += matrix_threads) {
      if (i > other) exchange(a.at(i, own), a.at(i, other));
      if (i < other) {
        const D held = conjugate_of(a.at(i, own));
        a.at(i, own) = conjugate_of(a.at(other, i));
        a.at(other, i) = held;
      }
    }
    if (t != 0) return;
    if (other != own) {
      a.at(other, own) = conjugate_of(a.at(other, own));
      exchange(a.at(own, own), a.at(other, other));
      drop_imaginary(a.at(other, other));
      if (with.size == 2) exchange(a.at(own, k), a.at(other, k));
    }
    drop_imaginary(a.at(k, k));
    drop_imaginary(a.at(own, own));
    a.set_pivot(k, other, with.size == 2);
    if (with.size == 2) a.set_pivot(own, other, true);
  });
}

/// The multipliers of a row below a block of two.
template <class D>
struct multipliers {
  D first;
  D second;
};
template <class D>
__device__ multipliers<D> multipliers_of(const hermitian_matrix<D>& a, std::int64_t k,
                                         std::int64_t j) {
  using real = real_value_t<D>;
  const D beside = a.at(k + 1, k);
  const real d = magnitude(beside);
  const real d11 = real_in(a.at(k + 1, k + 1)) / d;
  const real d22 = real_in(a.at(k, k)) / d;
  const real factor = real{1} / (d11 * d22 - real{1}) / d;
  const D d21 = divided(beside, d);
  const D x = a.at(j, k);
  const D y = a.at(j, k + 1);
  return {factor * (d11 * x - d21 * y), factor * (d22 * y - conjugate_of(d21) * x)};
}

/// Subtracts the block's product from what is left, and stores its multipliers.
template <class Block, class D>
__device__ void eliminate(const Block& block, const hermitian_matrix<D>& a, std::int64_t k,
                          int size) {
  using real = real_value_t<D>;
  const std::int64_t from = k + size;
  const std::int64_t left = a.n - from;
  block.each([&](int t) {
    for (std::int64_t flat = t; flat < left * left; flat += matrix_threads) {
      const std::int64_t i = from + flat % left;
      const std::int64_t j = from + flat / left;
      if (i < j) continue;
      D& to = a.at(i, j);
      if (size == 1) {
        to = to - a.at(i, k) * conjugate_of(divided(a.at(j, k), real_in(a.at(k, k))));
      } else {
        const multipliers<D> m = multipliers_of(a, k, j);
        to = to - a.at(i, k) * conjugate_of(m.first) - a.at(i, k + 1) * conjugate_of(m.second);
      }
      if (i == j) drop_imaginary(to);
    }
  });
  block.each([&](int t) {
    for (std::int64_t j = from + t; j < a.n; j += matrix_threads) {
      if (size == 1) {
        const real by = real_in(a.at(k, k));
        a.at(j, k) = divided(a.at(j, k), by);
      } else {
        const multipliers<D> m = multipliers_of(a, k, j);
        a.at(j, k) = m.first;
        a.at(j, k + 1) = m.second;
      }
    }
  });
}

/// Factors a matrix. Returns LAPACK's info, in every thread.
template <class Block, class D>
__device__ std::int32_t factor_hermitian(const Block& block, block_memory<D>& shared,
                                         const hermitian_matrix<D>& a) {
  std::int32_t info = 0;
  std::int64_t k = 0;
  while (k < a.n) {
    const pivot_choice with = choose_pivot(block, shared, a, k);
    exchange_rows(block, a, k, with);
    if (with.size == 0) {
      if (info == 0) info = static_cast<std::int32_t>(a.place(k) + 1);
    } else {
      eliminate(block, a, k, with.size);
    }
    k += with.size == 2 ? 2 : 1;
  }
  return info;
}

}  // namespace troupe::cuda
