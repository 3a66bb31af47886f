#pragma once

#include "backend/cuda/context/late_failure.hpp"
#include "libraries/solver/cuda/matrices.hpp"

#include <troupe/base/result.hpp>
#include <troupe/solver/symmetric_eigen.hpp>

#include <cstdint>

/// Kernels around eigenvalues and singular values.
namespace troupe::cuda {

/// The wanted eigenvalues of each matrix, in device memory: found[b] of them, from first[b] on.
struct chosen {
  std::int64_t* first = nullptr;
  std::int64_t* found = nullptr;
  unsigned long long* most = nullptr;  ///< the largest of all `found`; must be clear
};

/// Chooses among all eigenvalues `w` [count, n] as `r` says. Writes those that fit to r.w, followed
/// by NaN, and their number to r.count. A matrix whose flag is set has none.
[[nodiscard]] result<void> choose_eigenvalues(const solver::eigh& r, const std::byte* w,
                                              const std::uint32_t* flags, const chosen& to,
                                              lane& where);
/// Writes the chosen columns of `from` to `to`, followed by zeros.
[[nodiscard]] result<void> choose_columns(const matrices& from, const chosen& which,
                                          const matrices& to, lane& where);
/// Fails the request with `capacity_exceeded` if a matrix has more than `room`.
[[nodiscard]] result<void> report_capacity(const chosen& of, std::int64_t room,
                                           late_failure failure, lane& where);

/// Copies the first `kept` of every `values` numbers.
[[nodiscard]] result<void> copy_first(const std::byte* from, std::int64_t values,
                                      const any_tensor& to, lane& where);

/// Fills each matrix with the same normal numbers, which depend on the seed and their position
/// only.
[[nodiscard]] result<void> fill_normal(const matrices& m, std::uint64_t seed, lane& where);

/// Divides row i of each matrix of `c` by singular value i, or zeroes it if the value is at most
/// rcond times the largest. Writes the number of rows that are left to `rank`, which may be null.
[[nodiscard]] result<void> divide_by_values(const matrices& c, const std::byte* s,
                                            std::int64_t values, double rcond, std::int32_t* rank,
                                            const std::uint32_t* flags, lane& where);

/// Expands eigenvectors of a real matrix from the form of xGEEV: a column is a real vector, or two
/// columns are the real and imaginary parts of a conjugate pair. `w` (complex, of one matrix) tells
/// which.
[[nodiscard]] result<void> spread_vectors(const matrices& from, const std::byte* w,
                                          const matrices& to, std::int64_t matrix, lane& where);
/// Left eigenvectors of one matrix from right ones of the adjoint, in the order of w. `other` has
/// the eigenvalues of the adjoint; each of `w` is matched with the nearest of their conjugates.
/// `taken` is workspace for 2 n numbers.
[[nodiscard]] result<void> match_vectors(const matrices& from, const std::byte* other,
                                         const std::byte* w, std::int32_t* taken,
                                         const matrices& to, std::int64_t matrix, lane& where);
/// Conjugates `count` complex numbers of type `type`.
[[nodiscard]] result<void> conjugate_values(std::byte* at, dtype type, std::int64_t count,
                                            lane& where);

}  // namespace troupe::cuda
