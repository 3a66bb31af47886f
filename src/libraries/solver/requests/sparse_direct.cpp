#include "libraries/solver/requests/rules.hpp"

#include <troupe/solver/sparse_direct.hpp>

#include <fmt/format.h>

namespace troupe::solver {
namespace {

template <class R>
void describe_sparse(description<R>& d, const extent& m, const extent& n) {
  const extent nnz = d.size("nnz"), nrhs = d.size("nrhs");
  d.reads("offsets", &R::offsets, {m + 1}, "where each row begins among the elements, and the end");
  d.reads("columns", &R::columns, {nnz}, "the column of each element, ascending in a row");
  d.reads("values", &R::values, {nnz}, "elements");
  d.reads("b", &R::b, {m, nrhs}, "right sides");
  d.writes("x", &R::x, {n, nrhs}, "solutions").may_be(&R::b);
  d.value("ordering", &R::ordering, "the order in which the matrix is factored");
  d.layouts(layout::packed, {&R::offsets, &R::columns, &R::values});
  d.types({&R::offsets, &R::columns}, {{dtype::i32, dtype::i32}, {dtype::i64, dtype::i64}});
  d.same_type({&R::values, &R::b, &R::x}, {dtype::f32, dtype::f64});
  describe_limit(d);
}

}  // namespace

void sparse_cholesky::describe(description<sparse_cholesky>& d) {
  const extent n = d.size("n");
  d.about("Solves systems with a sparse positive definite matrix: a · x = b, by Cholesky.",
          "Eigen SimplicialLLT, cuSOLVER csrlsvchol");
  describe_sparse(d, n, n);
}

void sparse_lu::describe(description<sparse_lu>& d) {
  const extent n = d.size("n");
  d.about("Solves systems with a sparse square matrix: a · x = b, by LU with partial pivoting.",
          "Eigen SparseLU, cuSOLVER csrlsvlu");
  describe_sparse(d, n, n);
}

void sparse_qr::describe(description<sparse_qr>& d) {
  const extent m = d.size("m"), n = d.size("n");
  d.about("Finds x that minimises the norm of each column of a · x − b, with sparse a, by QR.",
          "Eigen SparseQR, cuSOLVER csrlsvqr");
  describe_sparse(d, m, n);
  d.rule("m ≥ n", [](argument_checks& check, const sparse_qr& r) {
    check.rule(r.b.extent(0) >= r.x.extent(0), errc::shape_mismatch, [&] {
      return fmt::format("a must have as many rows as columns, or more; it is [{}, {}]",
                         r.b.extent(0), r.x.extent(0));
    });
  });
}

}  // namespace troupe::solver
