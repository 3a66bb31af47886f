#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/request/argument_checks.hpp>
#include <troupe/request/description.hpp>
#include <troupe/sparse/matrix.hpp>

#include <initializer_list>
#include <string_view>

/// The common part of descriptions of this library's requests.
namespace troupe::sparse {

inline constexpr std::initializer_list<dtype> value_types = {dtype::f64,  dtype::f32,  dtype::f16,
                                                             dtype::bf16, dtype::c128, dtype::c64};

[[nodiscard]] constexpr bool transposes(blas::storage_op op) noexcept {
  return op == blas::storage_op::transpose || op == blas::storage_op::conjugate_transpose;
}

/// An extent of a dense operand is that of a sparse matrix.
void check_extent(argument_checks& check, const operand& dense, int dimension,
                  std::int64_t expected, std::string_view what);
/// The matrix has a format that a request can make.
void check_made_format(argument_checks& check, std::string_view name, const sparse_matrix& made);

}  // namespace troupe::sparse
