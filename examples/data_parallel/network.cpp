#include "network.hpp"

#include <troupe/blas/level3.hpp>
#include <troupe/blaslt.hpp>
#include <troupe/elementwise/activation.hpp>
#include <troupe/elementwise/cross_entropy.hpp>
#include <troupe/elementwise/map.hpp>
#include <troupe/memory/fill.hpp>

#include <cmath>
#include <random>
#include <utility>

namespace data_parallel {

namespace ew = troupe::elementwise;
using troupe::any_tensor;
using troupe::blas::gemm;

std::vector<any_tensor> make_parameters(troupe::device on, std::span<const std::int64_t> widths) {
  std::mt19937 random(1);
  std::vector<any_tensor> all;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    all.push_back(on.tensor<float>({widths[i], widths[i + 1]}).value());
    const double bound = std::sqrt(6.0 / double(widths[i]));
    std::vector<float> numbers(static_cast<std::size_t>(all.back().count()));
    for (float& one : numbers)
      one = static_cast<float>(bound * (std::ldexp(double(random()), -31) - 1));
    on.copy(numbers, all.back()).get();
    all.push_back(on.tensor<float>({widths[i + 1]}, troupe::initial::zero).value());
  }
  return all;
}

void network::forward(const any_tensor& x, const any_tensor& targets, const any_tensor& losses) {
  using troupe::blaslt::epilogue;
  h_ = {x};
  for (std::size_t i = 0; i < layers(); ++i) {
    const bool is_last = i + 1 == layers();
    h_.push_back(
        compute(troupe::blaslt::matmul{.a = h_[i],
                                       .b = parameters_[2 * i],
                                       .epilogue = is_last ? epilogue::bias : epilogue::relu_bias,
                                       .bias = parameters_[2 * i + 1],
                                       .math = math_})
            .d);
  }
  targets_ = targets;
  compute(ew::cross_entropy{.logits = h_.back(), .targets = targets, .loss = losses});
}

void network::backward(std::size_t layer, const any_tensor& dw, const any_tensor& db) {
  if (layer + 1 == layers()) {
    if (each_.null()) {
      const std::int64_t rows = targets_.extent(0);
      each_ = device_.tensor<float>({rows}).value();
      compute(troupe::memory::fill{.to = each_, .value = 1.0 / double(rows)});
    }
    dz_ = compute(
              ew::cross_entropy_backward{.logits = h_.back(), .targets = targets_, .dloss = each_})
              .dlogits;
  }
  compute(
      gemm{.a = h_[layer].transpose(), .b = dz_, .c = dw, .math = math_, .deterministic = true});
  compute(ew::bias_add_backward{.dy = dz_, .dbias = db});
  if (layer == 0) return;
  const auto dh = compute(gemm{.a = dz_,
                               .b = parameters_[2 * layer].transpose(),
                               .math = math_,
                               .deterministic = true})
                      .c;
  // relu's derivative follows from its result as well as from its argument.
  dz_ = compute(ew::activation_backward{.x = h_[layer], .dy = dh}).dx;
}

void network::step(const std::function<any_tensor(std::size_t)>& gradient, double learning_rate) {
  const auto descend = ew::function::of(2, [&](auto x) { return x[0] - learning_rate * x[1]; });
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i] =
        compute(ew::map{.inputs = {parameters_[i], gradient(i)}, .what = descend}).outputs[0];
  }
}

}  // namespace data_parallel
