#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/base/result.hpp>
#include <troupe/tensor/dtype.hpp>
#include <troupe/tensor/scalar.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstdint>

namespace troupe::cuda {

/// Extents of a batch of matrices; a single matrix is a batch of one.
struct batch_extents {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t count = 1;
};

/// The place of a batch of matrices: element [i, j] of matrix b is b · batch + i · row + j · column
/// elements after the first.
struct batch_place {
  std::byte* first = nullptr;
  std::int64_t row = 0;
  std::int64_t column = 0;
  std::int64_t batch = 0;
};

/// A term of a sum: factor · op(matrices). With a factor of zero nothing is read; with a factor of
/// one elements are taken as they are, NaNs and infinities too. Elements beyond `valid` count as
/// zero and are not read; without extents there, all are valid.
struct batch_term {
  batch_place place{};
  scalar factor = 0;
  bool conjugated = false;
  batch_extents valid{.rows = -1, .columns = -1};
};

[[nodiscard]] batch_extents extents_of(const any_tensor& t) noexcept;
[[nodiscard]] batch_place place_of(const any_tensor& t) noexcept;

/// Enqueues c = a + b, element by element, in a kernel of Troupe's own, for cases that no routine
/// of cuBLAS computes. c may be the place of a or of b. All are of `type`: f32, f64, c64, c128,
/// f16, bf16, i32 (modulo 2^32), or i8, which is copied only.
[[nodiscard]] result<void> combine(lane& where, dtype type, const batch_extents& extents,
                                   const batch_place& c, const batch_term& a,
                                   const batch_term& b = {});

/// Enqueues c = beta · c for a matrix or batch; c is not read when beta is zero.
[[nodiscard]] result<void> scale(lane& where, const any_tensor& c, const scalar& beta);

/// Enqueues c = beta · c for one triangle of a square matrix of f32, f64, c64 or c128; nothing for
/// a beta of one. With `hermitian`, beta is real and the diagonal's imaginary parts are neither
/// read nor kept.
[[nodiscard]] result<void> scale_triangle(lane& where, const any_tensor& c, bool upper,
                                          const scalar& beta, bool hermitian);

/// Enqueues c = added + beta · c for one triangle, `added` having the extents and the type of c.
[[nodiscard]] result<void> add_triangle(lane& where, const any_tensor& c, bool upper,
                                        const scalar& beta, const any_tensor& added);

/// Enqueues dropping the imaginary parts of the diagonal of a square matrix of c64 or c128.
[[nodiscard]] result<void> make_diagonal_real(lane& where, const any_tensor& c);

}  // namespace troupe::cuda
