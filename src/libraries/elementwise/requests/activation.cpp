#include "libraries/elementwise/requests/rules.hpp"

#include <troupe/elementwise/activation.hpp>

#include <fmt/format.h>

namespace troupe::elementwise {
namespace {

template <class R>
void describe_kind(description<R>& d) {
  using enum activation_kind;
  d.value("kind", &R::kind, "the function");
  d.value("alpha", &R::alpha, "slope or scale of the negative part")
      .finite()
      .only_where(d.is(&R::kind, {leaky_relu, elu}));
}

// `Whole` has the axis, and `Bias` its extent.
template <auto Whole, auto Bias, class R>
void describe_bias_axis(description<R>& d) {
  d.value("axis", &R::axis,
          "the dimension that bias goes along; a negative one counts from the last");
  d.rule("the axis exists, and bias has its extent", [](argument_checks& check, const R& r) {
    const any_tensor& whole = r.*Whole;
    check_axis(check, r.axis, whole.rank());
    if (!check.good()) return;
    const std::int64_t first = r.axis < 0 ? r.axis + whole.rank() : r.axis;
    const std::int64_t n = whole.extent(static_cast<int>(first));
    const std::int64_t has = (r.*Bias).extent(0);
    check.rule(has == n, errc::shape_mismatch, [&] {
      return fmt::format("bias must have {} elements, the extent along axis {}; it has {}", n,
                         r.axis, has);
    });
  });
}

}  // namespace

void activation::describe(description<activation>& d) {
  const extent all = d.sizes("shape", 0);
  d.about("Applies an activation: y = kind(x).");
  d.reads("x", &activation::x, {all}, "numbers");
  d.writes("y", &activation::y, {all}, "result").may_be(&activation::x);
  d.same_type({&activation::x, &activation::y}, float_types);
  describe_kind(d);
}
void activation_backward::describe(description<activation_backward>& d) {
  using R = activation_backward;
  const extent all = d.sizes("shape", 0);
  d.about("The gradient of activation: dx = dy · kind'(x).");
  d.reads("x", &R::x, {all}, "numbers");
  d.reads("dy", &R::dy, {all}, "gradient of y");
  d.writes("dx", &R::dx, {all}, "gradient of x").may_be(&R::x).may_be(&R::dy);
  d.same_type({&R::x, &R::dy, &R::dx}, float_types);
  describe_kind(d);
}

void bias_add::describe(description<bias_add>& d) {
  const extent all = d.sizes("shape", 1);
  const extent n = d.size("n");
  d.about("Adds a vector along an axis: y = x + bias.");
  d.reads("x", &bias_add::x, {all}, "numbers");
  d.reads("bias", &bias_add::bias, {n}, "a number for each index along the axis");
  d.writes("y", &bias_add::y, {all}, "result").may_be(&bias_add::x);
  d.same_type({&bias_add::x, &bias_add::bias, &bias_add::y}, float_types);
  describe_bias_axis<&bias_add::x, &bias_add::bias>(d);
}
void bias_add_backward::describe(description<bias_add_backward>& d) {
  using R = bias_add_backward;
  const extent all = d.sizes("shape", 1);
  const extent n = d.size("n");
  d.about("The gradient of bias_add by bias: dbias = Σ dy over all other axes.");
  d.reads("dy", &R::dy, {all}, "gradient of y");
  d.writes("dbias", &R::dbias, {n}, "gradient of bias");
  d.same_type({&R::dy, &R::dbias}, float_types);
  d.derived(n, [](const R& r, std::vector<std::int64_t>& extents) {
    const std::int64_t axis = r.axis < 0 ? r.axis + r.dy.rank() : r.axis;
    if (axis >= 0 && axis < r.dy.rank()) extents.push_back(r.dy.extent(static_cast<int>(axis)));
  });
  describe_bias_axis<&R::dy, &R::dbias>(d);
}

void residual_add::describe(description<residual_add>& d) {
  using R = residual_add;
  const extent all = d.sizes("shape", 0);
  d.about("Adds a scaled tensor: y = x + scale · residual.");
  d.reads("x", &R::x, {all}, "numbers");
  d.reads("residual", &R::residual, {all}, "numbers that are scaled");
  d.writes("y", &R::y, {all}, "result").may_be(&R::x).may_be(&R::residual);
  d.same_type({&R::x, &R::residual, &R::y}, float_types);
  d.value("scale", &R::scale, "factor of residual").finite();
}

void dropout::describe(description<dropout>& d) {
  const extent all = d.sizes("shape", 0);
  d.about("Sets elements to 0 with probability p, and divides the others by 1 − p.");
  d.reads("x", &dropout::x, {all}, "numbers");
  d.writes("y", &dropout::y, {all}, "result").may_be(&dropout::x);
  d.same_type({&dropout::x, &dropout::y}, float_types);
  d.value("p", &dropout::p, "probability to drop an element").range(0, 1);
  d.value("seed", &dropout::seed, "seed of the philox stream");
  d.value("offset", &dropout::offset, "the stream's word for the first element");
}

}  // namespace troupe::elementwise
