#include "ops/blas/rules.hpp"

#include <troupe/ops/blas/batched.hpp>

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
    return "the lists must have the same length, a has " + std::to_string(a) + ", b has " +
           std::to_string(b) + ", c has " + std::to_string(c);
  });
}

argument_checks& one_product(argument_checks& check, const operand& a, const operand& b,
                             const operand& c) {
  check.matrix(a).matrix(b).matrix(c).written(c);
  check.extents(b, {a.view.extent(1), b.view.extent(1)}, "what a leaves to multiply");
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
      return numbered(name, i) + " is " + one.to_string() + " but " + numbered(name, 0) + " is " +
             list[0].to_string() + "; gemm_grouped takes different ones";
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
  // Of several that are one and the same, the first is named.
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
               " is written and shares elements with " +
               (is_c ? numbered(right.list, right.index) : numbered(left.list, left.index));
      });
    }
  }
  return check;
}

argument_checks& batch_length(argument_checks& check, const operand& t, const operand& as) {
  return check.rule(t.view.extent(0) == as.view.extent(0), errc::shape_mismatch, [&] {
    return std::string(t.name) + " has a batch of " + std::to_string(t.view.extent(0)) + " but " +
           std::string(as.name) + " one of " + std::to_string(as.view.extent(0));
  });
}

}  // namespace

void gemm_strided_batched::describe(field_visitor& f) {
  f.reads("a", a);
  f.reads("b", b);
  f.value("alpha", alpha);
  f.value("beta", beta);
  f.updates("c", c, !beta.is_zero());
  f.option("op_a", op_a, op::conjugate);
  f.option("op_b", op_b, op::conjugate);
  f.option("math", math, math_mode::bf16x9);
  f.value("deterministic", deterministic);
}

result<void> gemm_strided_batched::validate() const {
  argument_checks check;
  check.matrix({"a", a}, 3).matrix({"b", b}, 3).matrix({"c", c}, 3).written({"c", c});
  batch_length(check, {"b", b}, {"a", a});
  check.extents({"b", b}, {a.extent(0), a.extent(2), b.extent(2)}, "what a leaves to multiply");
  check.extents({"c", c}, {a.extent(0), a.extent(1), b.extent(2)}, "a·b");
  product_types(check, {"a", a}, {"b", b}, {"c", c});
  product_factor(check, "alpha", alpha, c.type());
  product_factor(check, "beta", beta, c.type());
  math_fits(check, math, a.type());
  return check.apart({"c", c}, {"a", a}).apart({"c", c}, {"b", b}).verdict();
}

void gemm_batched::describe(field_visitor& f) {
  f.reads("a", a);
  f.reads("b", b);
  f.value("alpha", alpha);
  f.value("beta", beta);
  f.updates("c", c, !beta.is_zero());
  f.option("op_a", op_a, op::conjugate);
  f.option("op_b", op_b, op::conjugate);
  f.option("math", math, math_mode::bf16x9);
  f.value("deterministic", deterministic);
}

result<void> gemm_batched::validate() const {
  argument_checks check;
  if (!same_length(check, a.size(), b.size(), c.size()).good() || c.empty()) {
    return check.verdict();
  }
  one_product(check, {"a[0]", a[0]}, {"b[0]", b[0]}, {"c[0]", c[0]});
  uniform(check, "a", a);
  uniform(check, "b", b);
  uniform(check, "c", c);
  product_factor(check, "alpha", alpha, c[0].type());
  product_factor(check, "beta", beta, c[0].type());
  math_fits(check, math, a[0].type());
  return all_apart(check, a, b, c).verdict();
}

void gemm_grouped::describe(field_visitor& f) {
  f.reads("a", a);
  f.reads("b", b);
  f.value("alpha", alpha);
  f.value("beta", beta);
  const bool overwrites = !beta.empty() && std::ranges::all_of(beta, &scalar::is_zero);
  f.updates("c", c, !beta.empty() && !overwrites);
  f.option("op_a", op_a, op::conjugate);
  f.option("op_b", op_b, op::conjugate);
  f.option("math", math, math_mode::bf16x9);
  f.value("deterministic", deterministic);
}

result<void> gemm_grouped::validate() const {
  argument_checks check;
  if (!same_length(check, a.size(), b.size(), c.size()).good() || c.empty()) {
    return check.verdict();
  }
  const auto factors = [&](std::string_view field, const std::vector<scalar>& list) {
    check.rule(list.size() <= 1 || list.size() == c.size(), errc::shape_mismatch, [&] {
      return std::string(field) + " has " + std::to_string(list.size()) + " factors for " +
             std::to_string(c.size()) + " problems; it must have one for each, one, or none";
    });
    for (const scalar& one : list)
      product_factor(check, field, one, c[0].type());
  };
  factors("alpha", alpha);
  factors("beta", beta);
  math_fits(check, math, a[0].type());
  for (std::size_t i = 0; i < c.size() && check.good(); ++i) {
    const std::string names[] = {numbered("a", i), numbered("b", i), numbered("c", i)};
    one_product(check, {names[0], a[i]}, {names[1], b[i]}, {names[2], c[i]});
    check.same_type({names[0], a[i]}, {"a[0]", a[0]}).same_type({names[2], c[i]}, {"c[0]", c[0]});
  }
  return all_apart(check, a, b, c).verdict();
}

void gemv_batched::describe(field_visitor& f) {
  f.reads("a", a);
  f.reads("x", x);
  f.value("alpha", alpha);
  f.value("beta", beta);
  f.updates("y", y, !beta.is_zero());
  f.option("op_a", op_a, op::conjugate);
}

result<void> gemv_batched::validate() const {
  argument_checks check;
  check.matrix({"a", a}, 3).tensor({"x", x}, 2).tensor({"y", y}, 2).written({"y", y});
  check.extents({"x", x}, {a.extent(0), a.extent(2)}, "the row length of every a");
  check.extents({"y", y}, {a.extent(0), a.extent(1)}, "a·x");
  check.rule(x.extent(1) <= 1 || x.stride(1) >= 1, errc::layout_unsupported, [&] {
    return "the vectors in x must have a stride of at least 1, x is " + x.to_string();
  });
  check.type({"a", a}, classic_types).same_type({"x", x}, {"a", a}).same_type({"y", y}, {"a", a});
  check.factor("alpha", alpha, a.type()).factor("beta", beta, a.type());
  return check.apart({"y", y}, {"a", a}).apart({"y", y}, {"x", x}).verdict();
}

void trsm_batched::describe(field_visitor& f) {
  f.reads("a", a);
  f.value("alpha", alpha);
  f.updates("b", b, !alpha.is_zero());
  f.option("side", side, blas::side::right);
  f.option("uplo", uplo, blas::uplo::lower);
  f.option("diag", diag, blas::diag::unit);
  f.option("op_a", op_a, op::conjugate);
  f.value("deterministic", deterministic);
}

result<void> trsm_batched::validate() const {
  argument_checks check;
  check.matrix({"a", a}, 3).square({"a", a}).matrix({"b", b}, 3).written({"b", b});
  const std::int64_t order = b.extent(side == blas::side::left ? 1 : 2);
  check.extents({"a", a}, {b.extent(0), order, order}, "what stands beside b");
  check.type({"a", a}, classic_types).same_type({"b", b}, {"a", a});
  check.factor("alpha", alpha, a.type());
  return check.apart({"b", b}, {"a", a}).verdict();
}

}  // namespace troupe::blas
