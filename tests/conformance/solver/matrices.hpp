#pragma once

#include "conformance/scene.hpp"
#include "wide_matrix.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace troupe::conformance {

/// How the matrices of an operand lie; spread: with gaps in both directions.
enum class arrangement : std::uint8_t { row, column, row_padded, column_padded, spread };
inline constexpr arrangement arrangements[] = {arrangement::row, arrangement::column,
                                               arrangement::row_padded, arrangement::column_padded,
                                               arrangement::spread};

/// The singular values or eigenvalues of a matrix.
enum class spectrum : std::uint8_t {
  random,     ///< those of random elements
  large,      ///< from 1e8 down to 1
  small,      ///< from 1 down to 1e-8
  deficient,  ///< half of them are zero
  repeated,   ///< a few, several times each
  identity,
};
inline constexpr spectrum spectra[] = {spectrum::random,    spectrum::large,    spectrum::small,
                                       spectrum::deficient, spectrum::repeated, spectrum::identity};

/// Tensors of a scene, with random content: [batch…, m, n]; [batch…, n] and [batch…], packed.
test_tensor& matrices(scene& s, dtype type, const std::vector<std::int64_t>& batch, std::int64_t m,
                      std::int64_t n, arrangement how);
test_tensor& vectors(scene& s, dtype type, const std::vector<std::int64_t>& batch, std::int64_t n);
test_tensor& numbers(scene& s, dtype type, const std::vector<std::int64_t>& batch);

/// Gives every matrix of a tensor such singular values.
void shape_values(scene& s, test_tensor& t, spectrum what);
/// Multiplies every element. `far_scales`: squares of what is multiplied by them are out of range.
void scale_values(scene& s, test_tensor& t, double by);
[[nodiscard]] inline std::vector<double> far_scales(dtype type) {
  const bool single = type == dtype::f32 || type == dtype::c64;
  return single ? std::vector<double>{1e-30, 1e30} : std::vector<double>{1e-280, 1e280};
}
/// Makes every matrix Hermitian with such eigenvalues, of any sign; or all of them positive (a
/// zero one then is one).
void make_hermitian(scene& s, test_tensor& t, spectrum what, bool positive);

/// The content after the request: the `i`-th matrix; the `i`-th vector, as a column.
[[nodiscard]] matrix matrix_now(scene& s, const test_tensor& t, std::int64_t i = 0);
[[nodiscard]] matrix vector_now(scene& s, const test_tensor& t, std::int64_t i = 0);

/// Expects that LAPACK's tests would take this ratio.
void expect_small(scene& s, double ratio, std::string_view what);
/// A name for failures.
[[nodiscard]] std::string case_name(dtype type, std::int64_t m, std::int64_t n, arrangement how,
                                    spectrum what = spectrum::random);
/// Expects this failure.
void expect_numerical(scene& s, const result<void>& answer, std::string_view message);

}  // namespace troupe::conformance
