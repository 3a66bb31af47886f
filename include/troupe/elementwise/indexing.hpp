#pragma once

#include <troupe/base/export.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>
#include <string_view>

/// Rows of a table by their numbers, and running sums. Any strides.
///
/// \errors `shape_mismatch`, `type_mismatch`, `aliasing`. Rows by number also `invalid_argument`,
/// detected when the request runs, for an index outside [0, n): then nothing has been written, and
/// the message names the first such index in row-major order
namespace troupe::elementwise {

/// y[k…, j] = table[indices[k…], j]: the lookup of an embedding.
///
/// Reads table [n, w] and indices [batch…] (i32, i64); writes y [batch…, w]. Table and y have one
/// type of any kind.
struct gather_rows {
  static constexpr std::string_view name = "elementwise.gather_rows";
  using reply = void;

  any_tensor table{};
  any_tensor indices{};
  any_tensor y{};

  TROUPE_EXPORT static void describe(description<gather_rows>& d);
};

/// The gradient of `gather_rows` by table: dtable[i, j] = Σ dy[k…, j] over all k with
/// indices[k] = i.
///
/// Reads dy [batch…, w] and indices; writes all of dtable [n, w]. Types: f64, f32, f16, bf16, added
/// in the order of k, in f64 for f64 and in f32 or wider else, and rounded once: every run gives
/// the same bits. On CUDA its time grows with n times the number of indices.
struct gather_rows_backward {
  static constexpr std::string_view name = "elementwise.gather_rows_backward";
  using reply = void;

  any_tensor dy{};
  any_tensor indices{};
  any_tensor dtable{};

  TROUPE_EXPORT static void describe(description<gather_rows_backward>& d);
};

enum class scatter_mode : std::uint8_t {
  set,  ///< if several rows have one index, the last in row-major order counts
  add,  ///< adds to the old content, in the order of the rows
};

/// table[indices[k…], j] = x[k…, j], or added to the old content. Other rows keep their content.
///
/// Reads x [batch…, w] and indices [batch…] (i32, i64); updates table [n, w]. Types, sums and times
/// are those of `gather_rows_backward`.
struct scatter_rows {
  static constexpr std::string_view name = "elementwise.scatter_rows";
  using reply = void;

  any_tensor x{};
  any_tensor indices{};
  any_tensor table{};
  scatter_mode mode = scatter_mode::set;

  TROUPE_EXPORT static void describe(description<scatter_rows>& d);
};

enum class cumulation : std::uint8_t { sum, product };

/// y[i] = x[0] + … + x[i] along an axis, or the product.
///
/// x and y have one shape, of rank 1 or more, and one type: f64, f32, f16, bf16, i32, i64. f64
/// computes in f64, other floats in f32 or wider; integers wrap. The order of operations is fixed
/// by shapes and types alone. y may be the same view as x.
///
/// \errors also `invalid_argument` for an axis that does not exist
struct cumulate {
  static constexpr std::string_view name = "elementwise.cumulate";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  std::int64_t axis = -1;  ///< a negative one counts from the last
  cumulation how = cumulation::sum;
  bool exclusive = false;  ///< without x[i]: y[0] is 0, or 1 for products
  bool reverse = false;    ///< from the last to the first

  TROUPE_EXPORT static void describe(description<cumulate>& d);
};

}  // namespace troupe::elementwise
