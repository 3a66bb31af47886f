// A transformer block, forward and backward, from requests alone: attention and norms are requests
// of libraries, and what lies between them is a graph of our own for each step. It learns a random
// function of its inputs; its gradient is checked against a difference of losses first.

#include <troupe/dnn.hpp>
#include <troupe/elementwise.hpp>
#include <troupe/troupe.hpp>

#include <cmath>
#include <iostream>
#include <random>
#include <span>
#include <vector>

namespace {

namespace dnn = troupe::dnn;
namespace ew = troupe::elementwise;
using dnn::computation;
using dnn::nodes::node;
using inputs = std::span<const node>;
using number = troupe::f16;
using matrix = troupe::tensor<number>;

constexpr std::int64_t batch = 4;
constexpr std::int64_t tokens = 32;
constexpr std::int64_t heads = 4;
constexpr std::int64_t head_size = 16;
constexpr std::int64_t width = heads * head_size;
constexpr std::int64_t inner = 4 * width;
constexpr std::int64_t rows = batch * tokens;

// region: computations
// The computations of the block between attention and norms.
const auto linear = computation::of(3, [](inputs x) { return matmul(x[0], x[1]) + x[2]; });
const auto joined = computation::of(3, [](inputs x) { return matmul(x[0], x[1]) + x[2]; });
const auto widened = computation::of(3, [](inputs x) {
  const node u = matmul(x[0], x[1]) + x[2];
  return std::vector<node>{u, gelu_tanh(u)};
});
const auto narrowed = computation::of(4, [](inputs x) { return matmul(x[0], x[1]) + x[2] + x[3]; });

// Its loss, and the gradients.
const auto squared_error = computation::of(2, [](inputs x) {
  const node apart = x[0] - x[1];
  return std::vector<node>{mean(square(apart), {0, 1}), apart * (2.0 / (rows * width))};
});
const auto by_input =
    computation::of(2, [](inputs x) { return matmul(x[0], transpose(x[1], {1, 0})); });
const auto by_weights = computation::of(2, [](inputs x) {
  return std::vector<node>{matmul(transpose(x[0], {1, 0}), x[1]), sum(x[1], {0})};
});
const auto through_gelu = computation::of(3, [](inputs x) {
  const node u = x[2];
  const node t = tanh(0.7978845608 * (u + 0.044715 * u * u * u));
  const node slope =
      0.5 * (1 + t) + 0.5 * u * (1 - t * t) * (0.7978845608 * (1 + 0.134145 * u * u));
  return matmul(x[0], transpose(x[1], {1, 0})) * slope;
});
const auto added = computation::of(2, [](inputs x) { return x[0] + x[1]; });
// endregion: computations

class block {
 public:
  explicit block(const troupe::device& gpu) : gpu_(gpu) {
    for (const auto& [r, c] :
         {std::pair{width, 3 * width}, {width, width}, {width, inner}, {inner, width}})
      weights_.push_back(parameter(random(r * c, 1 / std::sqrt(static_cast<float>(r))), {r, c}));
    for (const std::int64_t n : {3 * width, inner, width})
      weights_.push_back(parameter(std::vector<float>(static_cast<std::size_t>(n), 0), {1, n}));
    for (int norm = 0; norm < 2; ++norm) {
      weights_.push_back(parameter(std::vector<float>(width, 1), {width}));
      weights_.push_back(parameter(std::vector<float>(width, 0), {width}));
    }
  }

