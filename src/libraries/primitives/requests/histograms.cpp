#include "libraries/primitives/requests/rules.hpp"

#include <troupe/primitives/histograms.hpp>

#include <fmt/format.h>

#include <cmath>

namespace troupe::primitives {

void histogram_even::describe(description<histogram_even>& d) {
  using R = histogram_even;
  const extent n = d.size("n"), bins = d.size("bins");
  d.about("Counts the elements of a vector in bins of equal width.");
  d.reads("x", &R::x, {n}, "vector");
  d.writes("counts", &R::counts, {bins}, "takes the number of elements in each bin");
  d.value("lower", &R::lower, "where the first bin begins").finite();
  d.value("upper", &R::upper, "where the last bin ends").finite();
  d.layouts(layout::vector, {&R::x, &R::counts});
  d.same_type({&R::x}, ordered_types);
  d.same_type({&R::counts}, {dtype::i64});
  d.rule("there is a bin, and lower is less than upper by a finite number",
         [](argument_checks& check, const R& r) {
           check
               .rule(r.counts.extent(0) >= 1, errc::shape_mismatch,
                     [] { return "counts is empty, but there must be a bin"; })
               .rule(r.lower < r.upper && std::isfinite(r.upper - r.lower), errc::invalid_argument,
                     [&] {
                       return fmt::format(
                           "lower is {} and upper is {}; upper − lower must be finite and above 0",
                           r.lower, r.upper);
                     });
         });
}

void histogram_range::describe(description<histogram_range>& d) {
  using R = histogram_range;
  const extent n = d.size("n"), bins = d.size("bins");
  d.about("Counts the elements of a vector between ascending edges.");
  d.reads("x", &R::x, {n}, "vector");
  d.reads("edges", &R::edges, {bins + 1}, "where bins begin; the last is the end of the last bin");
  d.writes("counts", &R::counts, {bins}, "takes the number of elements in each bin");
  d.layouts(layout::vector, {&R::x, &R::edges, &R::counts});
  d.same_type({&R::x}, ordered_types);
  d.same_type({&R::edges}, {dtype::f64});
  d.same_type({&R::counts}, {dtype::i64});
}

}  // namespace troupe::primitives
