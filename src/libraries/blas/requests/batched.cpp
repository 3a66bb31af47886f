#include "libraries/blas/requests/rules.hpp"
#include "request/aliasing.hpp"

#include <troupe/blas/batched.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>

namespace troupe::blas {
namespace {

std::string numbered(std::string_view list, std::size_t i) {
  return std::string(list) + "[" + std::to_string(i) + "]";
}

/// The three lists have the same length.
argument_checks& same_length(argument_checks& check, std::size_t a, std::size_t b, std::size_t c) {
  return check.rule(a == b && a == c, errc::shape_mismatch, [&] {
    return "a, b and c must be lists of equal length; a has " + std::to_string(a) + ", b has " +
           std::to_string(b) + ", c has " + std::to_string(c);
  });
}

argument_checks& listed_product(argument_checks& check, const operand& a, const operand& b,
                                const operand& c) {
  check.matrix(a).matrix(b).matrix(c);
  check.rule(b.view.extent(0) == a.view.extent(1), errc::shape_mismatch, [&] {
    return fmt::format("{} must have {} rows because {} is [{}]; it is [{}]", b.name,
                       a.view.extent(1), a.name, fmt::join(a.view.extents(), ", "),
                       fmt::join(b.view.extents(), ", "));
  });
  check.extents(c, {a.view.extent(0), b.view.extent(1)}, "a·b");
  return product_types(check, a, b, c);
}

/// Every member of a list has the layout of the first.
argument_checks& uniform(argument_checks& check, std::string_view name,
                         const std::vector<any_tensor>& list) {
  for (std::size_t i = 1; i < list.size(); ++i) {
    const any_tensor& one = list[i];
    if (!check.tensor({numbered(name, i), one}).good()) return check;
    const bool same = one.type() == list[0].type() &&
                      std::ranges::equal(one.extents(), list[0].extents()) &&
                      std::ranges::equal(one.strides(), list[0].strides());
    check.rule(same && !one.null(), errc::layout_unsupported, [&] {
      const std::string self = numbered(name, i);
      const std::string first = numbered(name, 0);
      return fmt::format(
          "{} must have the type, extents and strides of {}; {} is {}, {} is {} (use "
          "blas.gemm_grouped for different sizes)",
          self, first, self, one.to_string(), first, list[0].to_string());
    });
  }
  return check;
}

/// No c shares elements with another c, an a or a b. Sorted by address, so that long lists do not
/// cost the square of their length: only neighbours whose byte ranges meet are looked at, and from
/// an a or a b only the c among them, for all problems may share one a.
argument_checks& all_apart(argument_checks& check, const std::vector<any_tensor>& a,
                           const std::vector<any_tensor>& b, const std::vector<any_tensor>& c) {
  if (!check.good()) return check;
  struct member {
    const std::byte* begin;
    const std::byte* end;
    const any_tensor* view;
    std::string_view list;
    std::size_t index;
  };
  std::vector<member> members;
  members.reserve(a.size() + b.size() + c.size());
  const auto add = [&](std::string_view name, const std::vector<any_tensor>& list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].empty()) continue;
      const auto reach = list[i].reach();
      members.push_back(
          {list[i].address() + reach.begin, list[i].address() + reach.end, &list[i], name, i});
    }
  };
  add("a", a);
  add("b", b);
  add("c", c);
  // If several are the same, the first is named.
  std::ranges::sort(members, std::less<>(),
                    [](const member& m) { return std::tuple(m.begin, m.list, m.index); });
  std::vector<std::size_t> next_c(members.size() + 1, members.size());  // from a place on
  for (std::size_t i = members.size(); i-- > 0;)
    next_c[i] = members[i].list == "c" ? i : next_c[i + 1];
  for (std::size_t i = 0; i < members.size() && check.good(); ++i) {
    const member& left = members[i];
    const bool is_c = left.list == "c";
    const auto from = [&](std::size_t place) { return is_c ? place : next_c[place]; };
    for (std::size_t j = from(i + 1); j < members.size() && members[j].begin < left.end;
         j = from(j + 1)) {
      const member& right = members[j];
      check.rule(!share_elements(*left.view, *right.view), errc::aliasing, [&] {
        return numbered("c", is_c ? left.index : right.index) +
               " is written and must not overlap " +
               (is_c ? numbered(right.list, right.index) : numbered(left.list, left.index));
      });
    }
  }
  return check;
}

// Rules of both requests that take lists. All but the first are asked of lists of the same length.

template <class R>
void same_lengths(argument_checks& check, const R& r) {
  same_length(check, r.a.size(), r.b.size(), r.c.size());
}

