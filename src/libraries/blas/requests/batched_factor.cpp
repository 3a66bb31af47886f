#include "libraries/blas/requests/rules.hpp"

#include <troupe/blas/batched_factor.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace troupe::blas {
namespace {

constexpr std::string_view small_matrices = "rows and columns are less than 2^31";
/// Extents within a matrix are below 2^31, because pivots and info are i32.
argument_checks& small(argument_checks& check, const operand& a) {
  constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max();
  return check.rule(
      a.view.extent(1) <= limit && a.view.extent(2) <= limit, errc::size_overflow, [&] {
        return fmt::format("{} may have at most 2^31 − 1 rows and columns; it is [{}]", a.name,
                           fmt::join(a.view.extents(), ", "));
      });
}

}  // namespace

void getrf_batched::describe(description<getrf_batched>& d) {
  using self = getrf_batched;
  const extent batch = d.size("batch");
  const extent n = d.size("n");
  d.about("Factors square matrices in place: aᵢ = Pᵢ · Lᵢ · Uᵢ, with partial pivoting.",
          "LAPACK xGETRF");
  d.updates("a", &self::a, {batch, n, n}, "matrices, then their factors");
  d.writes("pivots", &self::pivots, {batch, n}, "the row that each one was exchanged with, from 1");
  d.writes("info", &self::info, {batch}, "0, or the row at which the matrix is singular, from 1");
  d.layouts(layout::column_major, {&self::a});
  d.layouts(layout::packed, {&self::pivots, &self::info});
  d.same_type({&self::a}, classic_types);
  d.same_type({&self::pivots, &self::info}, {dtype::i32});
  d.rule(small_matrices, [](argument_checks& check, const self& r) { small(check, {"a", r.a}); });
}

void getrs_batched::describe(description<getrs_batched>& d) {
  using self = getrs_batched;
  const extent batch = d.size("batch");
  const extent n = d.size("n");
  const extent nrhs = d.size("nrhs");
  d.about("Solves systems with factors from `getrf_batched`: op_a(aᵢ) · xᵢ = bᵢ.", "LAPACK xGETRS");
  d.reads("a", &self::a, {batch, n, n}, "factors");
  d.reads("pivots", &self::pivots, {batch, n}, "the row that each one was exchanged with, from 1");
  d.updates("b", &self::b, {batch, n, nrhs}, "right sides, then the solutions");
  d.value("op_a", &self::op_a, "applied to the matrices that were factored");
  d.layouts(layout::column_major, {&self::a, &self::b});
  d.layouts(layout::packed, {&self::pivots});
  d.same_type({&self::a, &self::b}, classic_types);
  d.same_type({&self::pivots}, {dtype::i32});
  d.rule(small_matrices, [](argument_checks& check, const self& r) {
    small(check, {"a", r.a});
    small(check, {"b", r.b});
  });
  d.rule("op_a is not conjugate", [](argument_checks& check, const self& r) {
    check.rule(r.op_a != storage_op::conjugate, errc::unsupported, [] {
      return std::string("op_a is conjugate, which LAPACK's xGETRS does not take");
    });
  });
}

void getri_batched::describe(description<getri_batched>& d) {
  using self = getri_batched;
  const extent batch = d.size("batch");
  const extent n = d.size("n");
  d.about("Inverts matrices from their factors of `getrf_batched`: cᵢ = aᵢ⁻¹.", "LAPACK xGETRI");
  d.reads("a", &self::a, {batch, n, n}, "factors");
  d.reads("pivots", &self::pivots, {batch, n}, "the row that each one was exchanged with, from 1");
  d.writes("c", &self::c, {batch, n, n}, "inverses");
  d.writes("info", &self::info, {batch}, "0, or the row at which the matrix is singular, from 1");
  d.layouts(layout::column_major, {&self::a, &self::c});
  d.layouts(layout::packed, {&self::pivots, &self::info});
  d.same_type({&self::a, &self::c}, classic_types);
  d.same_type({&self::pivots, &self::info}, {dtype::i32});
  d.rule(small_matrices, [](argument_checks& check, const self& r) { small(check, {"a", r.a}); });
}

void geqrf_batched::describe(description<geqrf_batched>& d) {
  using self = geqrf_batched;
  const extent batch = d.size("batch");
  const extent m = d.size("m");
  const extent n = d.size("n");
  const extent k = d.size("k");
  d.about("Factors matrices in place: aᵢ = Qᵢ · Rᵢ, Q as Householder reflectors.", "LAPACK xGEQRF");
  d.updates("a", &self::a, {batch, m, n}, "matrices, then their factors");
  d.writes("tau", &self::tau, {batch, k}, "factors of the reflectors");
  d.layouts(layout::column_major, {&self::a});
  d.layouts(layout::packed, {&self::tau});
  d.same_type({&self::a, &self::tau}, classic_types);
  d.rule(small_matrices, [](argument_checks& check, const self& r) { small(check, {"a", r.a}); });
  d.rule("k is the smaller of m and n", [](argument_checks& check, const self& r) {
    check.extents({"tau", r.tau}, {r.a.extent(0), std::min(r.a.extent(1), r.a.extent(2))},
                  "the reflectors of a");
  });
}

}  // namespace troupe::blas
