#pragma once

#include <cstdint>

/// Choices that several BLAS requests share.
///
/// There is no flag for a transposed matrix: a matrix is transposed by its view
/// (`a.transpose()`), and whether it is row- or column-major follows from its strides.
namespace troupe::blas {

/// What is applied to the elements of a matrix before it is used. With a transposed view,
/// `conjugate` gives the conjugate transpose. For real types both mean the same.
enum class op : std::uint8_t { none, conjugate };

/// What is applied to a matrix in band or packed storage, or to a factorisation: there, strides
/// cannot express the transpose.
enum class storage_op : std::uint8_t { none, transpose, conjugate_transpose, conjugate };

/// Which triangle of the matrix, as the view shows it, holds the elements; the other triangle is
/// neither read nor written. `upper` is the elements [i, j] with i <= j.
enum class uplo : std::uint8_t { upper, lower };

/// Whether the diagonal of a triangular matrix is read, or taken to be all ones.
enum class diag : std::uint8_t { non_unit, unit };

/// On which side of the product a matrix stands.
enum class side : std::uint8_t { left, right };

/// How exactly products of f32 and c64 are formed. `tf32` and `bf16x9` allow, not force, the
/// backend to use them: a backend without them computes as `strict`. For other types only `strict`
/// is valid.
enum class math_mode : std::uint8_t {
  strict,  ///< every product and sum in the type's own precision, or a higher one
  tf32,    ///< inputs rounded to 10 mantissa bits
  bf16x9,  ///< f32 emulated by nine products of bf16
};

}  // namespace troupe::blas
