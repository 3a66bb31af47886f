#pragma once

#include "backend/cuda/context/late_failure.hpp"
#include "libraries/solver/cuda/matrices.hpp"

#include <troupe/base/result.hpp>
#include <troupe/solver/symmetric_eigen.hpp>

#include <cstdint>

/// Kernels around eigenvalues and singular values.
namespace troupe::cuda {

/// Which eigenvalues of each matrix are wanted, in device memory: those from first[b] on, found[b]
/// of them.
struct chosen {
  std::int64_t* first = nullptr;
  std::int64_t* found = nullptr;
  unsigned long long* most = nullptr;  ///< the largest of all found; must be clear
};

/// Chooses among all eigenvalues `w` [count, n] as `r` says and writes those that have room to r.w,
/// NaN behind them, and how many there are to r.count. A matrix whose flag is set has none.
[[nodiscard]] result<void> choose_eigenvalues(const solver::eigh& r, const std::byte* w,
                                              const std::uint32_t* flags, const chosen& to,
                                              lane& where);
/// Writes the chosen columns of `from` to `to`, zeros behind them.
[[nodiscard]] result<void> choose_columns(const matrices& from, const chosen& which,
                                          const matrices& to, lane& where);
/// Makes the request fail with `capacity_exceeded` where there are more than `room`.
[[nodiscard]] result<void> report_capacity(const chosen& of, std::int64_t room,
                                           late_failure failure, lane& where);

/// Copies the first `kept` of each `values` numbers.
[[nodiscard]] result<void> copy_first(const std::byte* from, std::int64_t values,
                                      const any_tensor& to, lane& where);

/// Normal numbers that depend on the seed and their place alone, the same for each matrix.
[[nodiscard]] result<void> fill_normal(const matrices& m, std::uint64_t seed, lane& where);

/// Divides row i of each matrix of `c` by singular value i, or makes it zero where that is at most
/// rcond times the largest; writes how many are left to `rank`, which may be null.
[[nodiscard]] result<void> divide_by_values(const matrices& c, const std::byte* s,
                                            std::int64_t values, double rcond, std::int32_t* rank,
                                            const std::uint32_t* flags, lane& where);

/// Eigenvectors of real matrices as xGEEV leaves them: a column is one, or two columns are the real
/// and the imaginary part of one and of its conjugate, as `w` (complex, of one matrix) says.
[[nodiscard]] result<void> spread_vectors(const matrices& from, const std::byte* w,
                                          const matrices& to, std::int64_t matrix, lane& where);
/// Left eigenvectors from right ones of the adjoint, in the order of w: `other` has the adjoint's
/// eigenvalues, conjugates of which are the nearest to each of `w`. `taken`: 2 n numbers of
/// workspace. Of one matrix.
[[nodiscard]] result<void> match_vectors(const matrices& from, const std::byte* other,
                                         const std::byte* w, std::int32_t* taken,
                                         const matrices& to, std::int64_t matrix, lane& where);
/// Conjugates `count` complex numbers of this type.
[[nodiscard]] result<void> conjugate_values(std::byte* at, dtype type, std::int64_t count,
                                            lane& where);

}  // namespace troupe::cuda
