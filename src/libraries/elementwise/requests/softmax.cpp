#include "libraries/elementwise/requests/rules.hpp"

#include <troupe/elementwise/softmax.hpp>

namespace troupe::elementwise {
namespace {

constexpr std::string_view axis_text =
    "the axis that sums go along; a negative one counts from the last";

template <class R>
void describe_axis(description<R>& d) {
  d.value("axis", &R::axis, axis_text);
  d.rule("the axis exists",
         [](argument_checks& check, const R& r) { check_axis(check, r.axis, r.y.rank()); });
}
template <class R>
void describe_forward(description<R>& d) {
  const extent all = d.sizes("shape", 1);
  d.reads("x", &R::x, {all}, "numbers");
  d.writes("y", &R::y, {all}, "result").may_be(&R::x);
  d.same_type({&R::x, &R::y}, norm_types);
  describe_axis(d);
}
template <class R>
void describe_backward(description<R>& d) {
  const extent all = d.sizes("shape", 1);
  d.reads("y", &R::y, {all}, "result of the operation");
  d.reads("dy", &R::dy, {all}, "gradient of y");
  d.writes("dx", &R::dx, {all}, "gradient of x").may_be(&R::y).may_be(&R::dy);
  d.same_type({&R::y, &R::dy, &R::dx}, norm_types);
  describe_axis(d);
}

}  // namespace

void softmax::describe(description<softmax>& d) {
  d.about("Softmax along an axis: y = exp(x − max x) / Σ exp(x − max x).");
  describe_forward(d);
}
void softmax_backward::describe(description<softmax_backward>& d) {
  d.about("The gradient of softmax: dx = y · (dy − Σ y · dy).");
  describe_backward(d);
}
void log_softmax::describe(description<log_softmax>& d) {
  d.about("The logarithm of softmax along an axis: y = x − max x − log Σ exp(x − max x).");
  describe_forward(d);
}
void log_softmax_backward::describe(description<log_softmax_backward>& d) {
  d.about("The gradient of log_softmax: dx = dy − exp(y) · Σ dy.");
  describe_backward(d);
}

}  // namespace troupe::elementwise
