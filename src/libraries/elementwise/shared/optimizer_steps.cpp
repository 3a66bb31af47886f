#include "libraries/elementwise/shared/parametric.hpp"
#include "libraries/elementwise/shared/steps.hpp"

#include <cmath>

namespace troupe::elementwise {
namespace {

using results = std::vector<result_value>;

parametric sgd_function(bool momentum, bool nesterov) {
  return parametric({.inputs = momentum ? 3 : 2, .reals = 4},
                    [=](std::span<const value> x, std::span<const value> parameters) {
                      const value& rate = parameters[0];
                      const value& factor = parameters[1];
                      const value g = x[1] + parameters[3] * x[0];
                      if (!momentum) return results{x[0] - rate * g};
                      const value velocity = factor * x[2] + parameters[2] * g;
                      const value by = nesterov ? g + factor * velocity : velocity;
                      return results{x[0] - rate * by, velocity};
                    });
}

parametric adamw_function() {
  return parametric({.inputs = 4, .reals = 8},
                    [](std::span<const value> x, std::span<const value> c) {
                      const value& g = x[1];
                      const value m = c[0] * x[2] + c[1] * g;
                      const value v = c[2] * x[3] + c[3] * (g * g);
                      const value divisor = sqrt(v) * c[6] + c[7];
                      return results{x[0] * c[4] - c[5] * (m / divisor), m, v};
                    });
}

}  // namespace

steps steps_of(const sgd& r) {
  static functions_by_configuration<parametric, 3> functions;
  const bool momentum = r.momentum != 0;
  const std::size_t configuration = momentum ? (r.nesterov ? 2 : 1) : 0;
  const function what =
      functions.get(configuration, [&] { return sgd_function(momentum, r.nesterov); })
          .with({r.learning_rate, r.momentum, 1 - r.dampening, r.weight_decay});
  steps made;
  for (std::size_t i = 0; i < r.parameters.size(); ++i) {
    map one{
        .inputs = {r.parameters[i], r.gradients[i]}, .outputs = {r.parameters[i]}, .what = what};
    if (momentum) {
      one.inputs.push_back(r.velocities[i]);
      one.outputs.push_back(r.velocities[i]);
    }
    made.emplace_back(std::move(one));
  }
  return made;
}

steps steps_of(const adamw& r) {
  static const parametric update = adamw_function();
  const auto number = static_cast<double>(r.step);
  const double first = 1 - std::pow(r.beta1, number);
  const double second = 1 - std::pow(r.beta2, number);
  const function what =
      update.with({r.beta1, 1 - r.beta1, r.beta2, 1 - r.beta2, 1 - r.learning_rate * r.weight_decay,
                   r.learning_rate / first, 1 / std::sqrt(second), r.eps});
  steps made;
  for (std::size_t i = 0; i < r.parameters.size(); ++i) {
    made.emplace_back(
        map{.inputs = {r.parameters[i], r.gradients[i], r.first_moments[i], r.second_moments[i]},
            .outputs = {r.parameters[i], r.first_moments[i], r.second_moments[i]},
            .what = what});
  }
  return made;
}

}  // namespace troupe::elementwise
