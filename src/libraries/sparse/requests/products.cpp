#include "libraries/sparse/requests/rules.hpp"

#include <troupe/sparse/products.hpp>

#include <cstdint>
#include <vector>

namespace troupe::sparse {
namespace {

template <class R>
std::int64_t rows_of(const R& r) noexcept {
  return transposes(r.op_a) ? r.a.columns : r.a.rows;
}
template <class R>
std::int64_t columns_of(const R& r) noexcept {
  return transposes(r.op_a) ? r.a.rows : r.a.columns;
}

template <class R>
void describe_options(description<R>& d) {
  d.value("op_a", &R::op_a, "applied to a");
}

}  // namespace

void spmv::describe(description<spmv>& d) {
  const extent m = d.size("m"), n = d.size("n");
  d.about("Multiplies a sparse matrix and a vector: y = alpha · op_a(a) · x + beta · y.",
          "cuSPARSE cusparseSpMV");
  d.group("a", &spmv::a);
  d.reads("x", &spmv::x, {n}, "vector");
  d.value("alpha", &spmv::alpha, "factor of the product");
  d.value("beta", &spmv::beta, "factor of the old y");
  d.updates("y", &spmv::y, {m}, "result").old_content_unless(d.zero(&spmv::beta));
  describe_options(d);
  d.layouts(layout::vector, {&spmv::x, &spmv::y});
  d.same_type({&spmv::x, &spmv::y}, value_types);
  d.factors({&spmv::alpha, &spmv::beta}, &spmv::y);
  d.derived(m, [](const spmv& r, std::vector<std::int64_t>& e) { e.push_back(rows_of(r)); });
  d.rule("x and y have a's type and are as long as op_a(a) has columns and rows",
         [](argument_checks& check, const spmv& r) {
           check.same_type({"x", r.x}, {"a.values", r.a.values});
           check_extent(check, {"x", r.x}, 0, columns_of(r), "the columns of op_a(a)");
           check_extent(check, {"y", r.y}, 0, rows_of(r), "the rows of op_a(a)");
         });
}

void spmm::describe(description<spmm>& d) {
  const extent m = d.size("m"), k = d.size("k"), n = d.size("n");
  d.about("Multiplies a sparse and a dense matrix: c = alpha · op_a(a) · b + beta · c.",
          "cuSPARSE cusparseSpMM");
  d.group("a", &spmm::a);
  d.reads("b", &spmm::b, {k, n}, "dense factor");
  d.value("alpha", &spmm::alpha, "factor of the product");
  d.value("beta", &spmm::beta, "factor of the old c");
  d.updates("c", &spmm::c, {m, n}, "result").old_content_unless(d.zero(&spmm::beta));
  describe_options(d);
  d.layouts(layout::matrix, {&spmm::b, &spmm::c});
  d.same_type({&spmm::b, &spmm::c}, value_types);
  d.factors({&spmm::alpha, &spmm::beta}, &spmm::c);
  d.derived(m, [](const spmm& r, std::vector<std::int64_t>& e) { e.push_back(rows_of(r)); });
  d.rule("b and c have a's type and as many rows as op_a(a) has columns and rows",
         [](argument_checks& check, const spmm& r) {
           check.same_type({"b", r.b}, {"a.values", r.a.values});
           check_extent(check, {"b", r.b}, 0, columns_of(r), "the columns of op_a(a)");
           check_extent(check, {"c", r.c}, 0, rows_of(r), "the rows of op_a(a)");
         });
}

void sddmm::describe(description<sddmm>& d) {
  const extent m = d.size("m"), k = d.size("k"), n = d.size("n");
  d.about(
      "The elements of a dense product that a sparse matrix has: c = alpha · (a · b) ∘ pattern of "
      "c + beta · c.",
      "cuSPARSE cusparseSDDMM");
  d.reads("a", &sddmm::a, {m, k}, "left factor");
  d.reads("b", &sddmm::b, {k, n}, "right factor");
  d.value("alpha", &sddmm::alpha, "factor of the product");
  d.value("beta", &sddmm::beta, "factor of the old values");
  // Padding is not written, so that values are updated even where beta is 0.
  d.group("c", &sddmm::c);
  d.same_type({&sddmm::a, &sddmm::b}, value_types);
  d.factors({&sddmm::alpha, &sddmm::beta}, &sddmm::a);
  d.rule("a and b have the type, rows and columns of c",
         [](argument_checks& check, const sddmm& r) {
           check.same_type({"a", r.a}, {"c.values", r.c.values});
           check_extent(check, {"a", r.a}, 0, r.c.rows, "the rows of c");
           check_extent(check, {"b", r.b}, 1, r.c.columns, "the columns of c");
         });
}

}  // namespace troupe::sparse