template <class R>
void math_fits_lists(argument_checks& check, const R& r) {
  if (!r.a.empty()) math_fits(check, r.math, r.a[0].type());
}

template <class R>
void results_apart(argument_checks& check, const R& r) {
  all_apart(check, r.a, r.b, r.c);
}

/// One factor for each problem, one for all, or none; all of them fit the type of c.
argument_checks& factor_list(argument_checks& check, std::string_view name,
                             const std::vector<scalar>& list, const std::vector<any_tensor>& c) {
  check.rule(list.size() <= 1 || list.size() == c.size(), errc::shape_mismatch, [&] {
    return std::string(name) + " has " + std::to_string(list.size()) + " factors for " +
           std::to_string(c.size()) + " problems; it must have one for each, one, or none";
  });
  for (const scalar& one : list)
    product_factor(check, name, one, c[0].type());
  return check;
}

void grouped_products(argument_checks& check, const gemm_grouped& r) {
  for (std::size_t i = 0; i < r.c.size() && check.good(); ++i) {
    const std::string names[] = {numbered("a", i), numbered("b", i), numbered("c", i)};
    listed_product(check, {names[0], r.a[i]}, {names[1], r.b[i]}, {names[2], r.c[i]});
    check.same_type({names[0], r.a[i]}, {"a[0]", r.a[0]});
    check.same_type({names[2], r.c[i]}, {"c[0]", r.c[0]});
  }
}

}  // namespace

void gemm_strided_batched::describe(description<gemm_strided_batched>& d) {
  using self = gemm_strided_batched;
  const extent batch = d.size("batch");
  const extent m = d.size("m");
  const extent n = d.size("n");
  const extent k = d.size("k");
  d.about(
      "Multiplies matrices that lie at constant distances: cᵢ = alpha · op_a(aᵢ) · op_b(bᵢ) + "
      "beta · cᵢ.",
      "cuBLAS gemmStridedBatched");
  d.reads("a", &self::a, {batch, m, k}, "left factors");
  d.reads("b", &self::b, {batch, k, n}, "right factors");
  d.value("alpha", &self::alpha, "factor of the products");
  d.value("beta", &self::beta, "factor of the old c");
  d.updates("c", &self::c, {batch, m, n}, "results").old_content_unless(d.zero(&self::beta));
  d.value("op_a", &self::op_a, "applied to the elements of a");
  d.value("op_b", &self::op_b, "applied to the elements of b");
  d.value("math", &self::math, "arithmetic of the products").only_where(takes_math(d, &self::a));
  d.value("deterministic", &self::deterministic, "the same bits on every run");
  d.layouts(layout::matrix, {&self::a, &self::b, &self::c});
  d.types({&self::a, &self::b, &self::c}, product_rows());
  d.factors({&self::alpha, &self::beta}, &self::c);
}

void gemm_batched::describe(description<gemm_batched>& d) {
  using self = gemm_batched;
  const extent m = d.size("m");
  const extent n = d.size("n");
  const extent k = d.size("k");
  d.about("Multiplies matrices that lie anywhere: cᵢ = alpha · op_a(aᵢ) · op_b(bᵢ) + beta · cᵢ.",
          "cuBLAS gemmBatched");
  d.reads("a", &self::a, {m, k}, "left factors");
  d.reads("b", &self::b, {k, n}, "right factors");
  d.value("alpha", &self::alpha, "factor of the products");
  d.value("beta", &self::beta, "factor of the old c");
  d.updates("c", &self::c, {m, n}, "results").old_content_unless(d.zero(&self::beta));
  d.value("op_a", &self::op_a, "applied to the elements of a");
  d.value("op_b", &self::op_b, "applied to the elements of b");
  d.value("math", &self::math, "arithmetic of the products");
  d.value("deterministic", &self::deterministic, "the same bits on every run");
  d.rule("a, b and c have the same length", same_lengths<self>);
  d.rule("each a · b and its c fit, in extents, types and layouts as gemm takes them",
         [](argument_checks& check, const self& r) {
           if (r.c.empty()) return;
           listed_product(check, {"a[0]", r.a[0]}, {"b[0]", r.b[0]}, {"c[0]", r.c[0]});
         });
  d.rule("all of a list have the same extents, strides and type",
         [](argument_checks& check, const self& r) {
           uniform(check, "a", r.a);
           uniform(check, "b", r.b);
           uniform(check, "c", r.c);
         });
  d.rule("alpha and beta are numbers that the type of c takes",
         [](argument_checks& check, const self& r) {
           if (r.c.empty()) return;
           product_factor(check, "alpha", r.alpha, r.c[0].type());
           product_factor(check, "beta", r.beta, r.c[0].type());
         });
  d.rule("math is strict unless a is f32 or c64", math_fits_lists<self>);
  d.rule("no c shares elements with another c, an a or a b", results_apart<self>);
}

