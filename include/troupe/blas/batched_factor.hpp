#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/request/request.hpp>

/// Factorisations and solves of batches of small matrices.
///
/// Matrices are in rank-3 views [batch, rows, columns] and are column-major, as LAPACK requires
/// (unit stride in dimension 1). A transposed matrix has different factors, so no view can stand in
/// for it. Row-major data is `layout_unsupported`; for a square packed tensor, `.transpose()` gives
/// a valid view, of the transposed matrix.
///
/// `pivots` are i32 and count from 1, as in LAPACK and cuBLAS: row i was exchanged with row
/// pivots[i] − 1. `info` is i32, one per matrix, as in LAPACK: 0, or the 1-based row at which the
/// matrix is singular. A singular matrix does not make the request fail. Extents within a matrix
/// are below 2^31 (`size_overflow`). Types: f32, f64, c64, c128. Other errors as in `level3.hpp`.
namespace troupe::blas {

/// Factors square matrices in place: aᵢ = Pᵢ · Lᵢ · Uᵢ, with partial pivoting.
///
/// a is [batch, n, n], updated: U in the upper triangle, L below it, its unit diagonal not stored.
/// Writes pivots [batch, n] and info [batch], both packed. Source: LAPACK xGETRF.
struct TROUPE_EXPORT getrf_batched {
  static constexpr std::string_view name = "blas.getrf_batched";
  using reply = void;

  any_tensor a{};
  any_tensor pivots{};
  any_tensor info{};

  static void describe(description<getrf_batched>& d);
};

/// Solves systems with factors from `getrf_batched`: op_a(aᵢ) · xᵢ = bᵢ.
///
/// a is [batch, n, n], pivots [batch, n]; b is [batch, n, nrhs], column-major, and becomes x.
/// Singular factors are not detected; they give infinities and NaNs. Pivots outside 1 … n are
/// `invalid_argument`, detected when the request runs: the outputs are then undefined, but no other
/// memory is read or written. Source: LAPACK xGETRS.
struct TROUPE_EXPORT getrs_batched {
  static constexpr std::string_view name = "blas.getrs_batched";
  using reply = void;

  any_tensor a{};
  any_tensor pivots{};
  any_tensor b{};
  storage_op op_a = storage_op::none;

  static void describe(description<getrs_batched>& d);
};

/// Inverts matrices from their factors of `getrf_batched`: cᵢ = aᵢ⁻¹.
///
/// a is [batch, n, n], pivots [batch, n]; writes c [batch, n, n] and info [batch]. If info is
/// not zero, c of that matrix holds no inverse. Pivots as in `getrs_batched`. Source: LAPACK
/// xGETRI.
struct TROUPE_EXPORT getri_batched {
  static constexpr std::string_view name = "blas.getri_batched";
  using reply = void;

  any_tensor a{};
  any_tensor pivots{};
  any_tensor c{};
  any_tensor info{};

  static void describe(description<getri_batched>& d);
};

/// Factors matrices in place: aᵢ = Qᵢ · Rᵢ, Q as Householder reflectors.
///
/// a is [batch, m, n], updated: R in the upper triangle, the reflectors below it. Writes tau
/// [batch, min(m, n)], packed, of the type of a. Source: LAPACK xGEQRF.
struct TROUPE_EXPORT geqrf_batched {
  static constexpr std::string_view name = "blas.geqrf_batched";
  using reply = void;

  any_tensor a{};
  any_tensor tau{};

  static void describe(description<geqrf_batched>& d);
};

}  // namespace troupe::blas
