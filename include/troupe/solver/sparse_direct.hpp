#pragma once

#include <troupe/request/request.hpp>
#include <troupe/solver/modes.hpp>

/// Direct solves with sparse matrices, in compressed rows (CSR): a = (offsets, columns, values).
///
/// Row i of a has the elements values[k], in column columns[k], for offsets[i] ≤ k < offsets[i +
/// 1]. offsets [m + 1] and columns [nnz] are both i32 or both i64 and count from 0; the columns of
/// a row ascend. values [nnz], b and x are f32 or f64. The three vectors are packed; b and x have
/// any strides. Anything else in offsets and columns is `invalid_argument`, detected when the
/// request runs: x is then undefined, but no other memory is read or written.
///
/// Rows and columns are reordered so that the factors stay sparse. The order and the structure of
/// the factors depend only on the pattern; a worker of the CPU backend keeps them, for the 16 most
/// recently used patterns of each request: the same offsets and columns with other values are only
/// factored again.
///
/// A matrix without a solution fails with `errc::numerical`; x is then unspecified.
namespace troupe::solver {

/// Solves systems with a symmetric positive definite matrix: a · x = b, by Cholesky.
///
/// a is [n, n], of which both triangles are given and equal. Messages: "not positive definite",
/// "not finite: …". Source: Eigen SimplicialLLT, cuSOLVER csrlsvchol.
struct TROUPE_EXPORT sparse_cholesky {
  static constexpr std::string_view name = "solver.sparse_cholesky";
  using reply = void;

  any_tensor offsets{};
  any_tensor columns{};
  any_tensor values{};
  any_tensor b{};
  any_tensor x{};
  solver::ordering ordering = solver::ordering::automatic;

  static void describe(description<sparse_cholesky>& d);
};

/// Solves systems with any square matrix: a · x = b, by LU with partial pivoting.
///
/// Messages: "singular", "not finite: …". Source: Eigen SparseLU, cuSOLVER csrlsvlu.
struct TROUPE_EXPORT sparse_lu {
  static constexpr std::string_view name = "solver.sparse_lu";
  using reply = void;

  any_tensor offsets{};
  any_tensor columns{};
  any_tensor values{};
  any_tensor b{};
  any_tensor x{};
  solver::ordering ordering = solver::ordering::automatic;

  static void describe(description<sparse_lu>& d);
};

/// Finds x that minimises the norm of each column of a · x − b, by QR.
///
/// a is [m, n] with m ≥ n, b [m, nrhs], x [n, nrhs]. Messages: "rank deficient: rank 3 of 5",
/// "not finite: …". Source: Eigen SparseQR, cuSOLVER csrlsvqr.
struct TROUPE_EXPORT sparse_qr {
  static constexpr std::string_view name = "solver.sparse_qr";
  using reply = void;

  any_tensor offsets{};
  any_tensor columns{};
  any_tensor values{};
  any_tensor b{};
  any_tensor x{};
  solver::ordering ordering = solver::ordering::automatic;

  static void describe(description<sparse_qr>& d);
};

}  // namespace troupe::solver
