#include "libraries/sparse/requests/rules.hpp"

#include <troupe/sparse/conversions.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <string_view>

namespace troupe::sparse {
namespace {

/// The fields behind the matrix that is made.
template <class R>
void describe_count(description<R>& d) {
  d.writes("nnz", &R::nnz, {1}, "takes the number of elements").optional();
  d.same_type({&R::nnz}, {dtype::i64});
  d.keeps_outcomes(errc::capacity_exceeded, d.given(&R::nnz));
}

template <class R>
void describe_made(description<R>& d) {
  d.group("b", &R::b);
  describe_count(d);
  d.rule("the matrix that is made is csr, csc or coo",
         [](argument_checks& check, const R& r) { check_made_format(check, "b", r.b); });
}

/// Elements are sorted by the number of their place.
void check_places(argument_checks& check, const sparse_matrix& a) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  check.rule(a.columns == 0 || a.rows <= most / a.columns, errc::size_overflow, [&] {
    return fmt::format("rows · columns must be less than 2^63; a is [{}, {}]", a.rows, a.columns);
  });
}

void check_same_extents(argument_checks& check, std::string_view name, const sparse_matrix& is,
                        const sparse_matrix& a) {
  check.rule(a.rows == is.rows && a.columns == is.columns, errc::shape_mismatch, [&] {
    return fmt::format("{} is [{}, {}], but a is [{}, {}]", name, is.rows, is.columns, a.rows,
                       a.columns);
  });
}

}  // namespace

void from_dense::describe(description<from_dense>& d) {
  const extent m = d.size("m"), n = d.size("n");
  d.about("Keeps the elements of a dense matrix that are not zero.");
  d.reads("a", &from_dense::a, {m, n}, "dense matrix");
  describe_made(d);
  d.same_type({&from_dense::a}, value_types);
  d.rule("a has the type, rows and columns of b", [](argument_checks& check, const from_dense& r) {
    check.same_type({"a", r.a}, {"b.values", r.b.values});
    check_extent(check, {"a", r.a}, 0, r.b.rows, "the rows of b");
    check_extent(check, {"a", r.a}, 1, r.b.columns, "the columns of b");
  });
}

void to_dense::describe(description<to_dense>& d) {
  const extent m = d.size("m"), n = d.size("n");
  d.about("Writes a sparse matrix as a dense one.");
  d.group("a", &to_dense::a);
  d.writes("b", &to_dense::b, {m, n}, "dense matrix");
  d.same_type({&to_dense::b}, value_types);
  d.derived(m, [](const to_dense& r, std::vector<std::int64_t>& e) { e.push_back(r.a.rows); });
  d.derived(n, [](const to_dense& r, std::vector<std::int64_t>& e) { e.push_back(r.a.columns); });
  d.rule("b has the type, rows and columns of a", [](argument_checks& check, const to_dense& r) {
    check.same_type({"b", r.b}, {"a.values", r.a.values});
    check_extent(check, {"b", r.b}, 0, r.a.rows, "the rows of a");
    check_extent(check, {"b", r.b}, 1, r.a.columns, "the columns of a");
  });
}

void convert::describe(description<convert>& d) {
  d.about("Writes a sparse matrix in another format, or the same with its elements in order.");
  d.group("a", &convert::a);
  describe_made(d);
  d.rule("a and b have the same type, rows and columns",
         [](argument_checks& check, const convert& r) {
           check.same_type({"b.values", r.b.values}, {"a.values", r.a.values});
           check_same_extents(check, "b", r.b, r.a);
           check_places(check, r.a);
         });
}

void slice::describe(description<slice>& d) {
  d.about("Takes a part of a sparse matrix.");
  d.group("a", &slice::a);
  describe_made(d);
  d.value("first_row", &slice::first_row, "row of a that is b's first");
  d.value("first_column", &slice::first_column, "column of a that is b's first");
  d.rule("b has the type of a and is within it", [](argument_checks& check, const slice& r) {
    check.same_type({"b.values", r.b.values}, {"a.values", r.a.values});
    const auto is_within = [](std::int64_t first, std::int64_t count, std::int64_t all) {
      return first >= 0 && first <= all && count <= all - first;
    };
    check.rule(is_within(r.first_row, r.b.rows, r.a.rows) &&
                   is_within(r.first_column, r.b.columns, r.a.columns),
               errc::shape_mismatch, [&] {
                 return fmt::format("b is [{}, {}] from row {} and column {} on, but a is [{}, {}]",
                                    r.b.rows, r.b.columns, r.first_row, r.first_column, r.a.rows,
                                    r.a.columns);
               });
    check_places(check, r.a);
  });
}

void add::describe(description<add>& d) {
  d.about("Adds two sparse matrices: c = alpha · a + beta · b.", "cuSPARSE cusparseScsrgeam2");
  d.group("a", &add::a);
  d.group("b", &add::b);
  d.group("c", &add::c);
  d.value("alpha", &add::alpha, "factor of a");
  d.value("beta", &add::beta, "factor of b");
  describe_count(d);
  d.rule("a, b and c have the same type, rows and columns; c is csr, csc or coo",
         [](argument_checks& check, const add& r) {
           check_made_format(check, "c", r.c);
           check.same_type({"b.values", r.b.values}, {"a.values", r.a.values});
           check.same_type({"c.values", r.c.values}, {"a.values", r.a.values});
           check.factor("alpha", r.alpha, r.a.values.type());
           check.factor("beta", r.beta, r.a.values.type());
           check_same_extents(check, "b", r.b, r.a);
           check_same_extents(check, "c", r.c, r.a);
           check_places(check, r.a);
         });
}

}  // namespace troupe::sparse
