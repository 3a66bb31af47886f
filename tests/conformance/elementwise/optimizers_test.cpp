#include "named_cases.hpp"

#include <troupe/elementwise.hpp>

#include <cmath>

namespace troupe::conformance {
namespace {

using namespace elementwise_reference;

/// Parameters of several shapes, and beside each what belongs to it.
struct tensors {
  std::vector<test_tensor*> all;
  [[nodiscard]] std::vector<any_tensor> views() const {
    std::vector<any_tensor> made;
    for (const test_tensor* t : all)
      made.push_back(t->view);
    return made;
  }
};

tensors list_of(scene& s, dtype type, bool positive = false) {
  tensors made;
  for (const tensor_case& c : tensor_cases()) {
    test_tensor& t = tensor_of(s, type, c);
    if (positive) {
      std::vector<number> values = t.values;
      for (number& one : values)
        one = std::abs(one.real());
      s.fill(t, values);
    }
    made.all.push_back(&t);
  }
  return made;
}

TEST(ElementwiseSgd, StepsAsDefined) {
  struct sgd_case {
    double momentum;
    double dampening;
    bool nesterov;
  };
  constexpr sgd_case cases[] = {{0, 0, false}, {0.75, 0.25, false}, {0.5, 0, true}};
  constexpr double rate = 0.125;
  constexpr double decay = 0.0625;
  for (const dtype type : norm_types) {
    for (const auto& [momentum, dampening, nesterov] : cases) {
      scene s;
      name_case(s, type, {}, static_cast<std::int64_t>(momentum * 100));
      const tensors p = list_of(s, type);
      const tensors g = list_of(s, type);
      const tensors v = list_of(s, wide_type(type));
      s.run(elementwise::sgd{.parameters = p.views(),
                             .gradients = g.views(),
                             .velocities = momentum != 0 ? v.views() : std::vector<any_tensor>(),
                             .learning_rate = rate,
                             .momentum = momentum,
                             .dampening = dampening,
                             .weight_decay = decay,
                             .nesterov = nesterov});
      for (std::size_t k = 0; k < p.all.size(); ++k) {
        reals wanted = content(*p.all[k]);
        reals velocity = content(*v.all[k]);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          const double slope = content(*g.all[k])[i] + decay * wanted[i];
          velocity[i] = momentum * velocity[i] + (1 - dampening) * slope;
          const double by = momentum == 0 ? slope
                            : nesterov    ? slope + momentum * velocity[i]
                                          : velocity[i];
          wanted[i] -= rate * by;
        }
        expect_reals(s, *p.all[k], wanted);
        if (momentum != 0) expect_reals(s, *v.all[k], velocity);
      }
    }
  }
}

TEST(ElementwiseAdamw, StepsAsDefined) {
  for (const dtype type : norm_types) {
    for (const std::int64_t step : {1, 100}) {
      scene s;
      name_case(s, type, {}, step);
      const tensors p = list_of(s, type);
      const tensors g = list_of(s, type);
      const tensors m = list_of(s, wide_type(type));
      const tensors v = list_of(s, wide_type(type), true);
      const elementwise::adamw r{.parameters = p.views(),
                                 .gradients = g.views(),
                                 .first_moments = m.views(),
                                 .second_moments = v.views(),
                                 .learning_rate = 0.1,
                                 .beta1 = 0.8,
                                 .beta2 = 0.95,
                                 .eps = 1e-3,
                                 .weight_decay = 0.25,
                                 .step = step};
      s.run(r);
      for (std::size_t k = 0; k < p.all.size(); ++k) {
        reals wanted = content(*p.all[k]);
        reals first = content(*m.all[k]);
        reals second = content(*v.all[k]);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          const double slope = content(*g.all[k])[i];
          first[i] = r.beta1 * first[i] + (1 - r.beta1) * slope;
          second[i] = r.beta2 * second[i] + (1 - r.beta2) * slope * slope;
          const double corrected = first[i] / (1 - std::pow(r.beta1, static_cast<double>(step)));
          const double square = second[i] / (1 - std::pow(r.beta2, static_cast<double>(step)));
          wanted[i] = wanted[i] * (1 - r.learning_rate * r.weight_decay) -
                      r.learning_rate * corrected / (std::sqrt(square) + r.eps);
        }
        expect_reals(s, *p.all[k], wanted, 8);
        expect_reals(s, *m.all[k], first);
        expect_reals(s, *v.all[k], second);
      }
    }
  }
}

TEST(ElementwiseOptimizers, RefuseListsThatDoNotGoTogether) {
  scene s;
  auto& p = s.vector(dtype::f32, 4);
  auto& g = s.vector(dtype::f32, 4);
  auto& other = s.vector(dtype::f32, 5);
  auto& whole = s.vector(dtype::i32, 4);
  using elementwise::sgd;
  s.refuse(sgd{.parameters = {p.view}, .gradients = {}}, errc::invalid_argument,
           "gradients has 0 tensors, and there are 1 parameters");
  s.refuse(sgd{.parameters = {p.view}, .gradients = {other.view}}, errc::shape_mismatch,
           "gradients[0] is [5]");
  s.refuse(sgd{.parameters = {p.view}, .gradients = {whole.view}}, errc::type_mismatch,
           "gradients[0]");
  s.refuse(sgd{.parameters = {p.view}, .gradients = {p.view}}, errc::aliasing, "parameters[0]");
  s.refuse(sgd{.parameters = {p.view}, .gradients = {g.view}, .velocities = {other.view}},
           errc::invalid_argument, "momentum is 0");
  s.refuse(sgd{.parameters = {p.view}, .gradients = {g.view}, .nesterov = true},
           errc::invalid_argument, "nesterov");
}

}  // namespace
}  // namespace troupe::conformance
