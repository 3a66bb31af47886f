#include "ops/blas/rules.hpp"

#include <troupe/ops/blas/batched_factor.hpp>

#include <algorithm>
#include <limits>

namespace troupe::blas {
namespace {

/// A batch of LAPACK matrices; extents within one are below 2^31, because pivots and info are i32.
argument_checks& factor_batch(argument_checks& check, const operand& a) {
  check.column_major(a, 3);
  constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max();
  return check.rule(
      a.view.extent(1) <= limit && a.view.extent(2) <= limit, errc::size_overflow,
      [&] { return std::string(a.name) + " has more than 2^31 − 1 rows or columns"; });
}

/// A packed result beside the batch: pivots, info, tau.
argument_checks& beside(argument_checks& check, const operand& t,
                        std::initializer_list<std::int64_t> extents, std::string_view what,
                        dtype type) {
  check.tensor(t, static_cast<int>(extents.size())).extents(t, extents, what).type(t, {type});
  if (!check.good()) return check;
  return check.rule(t.view.packed(), errc::layout_unsupported, [&] {
    return std::string(t.name) + " must be packed, it is " + t.view.to_string();
  });
}

}  // namespace

void getrf_batched::describe(field_visitor& f) {
  f.updates("a", a);
  f.writes("pivots", pivots);
  f.writes("info", info);
}

result<void> getrf_batched::validate() const {
  argument_checks check;
  factor_batch(check, {"a", a}).square({"a", a}).written({"a", a}).type({"a", a}, classic_types);
  beside(check, {"pivots", pivots}, {a.extent(0), a.extent(1)}, "the rows of a", dtype::i32);
  beside(check, {"info", info}, {a.extent(0)}, "the batch", dtype::i32);
  check.apart({"a", a}, {"pivots", pivots}).apart({"a", a}, {"info", info});
  return check.apart({"pivots", pivots}, {"info", info}).verdict();
}

void getrs_batched::describe(field_visitor& f) {
  f.reads("a", a);
  f.reads("pivots", pivots);
  f.updates("b", b);
  f.option("op_a", op_a, storage_op::conjugate);
}

result<void> getrs_batched::validate() const {
  argument_checks check;
  factor_batch(check, {"a", a}).square({"a", a}).type({"a", a}, classic_types);
  beside(check, {"pivots", pivots}, {a.extent(0), a.extent(1)}, "the rows of a", dtype::i32);
  factor_batch(check, {"b", b}).written({"b", b}).same_type({"b", b}, {"a", a});
  check.extents({"b", b}, {a.extent(0), a.extent(1), b.extent(2)}, "the right sides of a");
  check.rule(op_a != storage_op::conjugate, errc::unsupported,
             [] { return std::string("op_a is conjugate, which LAPACK's xGETRS does not take"); });
  return check.apart({"b", b}, {"a", a}).apart({"b", b}, {"pivots", pivots}).verdict();
}

void getri_batched::describe(field_visitor& f) {
  f.reads("a", a);
  f.reads("pivots", pivots);
  f.writes("c", c);
  f.writes("info", info);
}

result<void> getri_batched::validate() const {
  argument_checks check;
  factor_batch(check, {"a", a}).square({"a", a}).type({"a", a}, classic_types);
  beside(check, {"pivots", pivots}, {a.extent(0), a.extent(1)}, "the rows of a", dtype::i32);
  factor_batch(check, {"c", c}).written({"c", c}).same_type({"c", c}, {"a", a});
  check.same_extents({"c", c}, {"a", a});
  beside(check, {"info", info}, {a.extent(0)}, "the batch", dtype::i32);
  check.apart({"c", c}, {"a", a})
      .apart({"c", c}, {"pivots", pivots})
      .apart({"c", c}, {"info", info});
  return check.apart({"info", info}, {"a", a}).apart({"info", info}, {"pivots", pivots}).verdict();
}

void geqrf_batched::describe(field_visitor& f) {
  f.updates("a", a);
  f.writes("tau", tau);
}

result<void> geqrf_batched::validate() const {
  argument_checks check;
  factor_batch(check, {"a", a}).written({"a", a}).type({"a", a}, classic_types);
  beside(check, {"tau", tau}, {a.extent(0), std::min(a.extent(1), a.extent(2))},
         "the reflectors of a", a.type());
  return check.apart({"a", a}, {"tau", tau}).verdict();
}

}  // namespace troupe::blas
