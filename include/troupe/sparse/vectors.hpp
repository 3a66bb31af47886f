#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/request/request.hpp>

/// Sparse vectors, as elements and their indices: element k is `values[k]` at `indices[k]` of a
/// dense vector y.
///
/// values [nnz] and indices [nnz], i32 or i64, have any stride of at least 1, and so has y. All
/// elements have one type: f64, f32, f16, bf16, c128 or c64. Indices may come in any order; those
/// of a request that writes y must differ from each other, or the result is unspecified. An index
/// outside y is `invalid_argument`, detected when the request runs, with the first such place; then
/// the output is unspecified, but no other memory is touched.
namespace troupe::sparse {

/// The inner product with a dense vector: Σ op_x(values[k]) · y[indices[k]]; 0 without elements.
///
/// The number is the reply. If `result` is given, the number is written to that one-element tensor
/// instead, and the reply is zero. f16 and bf16 are added up in f32. The order of additions is
/// fixed by the number of elements. Computes what cusparseSpVV does.
struct TROUPE_EXPORT spvv {
  static constexpr std::string_view name = "sparse.spvv";
  using reply = scalar;

  any_tensor indices{};
  any_tensor values{};
  any_tensor y{};
  any_tensor result{};
  blas::op op_x = blas::op::none;

  static void describe(description<spvv>& d);
};

/// y = alpha · x + beta · y, where x is the sparse vector. All of y is multiplied by beta.
///
/// Equivalent to cusparseAxpby.
struct TROUPE_EXPORT axpby {
  static constexpr std::string_view name = "sparse.axpby";
  using reply = void;

  any_tensor indices{};
  any_tensor values{};
  any_tensor y{};
  scalar alpha = 1;
  scalar beta = 1;

  static void describe(description<axpby>& d);
};

/// values[k] = y[indices[k]]. Computes what cusparseGather does.
struct TROUPE_EXPORT gather {
  static constexpr std::string_view name = "sparse.gather";
  using reply = void;

  any_tensor indices{};
  any_tensor y{};
  any_tensor values{};

  static void describe(description<gather>& d);
};

/// y[indices[k]] = values[k]; other elements of y keep their values. Computes what cusparseScatter
/// does.
struct TROUPE_EXPORT scatter {
  static constexpr std::string_view name = "sparse.scatter";
  using reply = void;

  any_tensor indices{};
  any_tensor values{};
  any_tensor y{};

  static void describe(description<scatter>& d);
};

/// Applies a plane rotation: values[k], y[i] = c · values[k] + s · y[i], c · y[i] − s · values[k]
/// with i = indices[k]. c and s are real unless the type is complex. Computes what cusparseRot
/// does.
struct TROUPE_EXPORT rot {
  static constexpr std::string_view name = "sparse.rot";
  using reply = void;

  any_tensor indices{};
  any_tensor values{};
  any_tensor y{};
  scalar c = 1;
  scalar s = 0;

  static void describe(description<rot>& d);
};

}  // namespace troupe::sparse
