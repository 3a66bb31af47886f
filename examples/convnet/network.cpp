#include "network.hpp"

#include <troupe/blas.hpp>
#include <troupe/dnn.hpp>
#include <troupe/elementwise.hpp>

#include <cmath>
#include <random>
#include <utility>

namespace convnet {

namespace ew = troupe::elementwise;
using troupe::any_tensor;

network::network(const troupe::device& device) : device_(device) {
  first_ = make_parameter({16, 1, 3, 3}, std::sqrt(6.0 / 9));
  first_bias_ = make_parameter({16}, 0);
  second_ = make_parameter({32, 16, 3, 3}, std::sqrt(6.0 / 144));
  second_bias_ = make_parameter({32}, 0);
  last_ = make_parameter({512, classes}, std::sqrt(6.0 / 512));
  last_bias_ = make_parameter({classes}, 0);
  y1_ = make({batch, 16, 8, 8});
  dy1_ = make({batch, 16, 8, 8});
  dx1_ = make({batch, 16, 8, 8});
  y2_ = make({batch, 32, 4, 4});
  dy2_ = make({batch, 32, 4, 4});
  dx2_ = make({batch, 32, 4, 4});
  // The same elements as a matrix.
  features_ = y2_.reshape({batch, 512}).value();
  dfeatures_ = dy2_.reshape({batch, 512}).value();
  product_ = make({batch, classes});
  logits_ = make({batch, classes});
  dlogits_ = make({batch, classes});
  dloss_ = make({batch});
  const std::vector<float> each(batch, 1.0F / batch);
  device_.copy(std::span(each), dloss_).get();
}

any_tensor network::make(const troupe::shape& extents) {
  return device_.tensor<float>(extents, troupe::initial::zero).value();
}

parameter network::make_parameter(const troupe::shape& extents, double bound) {
  parameter p{.values = {make(extents), make(extents)},
              .velocities = {make(extents), make(extents)},
              .gradient = make(extents)};
  std::mt19937 random(seed_++);
  std::vector<float> numbers(static_cast<std::size_t>(p.gradient.count()));
  for (float& one : numbers)
    one = static_cast<float>(bound * (std::ldexp(static_cast<double>(random()), -31) - 1));
  device_.copy(std::span(std::as_const(numbers)), p.values[0]).get();
  return p;
}

void network::forward(const any_tensor& images) {
  // region: forward
  ask(troupe::dnn::convolution_forward{.x = images,
                                       .w = value(first_),
                                       .y = y1_,
                                       .bias = value(first_bias_),
                                       .padding = {1},
                                       .activation = troupe::dnn::activation::relu,
                                       .deterministic = true});
  ask(troupe::dnn::convolution_forward{.x = y1_,
                                       .w = value(second_),
                                       .y = y2_,
                                       .bias = value(second_bias_),
                                       .stride = {2},
                                       .padding = {1},
                                       .activation = troupe::dnn::activation::relu,
                                       .deterministic = true});
  ask(troupe::blas::gemm{.a = features_, .b = value(last_), .c = product_, .deterministic = true});
  ask(ew::bias_add{.x = product_, .bias = value(last_bias_), .y = logits_});
  // endregion: forward
}

void network::loss(const any_tensor& targets, const any_tensor& losses) {
  ask(ew::cross_entropy{.logits = logits_, .targets = targets, .loss = losses});
}

void network::backward(const any_tensor& images, const any_tensor& targets) {
  // region: backward
  ask(ew::cross_entropy_backward{
      .logits = logits_, .targets = targets, .dloss = dloss_, .dlogits = dlogits_});
  ask(ew::bias_add_backward{.dy = dlogits_, .dbias = last_bias_.gradient});
  ask(troupe::blas::gemm{
      .a = features_.transpose(), .b = dlogits_, .c = last_.gradient, .deterministic = true});
  ask(troupe::blas::gemm{
      .a = dlogits_, .b = value(last_).transpose(), .c = dfeatures_, .deterministic = true});
  // relu's derivative follows from its result as well as from its argument.
  ask(ew::activation_backward{.x = y2_, .dy = dy2_, .dx = dx2_});
  ask(ew::bias_add_backward{.dy = dx2_, .dbias = second_bias_.gradient, .axis = 1});
  ask(troupe::dnn::convolution_backward_filter{.x = y1_,
                                               .dy = dx2_,
                                               .dw = second_.gradient,
                                               .stride = {2},
                                               .padding = {1},
                                               .deterministic = true});
  ask(troupe::dnn::convolution_backward_data{.dy = dx2_,
                                             .w = value(second_),
                                             .dx = dy1_,
                                             .stride = {2},
                                             .padding = {1},
                                             .deterministic = true});
  ask(ew::activation_backward{.x = y1_, .dy = dy1_, .dx = dx1_});
  ask(ew::bias_add_backward{.dy = dx1_, .dbias = first_bias_.gradient, .axis = 1});
  ask(troupe::dnn::convolution_backward_filter{
      .x = images, .dy = dx1_, .dw = first_.gradient, .padding = {1}, .deterministic = true});
  // endregion: backward
}

void network::step(double learning_rate) {
  // region: step
  // Writes new values beside the old ones: no request changes its inputs.
  const auto momentum_step = ew::function::of(3, [&](auto x) {
    const ew::value velocity = 0.9 * x[1] + x[2];
    return std::vector<ew::result_value>{x[0] - learning_rate * velocity, velocity};
  });
  const std::size_t next = 1 - current_;
  for (const parameter* p : {&first_, &first_bias_, &second_, &second_bias_, &last_, &last_bias_}) {
    ask(ew::map{.inputs = {p->values[current_], p->velocities[current_], p->gradient},
                .outputs = {p->values[next], p->velocities[next]},
                .what = momentum_step});
  }
  current_ = next;
  // endregion: step
}

void network::wait() {
  for (troupe::future<void>& one : std::exchange(asked_, {}))
    one.get();
}

}  // namespace convnet
