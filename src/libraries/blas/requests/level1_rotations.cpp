#include "libraries/blas/requests/rules.hpp"

#include <troupe/blas/level1_rotations.hpp>

namespace troupe::blas {
namespace {

/// Three tensors of the vectors' type, and the cosine of the real type.
const type_rows& rotation_rows() {
  using enum dtype;
  static const type_rows rows{
      {f32, f32, f32, f32}, {f64, f64, f64, f64}, {c64, c64, c64, f32}, {c128, c128, c128, f64}};
  return rows;
}

void numbers_fit(argument_checks& check, const rot& r) {
  if (r.c_at.null()) check.real_factor("c", r.c).factor("s", r.s, r.x.type());
}

}  // namespace

void rot::describe(description<rot>& d) {
  const extent n = d.size("n");
  d.about("Applies a plane rotation to two vectors: x, y = c · x + s · y, c · y − conj(s) · x.",
          "BLAS xROT, LAPACK CROT for a complex s");
  d.updates("x", &rot::x, {n}, "first vector");
  d.updates("y", &rot::y, {n}, "second vector");
  d.value("c", &rot::c, "cosine, real; not used where c_at is given");
  d.value("s", &rot::s, "sine; not used where s_at is given");
  d.reads("c_at", &rot::c_at, {1}, "cosine, as it is when the request runs").optional();
  d.reads("s_at", &rot::s_at, {1}, "sine, as it is when the request runs")
      .given_where(d.given(&rot::c_at));
  d.layouts(layout::vector, {&rot::x, &rot::y});
  d.types({&rot::x, &rot::y, &rot::s_at, &rot::c_at}, rotation_rows());
  d.rule("without c_at, c is real, and so is s where x is", numbers_fit);
}

void rotg::describe(description<rotg>& d) {
  d.about("Generates a plane rotation: c and s with c · a + s · b = r and c · b − conj(s) · a = 0.",
          "BLAS xROTG");
  d.updates("a", &rotg::a, {1}, "first component; becomes r");
  d.updates("b", &rotg::b, {1}, "second component; becomes z where it is real");
  d.writes("c", &rotg::c, {1}, "cosine");
  d.writes("s", &rotg::s, {1}, "sine");
  d.types({&rotg::a, &rotg::b, &rotg::s, &rotg::c}, rotation_rows());
}

void rotm::describe(description<rotm>& d) {
  const extent n = d.size("n");
  d.about("Applies a modified plane rotation to two vectors: [x; y] = H · [x; y].", "BLAS xROTM");
  d.updates("x", &rotm::x, {n}, "first vector");
  d.updates("y", &rotm::y, {n}, "second vector");
  d.reads("param", &rotm::param, {5}, "flag, h11, h21, h12, h22");
  d.layouts(layout::vector, {&rotm::x, &rotm::y});
  d.layouts(layout::packed, {&rotm::param});
  d.same_type({&rotm::x, &rotm::y, &rotm::param}, real_types);
}

void rotmg::describe(description<rotmg>& d) {
  d.about(
      "Generates the modified plane rotation that makes the second component of "
      "[√d1 · x1; √d2 · y1] zero.",
      "BLAS xROTMG");
  d.updates("d1", &rotmg::d1, {1}, "squared scale of the first component");
  d.updates("d2", &rotmg::d2, {1}, "squared scale of the second component");
  d.updates("x1", &rotmg::x1, {1}, "first component");
  d.reads("y1", &rotmg::y1, {1}, "second component");
  d.updates("param", &rotmg::param, {5}, "flag, h11, h21, h12, h22; what the flag excludes stays");
  d.layouts(layout::packed, {&rotmg::param});
  d.same_type({&rotmg::d1, &rotmg::d2, &rotmg::x1, &rotmg::y1, &rotmg::param}, real_types);
}

}  // namespace troupe::blas
