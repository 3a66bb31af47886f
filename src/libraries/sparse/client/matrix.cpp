#include <troupe/sparse/matrix.hpp>

#include <utility>

namespace troupe {
namespace {

// The requests refuse tensors with wrong extents later.
std::int64_t extent_of(const any_tensor& t, int dimension) noexcept {
  return dimension < t.rank() ? t.extent(dimension) : 0;
}
std::int64_t compressed(const any_tensor& offsets) noexcept {
  const std::int64_t n = extent_of(offsets, 0);
  return n > 0 ? n - 1 : 0;
}

}  // namespace

sparse_matrix sparse_matrix::csr(std::int64_t columns, const any_tensor& offsets,
                                 const any_tensor& indices, const any_tensor& values) {
  return {.format = sparse_format::csr,
          .rows = compressed(offsets),
          .columns = columns,
          .offsets = offsets,
          .indices = indices,
          .values = values};
}

sparse_matrix sparse_matrix::csc(std::int64_t rows, const any_tensor& offsets,
                                 const any_tensor& indices, const any_tensor& values) {
  return {.format = sparse_format::csc,
          .rows = rows,
          .columns = compressed(offsets),
          .offsets = offsets,
          .indices = indices,
          .values = values};
}

sparse_matrix sparse_matrix::coo(std::int64_t rows, std::int64_t columns,
                                 const any_tensor& row_indices, const any_tensor& indices,
                                 const any_tensor& values) {
  return {.format = sparse_format::coo,
          .rows = rows,
          .columns = columns,
          .row_indices = row_indices,
          .indices = indices,
          .values = values};
}

sparse_matrix sparse_matrix::bsr(std::int64_t columns, const any_tensor& offsets,
                                 const any_tensor& indices, const any_tensor& values) {
  return {.format = sparse_format::bsr,
          .rows = compressed(offsets) * extent_of(values, 1),
          .columns = columns,
          .offsets = offsets,
          .indices = indices,
          .values = values};
}

sparse_matrix sparse_matrix::blocked_ell(std::int64_t columns, const any_tensor& indices,
                                         const any_tensor& values) {
  return {.format = sparse_format::blocked_ell,
          .rows = extent_of(values, 0),
          .columns = columns,
          .indices = indices,
          .values = values};
}

sparse_matrix sparse_matrix::sliced_ell(std::int64_t rows, std::int64_t columns,
                                        std::int64_t slice_rows, const any_tensor& offsets,
                                        const any_tensor& indices, const any_tensor& values) {
  return {.format = sparse_format::sliced_ell,
          .rows = rows,
          .columns = columns,
          .offsets = offsets,
          .indices = indices,
          .values = values,
          .slice_rows = slice_rows};
}

result<sparse_matrix> sparse_matrix::transpose() const {
  sparse_matrix made = *this;
  std::swap(made.rows, made.columns);
  switch (format) {
    case sparse_format::csr:
      made.format = sparse_format::csc;
      return made;
    case sparse_format::csc:
      made.format = sparse_format::csr;
      return made;
    case sparse_format::coo:
    case sparse_format::bsr:
    case sparse_format::blocked_ell:
    case sparse_format::sliced_ell:
      break;
  }
  return error{.code = errc::invalid_argument,
               .message = "transpose: a csr or csc matrix is needed"};
}

result<sparse_matrix> sparse_matrix::first(std::int64_t count) const {
  if (format > sparse_format::coo)
    return error{.code = errc::invalid_argument,
                 .message = "first: a csr, csc or coo matrix is needed"};
  sparse_matrix made = *this;
  for (any_tensor* t : {&made.row_indices, &made.indices, &made.values}) {
    if (t->null()) continue;
    auto part = t->slice(0, 0, count);
    if (!part) return std::move(part).error();
    *t = *std::move(part);
  }
  return made;
}

bool operator==(const sparse_matrix& a, const sparse_matrix& b) noexcept {
  return a.format == b.format && a.rows == b.rows && a.columns == b.columns &&
         a.slice_rows == b.slice_rows && a.offsets.same_view(b.offsets) &&
         a.row_indices.same_view(b.row_indices) && a.indices.same_view(b.indices) &&
         a.values.same_view(b.values);
}

}  // namespace troupe
