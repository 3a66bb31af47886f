#pragma once

#include <troupe/request/request.hpp>
#include <troupe/sparse/matrix.hpp>

/// Products of two sparse matrices.
///
/// a [m, k], b [k, n] and c [m, n] are all csr or all csc; so a · bᵀ and the like are products of
/// other formats, after `convert`. All values have one type: f64, f32, f16, bf16, c128 or c64; f16
/// and bf16 are added up in f32 and rounded once. Duplicate elements count each; indices of a and b
/// need not ascend. m · n is less than 2^63.
///
/// c has an element wherever a row of a and a column of b have a product, even if it is zero. Its
/// indices ascend. The number of elements is known only once the request has run, as with
/// `from_dense`.
///
/// \errors `invalid_argument`, found when the request runs, for an offset or an index that points
/// outside; the outputs are then unspecified.
namespace troupe::sparse {

/// c = alpha · a · b. Answers how many elements c has.
///
/// The room for them is the length of c's `indices` and `values`. If that is less than the number,
/// the request fails with `capacity_exceeded`, whose message has the number; what else it wrote is
/// unspecified. `nnz`, if given, takes the number in both cases. Computes what cusparseSpGEMM does.
struct TROUPE_EXPORT spgemm {
  static constexpr std::string_view name = "sparse.spgemm";
  using reply = std::int64_t;

  sparse_matrix a{};
  sparse_matrix b{};
  written_sparse_matrix c{};
  scalar alpha = 1;
  any_tensor nnz{};

  static void describe(description<spgemm>& d);
};

/// Answers how many elements the product a · b has, so that room can be made for it.
///
/// `nnz`, if given, takes the number, too. Values are not looked at.
struct TROUPE_EXPORT spgemm_size {
  static constexpr std::string_view name = "sparse.spgemm_size";
  using reply = std::int64_t;

  sparse_matrix a{};
  sparse_matrix b{};
  any_tensor nnz{};

  static void describe(description<spgemm_size>& d);
};

}  // namespace troupe::sparse
