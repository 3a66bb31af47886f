#pragma once

#include "libraries/solver/cuda/kernels/hermitian.cuh"

/// Solves with factors of Hermitian and symmetric matrices, as xHETRS and xSYTRS do.
namespace troupe::cuda {

/// Right sides of a matrix.
template <class D>
struct right_sides {
  D* first;
  std::int64_t count;
  std::int64_t ld;

  __device__ right_sides(const matrices& x, std::int64_t matrix)
      : first(reinterpret_cast<D*>(x.first) + matrix * x.step), count(x.columns), ld(x.ld) {}
};

/// Solves with L and D.
template <class Block, class D>
__device__ void solve_forward(const Block& block, const hermitian_matrix<D>& a,
                              const right_sides<D>& x) {
  const auto b = [&](std::int64_t i, std::int64_t r) -> D& {
    return x.first[r * x.ld + a.place(i)];
  };
  std::int64_t k = 0;
  while (k < a.n) {
    const bool pair = a.is_pair(k);
    const std::int64_t own = k + (pair ? 1 : 0);
    const std::int64_t other = a.exchanged(k);
    block.each([&](int t) {
      for (std::int64_t r = t; r < x.count && other != own; r += matrix_threads)
        exchange(b(own, r), b(other, r));
    });
    block.each([&](int t) {
      const std::int64_t left = a.n - own - 1;
      for (std::int64_t flat = t; flat < left * x.count; flat += matrix_threads) {
        const std::int64_t i = own + 1 + flat % left;
        const std::int64_t r = flat / left;
        D sum = a.at(i, k) * b(k, r);
        if (pair) sum = sum + a.at(i, own) * b(own, r);
        b(i, r) = b(i, r) - sum;
      }
    });
    block.each([&](int t) {
      for (std::int64_t r = t; r < x.count; r += matrix_threads) {
        if (!pair) {
          b(k, r) =
              a.symmetric ? quotient(b(k, r), a.at(k, k)) : divided(b(k, r), real_in(a.at(k, k)));
          continue;
        }
        const D beside = a.at(own, k);
        const D one = from_parts<D>(1, 0);
        const D upper = quotient(a.at(k, k), a.across(beside));
        const D lower = quotient(a.at(own, own), beside);
        const D determinant = upper * lower - one;
        const D first = quotient(b(k, r), a.across(beside));
        const D second = quotient(b(own, r), beside);
        b(k, r) = quotient(lower * first - second, determinant);
        b(own, r) = quotient(upper * second - first, determinant);
      }
    });
    k = own + 1;
  }
}

/// Solves with Lᴴ or Lᵀ.
template <class Block, class D>
__device__ void solve_backward(const Block& block, block_memory<D>& shared,
                               const hermitian_matrix<D>& a, const right_sides<D>& x) {
  const auto b = [&](std::int64_t i, std::int64_t r) -> D& {
    return x.first[r * x.ld + a.place(i)];
  };
  std::int64_t k = a.n - 1;
  while (k >= 0) {
    const std::int64_t size = a.is_pair(k) ? 2 : 1;
    for (std::int64_t column = k; column > k - size; --column) {
      for (std::int64_t r = 0; r < x.count; ++r) {
        block.each([&](int t) {
          D sum{};
          for (std::int64_t i = k + 1 + t; i < a.n; i += matrix_threads)
            sum = sum + a.across(a.at(i, column)) * b(i, r);
          shared.sums[t] = sum;
        });
        combine_threads(block, a.n - k - 1, [&](int to, int from) {
          shared.sums[to] = shared.sums[to] + shared.sums[from];
        });
        block.each([&](int t) {
          if (t == 0) b(column, r) = b(column, r) - shared.sums[0];
        });
      }
    }
    const std::int64_t other = a.exchanged(k);
    block.each([&](int t) {
      for (std::int64_t r = t; r < x.count && other != k; r += matrix_threads)
        exchange(b(k, r), b(other, r));
    });
    k -= size;
  }
}

}  // namespace troupe::cuda
