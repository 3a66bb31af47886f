#include "libraries/solver/requests/rules.hpp"

#include <troupe/solver/qr.hpp>

#include <fmt/format.h>

#include <string>

namespace troupe::solver {
namespace {

constexpr std::string_view tau_text = "factors of the reflectors";

}  // namespace

void geqrf::describe(description<geqrf>& d) {
  using self = geqrf;
  const extent batch = batch_of(d), m = d.size("m"), n = d.size("n");
  d.about("Factors matrices: a = Q · R, Q as Householder reflectors.", "LAPACK xGEQRF");
  d.reads("a", &self::a, {batch, m, n}, "matrices");
  d.writes("qr", &self::qr, {batch, m, n}, "R, and below it the reflectors").may_be(&self::a);
  d.writes("tau", &self::tau, {batch, min(m, n)}, tau_text);
  d.layouts(layout::packed, {&self::tau});
  d.same_type({&self::a, &self::qr, &self::tau}, solver_types);
  describe_limit(d);
}

void geqp3::describe(description<geqp3>& d) {
  using self = geqp3;
  const extent batch = batch_of(d), m = d.size("m"), n = d.size("n");
  d.about("Factors matrices with pivoting of columns: a · P = Q · R, Q as Householder reflectors.",
          "LAPACK xGEQP3");
  d.reads("a", &self::a, {batch, m, n}, "matrices");
  d.writes("qr", &self::qr, {batch, m, n}, "R, and below it the reflectors").may_be(&self::a);
  d.writes("tau", &self::tau, {batch, min(m, n)}, tau_text);
  d.writes("columns", &self::columns, {batch, n},
           "the column of a that each one of qr was, from 0");
  d.layouts(layout::packed, {&self::tau, &self::columns});
  d.same_type({&self::a, &self::qr, &self::tau}, solver_types);
  d.same_type({&self::columns}, {dtype::i64});
  describe_limit(d);
}

void orgqr::describe(description<orgqr>& d) {
  using self = orgqr;
  const extent batch = batch_of(d), m = d.size("m"), n = d.size("n");
  d.about("Writes Q, from the reflectors of `geqrf` or `geqp3`.", "LAPACK xORGQR, xUNGQR");
  d.reads("qr", &self::qr, {batch, m, n}, "reflectors, below the diagonal");
  d.reads("tau", &self::tau, {batch, min(m, n)}, tau_text);
  d.writes("q", &self::q, {batch, m, min(m, n)}, "orthonormal columns")
      .shape_where(d.is(&self::basis, {basis::full}), {batch, m, m})
      .may_be(&self::qr);
  d.value("basis", &self::basis, "how many columns of Q are written");
  d.layouts(layout::packed, {&self::tau});
  d.same_type({&self::qr, &self::tau, &self::q}, solver_types);
  describe_limit(d);
}

void ormqr::describe(description<ormqr>& d) {
  using self = ormqr;
  const extent batch = batch_of(d), m = d.size("m"), n = d.size("n"), k = d.size("k");
  d.about("Multiplies by Q: y = op_q(Q) · x (left), or y = x · op_q(Q) (right).",
          "LAPACK xORMQR, xUNMQR");
  d.reads("qr", &self::qr, {batch, m, k}, "reflectors, below the diagonal")
      .shape_where(d.is(&self::side, {blas::side::right}), {batch, n, k});
  d.reads("tau", &self::tau, {batch, min(m, k)}, tau_text)
      .shape_where(d.is(&self::side, {blas::side::right}), {batch, min(n, k)});
  d.reads("x", &self::x, {batch, m, n}, "other factor");
  d.writes("y", &self::y, {batch, m, n}, "product").may_be(&self::x);
  d.value("side", &self::side, "the side of x that Q is on");
  d.value("op_q", &self::op_q, "applied to Q");
  d.layouts(layout::packed, {&self::tau});
  d.same_type({&self::qr, &self::tau, &self::x, &self::y}, solver_types);
  describe_limit(d);
  d.rule("op_q is none or conjugate_transpose, or for real types transpose",
         [](argument_checks& check, const self& r) {
           const bool transposes = r.op_q == blas::storage_op::transpose && !is_complex(r.x.type());
           check.rule(transposes || r.op_q == blas::storage_op::none ||
                          r.op_q == blas::storage_op::conjugate_transpose,
                      errc::unsupported, [&] {
                        return fmt::format(
                            "op_q is {}, which LAPACK does not take for {}: use none or "
                            "conjugate_transpose",
                            r.op_q == blas::storage_op::transpose ? "transpose" : "conjugate",
                            to_string(r.x.type()));
                      });
         });
}

}  // namespace troupe::solver
