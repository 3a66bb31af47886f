#include "libraries/sparse/requests/rules.hpp"

#include <troupe/sparse/conversions.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <limits>

namespace troupe::sparse {
namespace {

template <class R>
void describe_made(description<R>& d) {
  d.group("b", &R::b);
  d.writes("nnz", &R::nnz, {1}, "takes the number of elements").optional();
  d.same_type({&R::nnz}, {dtype::i64});
  d.keeps_outcomes_where(d.given(&R::nnz));
  d.rule("the matrix that is made is csr, csc or coo",
         [](argument_checks& check, const R& r) { check_made_format(check, "b", r.b); });
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
  d.rule(
      "a and b have the same type, rows and columns", [](argument_checks& check, const convert& r) {
        check.same_type({"b.values", r.b.values}, {"a.values", r.a.values});
        check.rule(r.a.rows == r.b.rows && r.a.columns == r.b.columns, errc::shape_mismatch, [&] {
          return fmt::format("b is [{}, {}], but a is [{}, {}]", r.b.rows, r.b.columns, r.a.rows,
                             r.a.columns);
        });
        constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
        check.rule(r.a.columns == 0 || r.a.rows <= most / r.a.columns, errc::size_overflow, [&] {
          return fmt::format("rows · columns must be less than 2^63; a is [{}, {}]", r.a.rows,
                             r.a.columns);
        });
      });
}

}  // namespace troupe::sparse