  /// The loss of one batch. Gradients are in `gradient_of_input` and in those of parameters.
  float run(const matrix& x, const matrix& target) {
    // region: forward
    ask(ew::layer_norm{
        .x = x, .weight = gain(0), .bias = shift(0), .y = n1_, .mean = mean1_, .rstd = rstd1_});
    compute(linear, {n1_, w_qkv(), b_qkv()}, {qkv_});
    ask(dnn::attention_forward{.q = head(qkv_, 0),
                               .k = head(qkv_, 1),
                               .v = head(qkv_, 2),
                               .o = head(o_, 0),
                               .statistics = statistics_,
                               .right = 0});
    compute(joined, {o_, w_o(), x}, {r_});
    ask(ew::layer_norm{
        .x = r_, .weight = gain(1), .bias = shift(1), .y = n2_, .mean = mean2_, .rstd = rstd2_});
    compute(widened, {n2_, w_up(), b_up()}, {u_, a_});
    compute(narrowed, {a_, w_down(), b_down(), r_}, {y_});
    compute(squared_error, {y_, target}, {loss_, dy_});
    // endregion: forward

    // region: backward
    compute(by_weights, {a_, dy_}, {gradient(3), gradient(6)});
    compute(through_gelu, {dy_, w_down(), u_}, {du_});
    compute(by_weights, {n2_, du_}, {gradient(2), gradient(5)});
    compute(by_input, {du_, w_up()}, {dn_});
    ask(ew::layer_norm_backward{.x = r_,
                                .dy = dn_,
                                .mean = mean2_,
                                .rstd = rstd2_,
                                .weight = gain(1),
                                .dx = dn_,
                                .dweight = gradient(9),
                                .dbias = gradient(10)});
    compute(added, {dn_, dy_}, {dr_});
    compute(by_weights, {o_, dr_}, {gradient(1), unused_});
    compute(by_input, {dr_, w_o()}, {do_});
    ask(dnn::attention_backward{.q = head(qkv_, 0),
                                .k = head(qkv_, 1),
                                .v = head(qkv_, 2),
                                .o = head(o_, 0),
                                .d_o = head(do_, 0),
                                .statistics = statistics_,
                                .d_q = head(dqkv_, 0),
                                .d_k = head(dqkv_, 1),
                                .d_v = head(dqkv_, 2),
                                .right = 0});
    compute(by_weights, {n1_, dqkv_}, {gradient(0), gradient(4)});
    compute(by_input, {dqkv_, w_qkv()}, {dn_});
    ask(ew::layer_norm_backward{.x = x,
                                .dy = dn_,
                                .mean = mean1_,
                                .rstd = rstd1_,
                                .weight = gain(0),
                                .dx = dn_,
                                .dweight = gradient(7),
                                .dbias = gradient(8)});
    compute(added, {dn_, dr_}, {dx_});
    // endregion: backward
    float loss = 0;
    gpu_.copy(loss_, std::span(&loss, 1)).get();
    return loss;
  }

  [[nodiscard]] const matrix& gradient_of_input() const noexcept { return dx_; }

  void learn(double rate) {
    ew::adamw step{.learning_rate = rate, .weight_decay = 0, .step = ++steps_};
    for (const weight& one : weights_) {
      step.parameters.push_back(one.value);
      step.gradients.push_back(one.gradient);
      step.first_moments.push_back(one.first);
      step.second_moments.push_back(one.second);
    }
    ask(step);
  }

  matrix sent(const std::vector<float>& values, const troupe::shape& extents) {
    const std::vector<number> rounded(values.begin(), values.end());
    auto made = gpu_.tensor<number>(extents).value();
    gpu_.copy(std::span(rounded), made).get();
    return made;
  }
  std::vector<float> random(std::int64_t count, float deviation) {
    std::normal_distribution<float> normal(0, deviation);
    std::vector<float> made(static_cast<std::size_t>(count));
    for (float& one : made)
      one = normal(generator_);
    return made;
  }

 private:
  struct weight {
    matrix value, gradient;
    troupe::tensor<float> first, second;
  };

  weight parameter(const std::vector<float>& values, const troupe::shape& extents) {
    const std::vector<float> zeros(values.size(), 0);
    weight made{sent(values, extents), sent(zeros, extents), gpu_.tensor<float>(extents).value(),
                gpu_.tensor<float>(extents).value()};
    for (const auto& moment : {made.first, made.second})
      gpu_.copy(std::span(zeros), moment).get();
    return made;
  }
  [[nodiscard]] const matrix& gradient(std::size_t i) const { return weights_[i].gradient; }
  [[nodiscard]] const matrix& w_qkv() const { return weights_[0].value; }
  [[nodiscard]] const matrix& w_o() const { return weights_[1].value; }
  [[nodiscard]] const matrix& w_up() const { return weights_[2].value; }
  [[nodiscard]] const matrix& w_down() const { return weights_[3].value; }
  [[nodiscard]] const matrix& b_qkv() const { return weights_[4].value; }
  [[nodiscard]] const matrix& b_up() const { return weights_[5].value; }
  [[nodiscard]] const matrix& b_down() const { return weights_[6].value; }
  [[nodiscard]] const matrix& gain(std::size_t norm) const { return weights_[7 + 2 * norm].value; }
  [[nodiscard]] const matrix& shift(std::size_t norm) const { return weights_[8 + 2 * norm].value; }

