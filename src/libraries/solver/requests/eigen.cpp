#include "libraries/solver/requests/rules.hpp"

#include <troupe/solver/eigen.hpp>

namespace troupe::solver {

void eig::describe(description<eig>& d) {
  using self = eig;
  const extent batch = batch_of(d), n = d.size("n");
  d.about("Finds eigenvalues and eigenvectors of matrices of any kind.",
          "LAPACK xGEEV, cuSOLVER Xgeev");
  d.reads("a", &self::a, {batch, n, n}, "matrices");
  d.writes("w", &self::w, {batch, n}, "eigenvalues, complex");
  d.writes("vr", &self::vr, {batch, n, n}, "right eigenvectors, complex, in columns")
      .optional()
      .given_where(d.is(&self::right));
  d.writes("vl", &self::vl, {batch, n, n}, "left eigenvectors, complex, in columns")
      .optional()
      .given_where(d.is(&self::left));
  d.value("right", &self::right, "whether right eigenvectors are written");
  d.value("left", &self::left, "whether left eigenvectors are written");
  d.layouts(layout::packed, {&self::w});
  d.types({&self::a, &self::w, &self::vr, &self::vl}, matrix_and_complex_rows());
  describe_info(d, batch, "0, how many eigenvalues are missing, or -1: not finite");
  describe_limit(d);
}

void eig_generalised::describe(description<eig_generalised>& d) {
  using self = eig_generalised;
  using enum dtype;
  const extent batch = batch_of(d), n = d.size("n");
  d.about("Finds eigenvalues alpha / beta and eigenvectors of a with b, matrices of any kind.",
          "LAPACK xGGEV");
  d.reads("a", &self::a, {batch, n, n}, "matrices");
  d.reads("b", &self::b, {batch, n, n}, "matrices, singular ones too");
  d.writes("alpha", &self::alpha, {batch, n}, "numerators of the eigenvalues, complex");
  d.writes("beta", &self::beta, {batch, n}, "denominators, real and not negative");
  d.writes("vr", &self::vr, {batch, n, n}, "right eigenvectors, complex, in columns")
      .optional()
      .given_where(d.is(&self::right));
  d.writes("vl", &self::vl, {batch, n, n}, "left eigenvectors, complex, in columns")
      .optional()
      .given_where(d.is(&self::left));
  d.value("right", &self::right, "whether right eigenvectors are written");
  d.value("left", &self::left, "whether left eigenvectors are written");
  d.layouts(layout::packed, {&self::alpha, &self::beta});
  d.types({&self::a, &self::b, &self::alpha, &self::beta, &self::vr, &self::vl},
          {{f32, f32, c64, f32, c64, c64},
           {f64, f64, c128, f64, c128, c128},
           {c64, c64, c64, f32, c64, c64},
           {c128, c128, c128, f64, c128, c128}});
  describe_info(d, batch, "0, how many eigenvalues are missing, or -1: not finite");
  describe_limit(d);
}

}  // namespace troupe::solver
