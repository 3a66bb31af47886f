#include "libraries/blas/requests/rules.hpp"

#include <troupe/blas/level1.hpp>

namespace troupe::blas {

void axpy::describe(description<axpy>& d) {
  const extent n = d.size("n");
  d.about("Adds a multiple of a vector to another: y = alpha · x + y.", "BLAS xAXPY");
  d.reads("x", &axpy::x, {n}, "vector that is added; not read where alpha is 0");
  d.value("alpha", &axpy::alpha, "factor of x");
  d.updates("y", &axpy::y, {n}, "result");
  d.layouts(layout::vector, {&axpy::x, &axpy::y});
  d.same_type({&axpy::x, &axpy::y}, classic_and_half_types);
  d.factors({&axpy::alpha}, &axpy::x);
}

void axpby::describe(description<axpby>& d) {
  const extent n = d.size("n");
  d.about("Adds multiples of two vectors: y = alpha · x + beta · y.", "BLAS Technical Forum AXPBY");
  d.reads("x", &axpby::x, {n}, "vector that is added; not read where alpha is 0");
  d.value("alpha", &axpby::alpha, "factor of x");
  d.value("beta", &axpby::beta, "factor of the old y");
  d.updates("y", &axpby::y, {n}, "result").old_content_unless(d.zero(&axpby::beta));
  d.layouts(layout::vector, {&axpby::x, &axpby::y});
  d.same_type({&axpby::x, &axpby::y}, classic_and_half_types);
  d.factors({&axpby::alpha, &axpby::beta}, &axpby::x);
}

void scal::describe(description<scal>& d) {
  const extent n = d.size("n");
  d.about("Multiplies a vector by a factor: x = alpha · x.", "BLAS xSCAL");
  d.value("alpha", &scal::alpha, "factor of x");
  d.updates("x", &scal::x, {n}, "vector and result");
  d.layouts(layout::vector, {&scal::x});
  d.same_type({&scal::x}, classic_and_half_types);
  d.factors({&scal::alpha}, &scal::x);
}

void copy::describe(description<copy>& d) {
  const extent n = d.size("n");
  d.about("Copies a vector: y = x, or, `reversed`, yᵢ = xₙ₋₁₋ᵢ.", "BLAS xCOPY");
  d.reads("x", &copy::x, {n}, "vector that is copied");
  d.writes("y", &copy::y, {n}, "result");
  d.value("reversed", &copy::reversed, "last element first");
  d.layouts(layout::vector, {&copy::x, &copy::y});
  d.same_type({&copy::x, &copy::y}, classic_types);
}

void swap::describe(description<swap>& d) {
  const extent n = d.size("n");
  d.about("Exchanges two vectors.", "BLAS xSWAP");
  d.updates("x", &swap::x, {n}, "becomes y");
  d.updates("y", &swap::y, {n}, "becomes x");
  d.layouts(layout::vector, {&swap::x, &swap::y});
  d.same_type({&swap::x, &swap::y}, classic_types);
}

}  // namespace troupe::blas
