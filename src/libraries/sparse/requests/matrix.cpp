#include <troupe/request/argument_checks.hpp>
#include <troupe/request/request.hpp>
#include <troupe/sparse/matrix.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string_view>

namespace troupe {
namespace {

/// Checks an extent of one of the matrix's tensors against the value that the matrix implies.
void check_extent(argument_checks& check, std::string_view what, std::int64_t found,
                  std::int64_t expected, std::string_view because) {
  check.rule(found == expected, errc::shape_mismatch, [&] {
    return fmt::format("{} is {}, but must be {}: {}", what, found, expected, because);
  });
}

void check_divides(argument_checks& check, std::string_view what, std::int64_t whole,
                   std::int64_t block) {
  check.rule(block > 0 && whole % block == 0, errc::shape_mismatch, [&] {
    return fmt::format("{} is {}, which blocks of {} do not fill", what, whole, block);
  });
}

void check_tensors(argument_checks& check, const sparse_matrix& a) {
  if (!check.good()) return;
  const auto offsets = [&](std::int64_t expected, std::string_view because) {
    check_extent(check, "the length of offsets", a.offsets.extent(0), expected, because);
  };
  switch (a.format) {
    case sparse_format::csr:
      return offsets(a.rows + 1, "one more than rows");
    case sparse_format::csc:
      return offsets(a.columns + 1, "one more than columns");
    case sparse_format::coo:
      return;
    case sparse_format::bsr:
      check_divides(check, "rows", a.rows, a.values.extent(1));
      check_divides(check, "columns", a.columns, a.values.extent(2));
      if (check.good()) offsets(a.rows / a.values.extent(1) + 1, "one more than block rows");
      return;
    case sparse_format::blocked_ell: {
      const std::int64_t block_rows = a.indices.extent(0);
      check_extent(check, "the first extent of values", a.values.extent(0), a.rows, "rows");
      if (a.rows == 0) return;
      check_divides(check, "rows", a.rows, block_rows);
      if (!check.good()) return;
      const std::int64_t block = a.rows / block_rows;
      check_divides(check, "columns", a.columns, block);
      check_divides(check, "the second extent of values", a.values.extent(1), block);
      check_extent(check, "the second extent of indices", a.indices.extent(1),
                   a.values.extent(1) / block, "blocks of a row");
      return;
    }
    case sparse_format::sliced_ell:
      check.rule(a.slice_rows > 0, errc::invalid_argument, [&] {
        return fmt::format("slice_rows must be positive in sliced_ell; it is {}", a.slice_rows);
      });
      if (check.good())
        offsets(a.rows / a.slice_rows + (a.rows % a.slice_rows != 0 ? 1 : 0) + 1,
                "one more than slices");
      return;
  }
}

void check_limits(argument_checks& check, const sparse_matrix& a) {
  const std::int64_t most =
      a.index_type() == dtype::i32 ? std::numeric_limits<std::int32_t>::max() : max_elements;
  const auto fits = [&](std::string_view what, std::int64_t n) {
    check.rule(n <= most, errc::size_overflow, [&] {
      return fmt::format("{} {} are more than indices of type {} can count", n, what,
                         to_string(a.index_type()));
    });
  };
  fits("rows", a.rows);
  fits("columns", a.columns);
  fits("elements", a.stored());
}

template <class M>
void describe_matrix(description<M>& d, access pattern, access values) {
  using enum sparse_format;
  const extent starts = d.size("starts"), nnz = d.size("nnz");
  const extent block_rows = d.size("block_rows"), width = d.size("width");
  const extent r = d.size("r"), c = d.size("c"), m = d.size("m"), filled = d.size("filled");
  // As fields of M, which the base's are, too.
  const auto own = []<class T>(T sparse_matrix::* of) -> T M::* { return of; };
  const auto in_format = [&](std::initializer_list<sparse_format> formats) {
    return d.is(own(&M::format), formats);
  };
  const auto tensor = [&](access role, std::string_view name, any_tensor sparse_matrix::* of,
                          const extent& e, std::string_view text) {
    if (role == access::read) {
      d.reads(name, of, {e}, text);
    } else if (role == access::write) {
      d.writes(name, of, {e}, text);
    } else {
      d.updates(name, of, {e}, text);
    }
  };
  d.value("format", own(&M::format), "how elements are stored");
  d.value("rows", own(&M::rows), "rows of the matrix").at_least(0);
  d.value("columns", own(&M::columns), "columns of the matrix").at_least(0);
  d.value("slice_rows", own(&M::slice_rows), "rows of a slice").at_least(0);
  d.only_where(in_format({sliced_ell}));
  tensor(pattern, "offsets", &M::offsets, starts,
         "where each row begins among the elements, and the end; of csc, each column; of bsr, each "
         "row of blocks; of sliced_ell, each slice");
  d.given_where(in_format({csr, csc, bsr, sliced_ell}));
  tensor(pattern, "row_indices", &M::row_indices, nnz, "the row of each element");
  d.given_where(in_format({coo}));
  tensor(pattern, "indices", &M::indices, nnz,
         "the column of each element or block; of csc, the row");
  d.shape_where(in_format({blocked_ell}), {block_rows, width});
  // The last one, so that a request can say when it does not use old values.
  tensor(values, "values", &M::values, nnz, "elements");
  d.shape_where(in_format({bsr}), {nnz, r, c});
  d.shape_where(in_format({blocked_ell}), {m, filled});
  d.layouts(layout::packed, {&M::offsets, &M::row_indices, &M::indices, &M::values});
  d.types({&M::offsets, &M::row_indices, &M::indices},
          {{dtype::i32, dtype::i32, dtype::i32}, {dtype::i64, dtype::i64, dtype::i64}});
  d.same_type({&M::values},
              {dtype::f32, dtype::f64, dtype::f16, dtype::bf16, dtype::c64, dtype::c128});
  d.rule("indices can count rows, columns and elements",
         [](argument_checks& check, const M& a) { check_limits(check, a); });
  d.rule("extents of the tensors are those of the format",
         [](argument_checks& check, const M& a) { check_tensors(check, a); });
}

}  // namespace

void sparse_matrix::describe(description<sparse_matrix>& d) {
  describe_matrix(d, access::read, access::read);
}
void updated_sparse_matrix::describe(description<updated_sparse_matrix>& d) {
  describe_matrix(d, access::read, access::update);
}
void written_sparse_matrix::describe(description<written_sparse_matrix>& d) {
  describe_matrix(d, access::write, access::write);
}

}  // namespace troupe
