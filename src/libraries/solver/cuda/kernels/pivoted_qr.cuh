#pragma once

#include "libraries/solver/cuda/kernels/block.cuh"
#include "libraries/solver/cuda/kernels/pivoted_qr.hpp"

#include <limits>

/// QR with pivoting of columns, as LAPACK's xLAQP2 computes it.
namespace troupe::cuda {

template <class D>
struct pivoted_columns {
  using real = real_value_t<D>;

  D* first;
  D* tau;
  std::int64_t* order;
  real* lengths;  ///< columns from the next row on
  real* exact;    ///< the same without updates since
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t ld;

  /// One matrix of a batch.
  __device__ pivoted_columns(const matrices& a, const pivoted_arrays& to, std::int64_t matrix)
      : first(reinterpret_cast<D*>(a.first) + matrix * a.step),
        tau(reinterpret_cast<D*>(to.tau) + matrix * (a.rows < a.columns ? a.rows : a.columns)),
        order(to.order + matrix * a.columns),
        lengths(reinterpret_cast<real*>(to.lengths) + 2 * matrix * a.columns),
        exact(lengths + a.columns),
        rows(a.rows),
        columns(a.columns),
        ld(a.ld) {}
};

/// The number and the length of a column at the beginning.
template <class Block, class D>
__device__ void enter_column(const Block& block, block_memory<D>& shared,
                             const pivoted_columns<D>& p, std::int64_t c) {
  measure(block, shared, p.first + c * p.ld, p.rows);
  block.each([&](int t) {
    if (t != 0) return;
    p.order[c] = c;
    p.lengths[c] = p.exact[c] = shared.reals[0] * std::sqrt(shared.squares[0]);
  });
}

/// Makes the longest column the `j`-th, and a reflector of it: xLARFG.
template <class Block, class D>
__device__ void reflect_longest(const Block& block, block_memory<D>& shared,
                                const pivoted_columns<D>& p, std::int64_t j) {
  using real = real_value_t<D>;
  find_largest(block, shared, p.columns - j, [&](std::int64_t i) { return p.lengths[j + i]; });
  block.each([&](int t) {
    const std::int64_t longest = j + shared.places[0];
    D* const a = p.first + j * p.ld;
    D* const b = p.first + longest * p.ld;
    for (std::int64_t i = t; i < p.rows && a != b; i += matrix_threads) {
      const D held = a[i];
      a[i] = b[i];
      b[i] = held;
    }
    if (t != 0) return;
    const std::int64_t its = p.order[longest];
    p.order[longest] = p.order[j];
    p.order[j] = its;
    p.lengths[longest] = p.lengths[j];
    p.exact[longest] = p.exact[j];
  });
  D* const v = p.first + j * p.ld + j;
  const std::int64_t count = p.rows - j;
  measure(block, shared, v + 1, count - 1);
  block.each([&](int t) {
    if (t != 0) return;
    const D alpha = v[0];
    const real rest = shared.reals[0];
    const real most = std::fmax(rest, larger_part(alpha));
    // A column that is zero below its real first element is left as it is.
    shared.again = rest > 0 || imaginary_in(alpha) != 0;
    if (!shared.again) {
      p.tau[j] = D{};
      return;
    }
    const real share = rest / most;
    const real length =
        most * std::sqrt(square(divided(alpha, most)) + share * share * shared.squares[0]);
    const real beta = real_in(alpha) >= 0 ? -length : length;
    p.tau[j] = from_parts<D>((beta - real_in(alpha)) / beta, -imaginary_in(alpha) / beta);
    // In units of the largest part, so that quotients are in range.
    shared.reals[0] = most;
    shared.pivot = from_parts<D>(real_in(alpha) / most - beta / most, imaginary_in(alpha) / most);
    v[0] = from_parts<D>(beta, 0);
  });
  block.each([&](int t) {
    if (!shared.again) return;
    for (std::int64_t i = t + 1; i < count; i += matrix_threads)
      v[i] = quotient(divided(v[i], shared.reals[0]), shared.pivot);
  });
}

/// Applies the `j`-th reflector to a column behind it, and updates the column's length.
template <class Block, class D>
__device__ void apply_reflector(const Block& block, block_memory<D>& shared,
                                const pivoted_columns<D>& p, std::int64_t j, std::int64_t c) {
  using real = real_value_t<D>;
  const D* const v = p.first + j * p.ld + j;
  D* const a = p.first + c * p.ld + j;
  const std::int64_t count = p.rows - j;
  block.each([&](int t) {
    D sum{};
    for (std::int64_t i = t; i < count; i += matrix_threads)
      sum = sum + (i == 0 ? a[0] : conjugate_of(v[i]) * a[i]);
    shared.sums[t] = sum;
  });
  combine_threads(block, count,
                  [&](int to, int from) { shared.sums[to] = shared.sums[to] + shared.sums[from]; });
  block.each([&](int t) {
    const D along = conjugate_of(p.tau[j]) * shared.sums[0];
    for (std::int64_t i = t; i < count; i += matrix_threads)
      a[i] = a[i] - (i == 0 ? along : v[i] * along);
  });
  block.each([&](int t) {
    if (t != 0) return;
    shared.again = false;
    const real length = p.lengths[c];
    if (length == 0) return;
    const real part = magnitude(a[0]) / length;
    const real left = std::fmax(real{1} - part * part, real{0});
    const real trust = length / p.exact[c];
    // Cancellation has taken half of the digits, so the length is computed anew.
    shared.again = left * trust * trust <= std::sqrt(std::numeric_limits<real>::epsilon() / 2);
    if (!shared.again) p.lengths[c] = length * std::sqrt(left);
  });
  if (!shared.again) return;
  measure(block, shared, a + 1, count - 1);
  block.each([&](int t) {
    if (t == 0) p.lengths[c] = p.exact[c] = shared.reals[0] * std::sqrt(shared.squares[0]);
  });
}

/// Factors a matrix.
template <class Block, class D>
__device__ void factor_by_block(const Block& block, block_memory<D>& shared,
                                const pivoted_columns<D>& p) {
  for (std::int64_t c = 0; c < p.columns; ++c)
    enter_column(block, shared, p, c);
  for (std::int64_t j = 0; j < p.rows && j < p.columns; ++j) {
    reflect_longest(block, shared, p, j);
    for (std::int64_t c = j + 1; c < p.columns; ++c)
      apply_reflector(block, shared, p, j, c);
  }
}

}  // namespace troupe::cuda
