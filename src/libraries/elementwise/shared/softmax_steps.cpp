#include "libraries/elementwise/shared/steps.hpp"

#include <span>
#include <utility>

namespace troupe::elementwise {
namespace {

steps one_row_step(std::vector<any_tensor> inputs, const any_tensor& output, const function& what,
                   std::int64_t axis) {
  return {rows{.inputs = std::move(inputs), .outputs = {output}, .what = what, .axes = {axis}}};
}

}  // namespace

steps steps_of(const softmax& r) {
  static const function what = function::of(1, [](std::span<const value> x) {
    const value e = exp(x[0] - row_max(x[0]));
    return e / row_sum(e);
  });
  return one_row_step({r.x}, r.y, what, r.axis);
}

steps steps_of(const softmax_backward& r) {
  static const function what = function::of(2, [](std::span<const value> x) {
    const value& y = x[0];
    const value& dy = x[1];
    return y * (dy - row_sum(y * dy));
  });
  return one_row_step({r.y, r.dy}, r.dx, what, r.axis);
}

steps steps_of(const log_softmax& r) {
  static const function what = function::of(1, [](std::span<const value> x) {
    const value shifted = x[0] - row_max(x[0]);
    return shifted - log(row_sum(exp(shifted)));
  });
  return one_row_step({r.x}, r.y, what, r.axis);
}

steps steps_of(const log_softmax_backward& r) {
  static const function what = function::of(2, [](std::span<const value> x) {
    const value& y = x[0];
    const value& dy = x[1];
    return dy - exp(y) * row_sum(dy);
  });
  return one_row_step({r.y, r.dy}, r.dx, what, r.axis);
}

}  // namespace troupe::elementwise
