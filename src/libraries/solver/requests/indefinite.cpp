#include "libraries/solver/requests/rules.hpp"

#include <troupe/solver/indefinite.hpp>

namespace troupe::solver {
namespace {

template <class R>
void describe_block_factoring(description<R>& d, std::initializer_list<dtype> types,
                              std::string_view matrices_text) {
  const extent batch = batch_of(d), n = d.size("n");
  d.reads("a", &R::a, {batch, n, n}, matrices_text);
  d.writes("factor", &R::factor, {batch, n, n},
           "D and the multipliers of U or L, zeros in the other triangle")
      .may_be(&R::a);
  d.writes("pivots", &R::pivots, {batch, n},
           "the row that each one was exchanged with, from 1; negative in pairs for 2×2 blocks");
  d.value("uplo", &R::uplo, "the triangle that is read, and that the factor lies in");
  d.layouts(layout::packed, {&R::pivots});
  d.same_type({&R::a, &R::factor}, types);
  d.same_type({&R::pivots}, {dtype::i64});
  describe_info(d, batch, "0, or the zero block of D, from 1");
  describe_limit(d);
}

template <class R>
void describe_block_solving(description<R>& d, std::initializer_list<dtype> types) {
  const extent batch = batch_of(d), n = d.size("n"), nrhs = d.size("nrhs");
  d.reads("factor", &R::factor, {batch, n, n}, "factors");
  d.reads("pivots", &R::pivots, {batch, n}, "their pivots");
  d.reads("b", &R::b, {batch, n, nrhs}, "right sides");
  d.writes("x", &R::x, {batch, n, nrhs}, "solutions").may_be(&R::b);
  d.value("uplo", &R::uplo, uplo_text);
  d.layouts(layout::packed, {&R::pivots});
  d.same_type({&R::factor, &R::b, &R::x}, types);
  d.same_type({&R::pivots}, {dtype::i64});
  describe_limit(d);
}

}  // namespace

void sytrf::describe(description<sytrf>& d) {
  d.about("Factors symmetric matrices: a = U · D · Uᵀ (upper), or a = L · D · Lᵀ (lower).",
          "LAPACK xSYTRF");
  describe_block_factoring(d, solver_types, "symmetric matrices");
}

void sytrs::describe(description<sytrs>& d) {
  d.about("Solves systems with factors from `sytrf`: a · x = b.", "LAPACK xSYTRS");
  describe_block_solving(d, solver_types);
}

void hetrf::describe(description<hetrf>& d) {
  d.about("Factors Hermitian matrices: a = U · D · Uᴴ (upper), or a = L · D · Lᴴ (lower).",
          "LAPACK xHETRF");
  describe_block_factoring(d, {dtype::c64, dtype::c128}, "Hermitian matrices");
}

void hetrs::describe(description<hetrs>& d) {
  d.about("Solves systems with factors from `hetrf`: a · x = b.", "LAPACK xHETRS");
  describe_block_solving(d, {dtype::c64, dtype::c128});
}

}  // namespace troupe::solver
