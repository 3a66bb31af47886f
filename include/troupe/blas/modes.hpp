#pragma once

#include <cstdint>

/// Options shared by several BLAS requests.
///
/// There is no flag for a transposed matrix. Use a transposed view (`a.transpose()`); strides
/// determine whether a matrix is row- or column-major.
namespace troupe::blas {

/// The operation applied to a matrix's elements before use. On a transposed view `conjugate` gives
/// the conjugate transpose. For real types both values mean the same.
enum class op : std::uint8_t { none, conjugate };

/// The operation applied to a matrix in band or packed storage, or to a factorisation, whose
/// transpose strides cannot express.
enum class storage_op : std::uint8_t { none, transpose, conjugate_transpose, conjugate };

/// The triangle of the matrix, as the view shows it, that holds the elements. The other triangle is
/// neither read nor written. `upper` means the elements [i, j] with i <= j.
enum class uplo : std::uint8_t { upper, lower };

/// Whether the diagonal of a triangular matrix is read, or assumed to be all ones.
enum class diag : std::uint8_t { non_unit, unit };

/// The side of the product on which a matrix stands.
enum class side : std::uint8_t { left, right };

/// The precision of products of f32 and c64. `tf32` and `bf16x9` permit the backend to use them,
/// but do not force it: a backend without them computes as `strict`. Other types accept only
/// `strict`.
enum class math_mode : std::uint8_t {
  strict,  ///< every product and sum in the type's own precision, or a higher one
  tf32,    ///< inputs rounded to 10 mantissa bits
  bf16x9,  ///< f32 emulated by nine products of bf16
};

}  // namespace troupe::blas