  /// [batch, heads, tokens, head_size] of the columns of one of q, k and v.
  static troupe::any_tensor head(const matrix& of, std::int64_t which) {
    const std::int64_t step = of.stride(0);
    return of.slice(1, which * width, (which + 1) * width)
        .value()
        .as_strided({batch, heads, tokens, head_size}, {tokens * step, head_size, step, 1})
        .value();
  }

  void compute(const computation& what, std::vector<troupe::any_tensor> from,
               std::vector<troupe::any_tensor> to) {
    gpu_.ask(dnn::graph{.inputs = std::move(from),
                        .outputs = std::move(to),
                        .what = what,
                        .intermediate = dnn::intermediate_type::f16})
        .get();
  }
  template <class R>
  void ask(const R& r) {
    gpu_.ask(r).get();
  }
  matrix empty(std::int64_t columns) { return gpu_.tensor<number>({rows, columns}).value(); }
  troupe::tensor<float> statistic() { return gpu_.tensor<float>({rows}).value(); }

  troupe::device gpu_;
  std::mt19937 generator_{2026};
  std::vector<weight> weights_;
  std::int64_t steps_ = 0;
  matrix n1_ = empty(width), qkv_ = empty(3 * width), o_ = empty(width), r_ = empty(width);
  matrix n2_ = empty(width), u_ = empty(inner), a_ = empty(inner), y_ = empty(width);
  matrix dy_ = empty(width), du_ = empty(inner), dn_ = empty(width), dr_ = empty(width);
  matrix do_ = empty(width), dqkv_ = empty(3 * width), dx_ = empty(width);
  matrix unused_ = gpu_.tensor<number>({1, width}).value();
  troupe::tensor<float> mean1_ = statistic(), rstd1_ = statistic();
  troupe::tensor<float> mean2_ = statistic(), rstd2_ = statistic();
  troupe::tensor<float> loss_ = gpu_.tensor<float>({1, 1}).value();
  troupe::tensor<float> statistics_ = gpu_.tensor<float>({batch, heads, tokens, 1}).value();
};

/// By how much the loss rises along the gradient of the input, measured, and as the gradient says.
std::pair<double, double> slopes(troupe::device& gpu, block& model, const std::vector<float>& x,
                                 const matrix& target) {
  (void)model.run(model.sent(x, {rows, width}), target);
  std::vector<number> gradient(x.size());
  gpu.copy(model.gradient_of_input(), std::span(gradient)).get();
  double norm = 0;
  for (const number one : gradient)
    norm += static_cast<double>(static_cast<float>(one)) * static_cast<float>(one);
  norm = std::sqrt(norm);
  constexpr double step = 0.5;
  double losses[2];
  for (const int side : {0, 1}) {
    std::vector<float> moved = x;
    for (std::size_t i = 0; i < moved.size(); ++i)
      moved[i] += static_cast<float>((side == 0 ? -step : step) *
                                     static_cast<double>(static_cast<float>(gradient[i])) / norm);
    losses[side] = static_cast<double>(model.run(model.sent(moved, {rows, width}), target));
  }
  return {(losses[1] - losses[0]) / (2 * step), norm};
}

}  // namespace

int main() {
  troupe::system system;
  troupe::device gpu = system.device(0);
  block model(gpu);
  const std::vector<float> x = model.random(rows * width, 1);
  std::vector<float> wanted = model.random(rows * width, 0.5F);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    wanted[i] += std::sin(2 * x[i]);
  const matrix input = model.sent(x, {rows, width});
  const matrix target = model.sent(wanted, {rows, width});

  const auto [measured, expected] = slopes(gpu, model, x, target);
  std::cout << "slope along the gradient: " << measured << ", the gradient says " << expected
            << '\n';
  const float first = model.run(input, target);
  float last = first;
  for (int step = 0; step < 60; ++step) {
    model.learn(3e-3);
    last = model.run(input, target);
    if (step % 20 == 19) std::cout << "step " << step + 1 << ": loss " << last << '\n';
  }
  const bool agrees = std::abs(measured - expected) < 0.1 * expected;
  const bool learns = last < 0.5F * first;
  std::cout << "loss " << first << " at first, " << last << " at last\n";
  return agrees && learns ? 0 : 1;
}