void gemm_grouped::describe(description<gemm_grouped>& d) {
  using self = gemm_grouped;
  const extent m = d.size("m");
  const extent n = d.size("n");
  const extent k = d.size("k");
  d.about("Multiplies matrices of different sizes: cᵢ = alphaᵢ · op_a(aᵢ) · op_b(bᵢ) + betaᵢ · cᵢ.",
          "cuBLAS gemmGroupedBatched");
  d.reads("a", &self::a, {m, k}, "left factors");
  d.reads("b", &self::b, {k, n}, "right factors");
  d.value("alpha", &self::alpha,
          "factors of the products, one for each or one for all; none means 1");
  d.value("beta", &self::beta, "factors of the old c, one for each or one for all; none means 0");
  d.updates("c", &self::c, {m, n}, "results").old_content_unless(d.zero(&self::beta));
  d.value("op_a", &self::op_a, "applied to the elements of a");
  d.value("op_b", &self::op_b, "applied to the elements of b");
  d.value("math", &self::math, "arithmetic of the products");
  d.value("deterministic", &self::deterministic, "the same bits on every run");
  d.rule("a, b and c have the same length", same_lengths<self>);
  d.rule("alpha and beta have a number for each c, one, or none, and the type of c takes them",
         [](argument_checks& check, const self& r) {
           if (r.c.empty()) return;
           factor_list(check, "alpha", r.alpha, r.c);
           factor_list(check, "beta", r.beta, r.c);
         });
  d.rule("math is strict unless a is f32 or c64", math_fits_lists<self>);
  d.rule(
      "each a · b and its c fit, in extents, types and layouts as gemm takes them, and all of "
      "a list have one type",
      grouped_products);
  d.rule("no c shares elements with another c, an a or a b", results_apart<self>);
}

void gemv_batched::describe(description<gemv_batched>& d) {
  using self = gemv_batched;
  const extent batch = d.size("batch");
  const extent m = d.size("m");
  const extent n = d.size("n");
  d.about("Multiplies matrices and vectors: yᵢ = alpha · op_a(aᵢ) · xᵢ + beta · yᵢ.",
          "cuBLAS gemvStridedBatched");
  d.reads("a", &self::a, {batch, m, n}, "matrices");
  d.reads("x", &self::x, {batch, n}, "vectors");
  d.value("alpha", &self::alpha, "factor of the products");
  d.value("beta", &self::beta, "factor of the old y");
  d.updates("y", &self::y, {batch, m}, "results").old_content_unless(d.zero(&self::beta));
  d.value("op_a", &self::op_a, "applied to the elements of a");
  d.layouts(layout::matrix, {&self::a});
  d.same_type({&self::a, &self::x, &self::y}, classic_types);
  d.factors({&self::alpha, &self::beta}, &self::a);
  d.rule("the vectors of x have a stride of at least 1", [](argument_checks& check, const self& r) {
    check.rule(r.x.extent(1) <= 1 || r.x.stride(1) >= 1, errc::layout_unsupported, [&] {
      return "the vectors of x must have a stride of at least 1; x is " + r.x.to_string();
    });
  });
}

void trsm_batched::describe(description<trsm_batched>& d) {
  using self = trsm_batched;
  const extent batch = d.size("batch");
  const extent m = d.size("m");
  const extent n = d.size("n");
  d.about(
      "Solves triangular systems: op_a(aᵢ) · xᵢ = alpha · bᵢ (left), or xᵢ · op_a(aᵢ) = alpha · "
      "bᵢ.",
      "cuBLAS trsmBatched");
  d.reads("a", &self::a, {batch, m, m}, "triangular matrices")
      .shape_where(d.is(&self::side, {blas::side::right}), {batch, n, n});
  d.value("alpha", &self::alpha, "factor of the old b");
  d.updates("b", &self::b, {batch, m, n}, "right sides, then the solutions")
      .old_content_unless(d.zero(&self::alpha));
  d.value("side", &self::side, "the side of b that a is on");
  d.value("uplo", &self::uplo, "the triangle of a that is read");
  d.value("diag", &self::diag, "whether the diagonal of a is read, or taken to be ones");
  d.value("op_a", &self::op_a, "applied to a's elements");
  d.value("deterministic", &self::deterministic, "the same bits on every run");
  d.layouts(layout::matrix, {&self::a, &self::b});
  d.same_type({&self::a, &self::b}, classic_types);
  d.factors({&self::alpha}, &self::a);
}

}  // namespace troupe::blas
