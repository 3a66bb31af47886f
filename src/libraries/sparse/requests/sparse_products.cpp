#include "libraries/sparse/requests/rules.hpp"

#include <troupe/sparse/sparse_products.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <limits>

namespace troupe::sparse {
namespace {

template <class R>
void describe_factors(description<R>& d) {
  d.group("a", &R::a);
  d.group("b", &R::b);
}

template <class R>
void describe_rules(description<R>& d) {
  d.same_type({&R::nnz}, {dtype::i64});
  d.keeps_outcomes_where(d.given(&R::nnz));
  d.rule("a and b are both csr or both csc, and fit", [](argument_checks& check, const R& r) {
    check.rule(r.a.format <= sparse_format::csc && r.b.format == r.a.format, errc::invalid_argument,
               [] { return "a and b must both be csr or both be csc"; });
    check.rule(r.a.columns == r.b.rows, errc::shape_mismatch, [&] {
      return fmt::format("b must have as many rows as a has columns: a is [{}, {}], b is [{}, {}]",
                         r.a.rows, r.a.columns, r.b.rows, r.b.columns);
    });
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    check.rule(r.b.columns == 0 || r.a.rows <= most / r.b.columns, errc::size_overflow, [&] {
      return fmt::format("rows · columns of the product must be less than 2^63; it is [{}, {}]",
                         r.a.rows, r.b.columns);
    });
  });
}

}  // namespace

void spgemm::describe(description<spgemm>& d) {
  d.about("Multiplies two sparse matrices: c = alpha · a · b.", "cuSPARSE cusparseSpGEMM");
  describe_factors(d);
  d.group("c", &spgemm::c);
  d.value("alpha", &spgemm::alpha, "factor of the product");
  d.writes("nnz", &spgemm::nnz, {1}, "takes the number of elements").optional();
  describe_rules(d);
  d.rule("a, b and c have one type", [](argument_checks& check, const spgemm& r) {
    check.same_type({"b.values", r.b.values}, {"a.values", r.a.values});
    check.same_type({"c.values", r.c.values}, {"a.values", r.a.values});
    check.factor("alpha", r.alpha, r.a.values.type());
  });
  d.rule("c is a · b's matrix, in the format of a", [](argument_checks& check, const spgemm& r) {
    check.rule(r.c.format == r.a.format, errc::invalid_argument,
               [] { return "c must have the format of a and b"; });
    check.rule(r.c.rows == r.a.rows && r.c.columns == r.b.columns, errc::shape_mismatch, [&] {
      return fmt::format("c is [{}, {}], but a · b is [{}, {}]", r.c.rows, r.c.columns, r.a.rows,
                         r.b.columns);
    });
  });
}

void spgemm_size::describe(description<spgemm_size>& d) {
  d.about("Counts the elements of a product of two sparse matrices.", "cuSPARSE cusparseSpGEMM");
  describe_factors(d);
  d.writes("nnz", &spgemm_size::nnz, {1}, "takes the number of elements").optional();
  describe_rules(d);
}

}  // namespace troupe::sparse
