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
  dloss_ = make({batch});
  const std::vector<float> each(batch, 1.0F / batch);
  device_.copy(std::span(each), dloss_).get();
}

any_tensor network::make(const troupe::shape& extents) {
  return device_.tensor<float>(extents, troupe::initial::zero).value();
}

parameter network::make_parameter(const troupe::shape& extents, double bound) {
  parameter p{.value = make(extents), .velocity = make(extents), .gradient = {}};
  std::mt19937 random(seed_++);
  std::vector<float> numbers(static_cast<std::size_t>(p.value.count()));
  for (float& one : numbers)
    one = static_cast<float>(bound * (std::ldexp(static_cast<double>(random()), -31) - 1));
  device_.copy(std::span(std::as_const(numbers)), p.value).get();
  return p;
}

void network::forward(const any_tensor& images) {
  using troupe::dnn::convolution_forward;
  // region: forward
  y1_ = compute(convolution_forward{.x = images,
                                    .w = first_.value,
                                    .bias = first_bias_.value,
                                    .padding = {1},
                                    .activation = troupe::dnn::activation::relu,
                                    .deterministic = true})
            .y;
  y2_ = compute(convolution_forward{.x = y1_,
                                    .w = second_.value,
                                    .bias = second_bias_.value,
                                    .stride = {2},
                                    .padding = {1},
                                    .activation = troupe::dnn::activation::relu,
                                    .deterministic = true})
            .y;
  features_ = y2_.reshape({batch, 512}).value();  // the same elements as a matrix
  const auto product =
      compute(troupe::blas::gemm{.a = features_, .b = last_.value, .deterministic = true}).c;
  logits_ = compute(ew::bias_add{.x = product, .bias = last_bias_.value}).y;
  // endregion: forward
}

void network::loss(const any_tensor& targets, const any_tensor& losses) {
  compute(ew::cross_entropy{.logits = logits_, .targets = targets, .loss = losses});
}

void network::backward(const any_tensor& images, const any_tensor& targets) {
  using troupe::blas::gemm;
  using troupe::dnn::convolution_backward_data;
  using troupe::dnn::convolution_backward_filter;
  // region: backward
  const auto dlogits =
      compute(ew::cross_entropy_backward{.logits = logits_, .targets = targets, .dloss = dloss_})
          .dlogits;
  last_bias_.gradient = compute(ew::bias_add_backward{.dy = dlogits}).dbias;
  last_.gradient = compute(gemm{.a = features_.transpose(), .b = dlogits, .deterministic = true}).c;
  const auto dfeatures =
      compute(gemm{.a = dlogits, .b = last_.value.transpose(), .deterministic = true}).c;
  // relu's derivative follows from its result as well as from its argument.
  const auto dy2 = dfeatures.reshape(troupe::shape(y2_.extents())).value();
  const auto dx2 = compute(ew::activation_backward{.x = y2_, .dy = dy2}).dx;
  second_bias_.gradient = compute(ew::bias_add_backward{.dy = dx2, .axis = 1}).dbias;
  second_.gradient = make({32, 16, 3, 3});
  compute(convolution_backward_filter{.x = y1_,
                                      .dy = dx2,
                                      .dw = second_.gradient,
                                      .stride = {2},
                                      .padding = {1},
                                      .deterministic = true});
  const auto dy1 = make({batch, 16, 8, 8});
  compute(convolution_backward_data{.dy = dx2,
                                    .w = second_.value,
                                    .dx = dy1,
                                    .stride = {2},
                                    .padding = {1},
                                    .deterministic = true});
  const auto dx1 = compute(ew::activation_backward{.x = y1_, .dy = dy1}).dx;
  first_bias_.gradient = compute(ew::bias_add_backward{.dy = dx1, .axis = 1}).dbias;
  first_.gradient = compute(convolution_backward_filter{
                                .x = images, .dy = dx1, .padding = {1}, .deterministic = true})
                        .dw;
  // endregion: backward
}

void network::step(double learning_rate) {
  // region: step
  // Makes new values: no request changes its inputs.
  const auto momentum_step = ew::function::of(3, [&](auto x) {
    const ew::value velocity = 0.9 * x[1] + x[2];
    return std::vector<ew::result_value>{x[0] - learning_rate * velocity, velocity};
  });
  for (parameter* p : {&first_, &first_bias_, &second_, &second_bias_, &last_, &last_bias_}) {
    const auto next =
        compute(ew::map{.inputs = {p->value, p->velocity, p->gradient}, .what = momentum_step});
    p->value = next.outputs[0];
    p->velocity = next.outputs[1];
  }
  // endregion: step
}

void network::wait() {
  for (troupe::future<void>& one : std::exchange(asked_, {}))
    one.get();
}

}  // namespace convnet
