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
using troupe::any_tensor;
using number = troupe::f16;

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
  return std::vector<node>{cast(mean(square(apart), {0, 1}), troupe::dtype::f32),
                           apart * (2.0 / (rows * width))};
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

/// Values that a training step updates, their gradient and its moments.
struct weight {
  any_tensor value, gradient, first, second;
};
struct norm_weights {
  weight gain, shift;
};

class block {
 public:
  explicit block(const troupe::device& gpu) : gpu_(gpu) {}

  /// The loss of one batch. Gradients are in `gradient_of_input` and in those of weights.
  float run(const any_tensor& x, const any_tensor& target) {
    // region: forward
    const auto n1 = norm(x, norm1_);
    const auto qkv = compute(linear, {n1.y, w_qkv_.value, b_qkv_.value})[0];
    const dnn::attention_forward attended = *gpu_.compute(
        dnn::attention_forward{
            .q = head(qkv, 0), .k = head(qkv, 1), .v = head(qkv, 2), .mask = {.right = 0}},
        {&dnn::attention_forward::statistics});
    // The heads of a token lie beside each other, in the order of the queries.
    const auto o = attended.o.permute({0, 2, 1, 3}).value().reshape({rows, width}).value();
    const auto r = compute(joined, {o, w_o_.value, x})[0];
    const auto n2 = norm(r, norm2_);
    const auto u = compute(widened, {n2.y, w_up_.value, b_up_.value});
    const auto y = compute(narrowed, {u[1], w_down_.value, b_down_.value, r})[0];
    const auto loss = compute(squared_error, {y, target});
    // endregion: forward

    // region: backward
    gradients_of(w_down_, b_down_, u[1], loss[1]);
    const auto du = compute(through_gelu, {loss[1], w_down_.value, u[0]})[0];
    gradients_of(w_up_, b_up_, n2.y, du);
    const auto dn2 = compute(by_input, {du, w_up_.value})[0];
    const auto dr = compute(added, {through(n2, dn2, norm2_), loss[1]})[0];
    w_o_.gradient = compute(by_weights, {o, dr})[0];
    const auto dqkv = gpu_.tensor<number>({rows, 3 * width}).value();
    (void)gpu_.compute(
        dnn::attention_backward{.q = attended.q,
                                .k = attended.k,
                                .v = attended.v,
                                .o = attended.o,
                                .dout = head(compute(by_input, {dr, w_o_.value})[0], 0),
                                .statistics = attended.statistics,
                                .dq = head(dqkv, 0),
                                .dk = head(dqkv, 1),
                                .dv = head(dqkv, 2),
                                .mask = attended.mask});
    gradients_of(w_qkv_, b_qkv_, n1.y, dqkv);
    const auto dn1 = compute(by_input, {dqkv, w_qkv_.value})[0];
    dx_ = compute(added, {through(n1, dn1, norm1_), dr})[0];
    // endregion: backward
    float read = 0;
    gpu_.copy(loss[0], std::span(&read, 1)).get();  // the first wait, for all of it
    return read;
  }

  [[nodiscard]] const any_tensor& gradient_of_input() const noexcept { return dx_; }

  void learn(double rate) {
    ew::adamw step{.learning_rate = rate, .weight_decay = 0, .step = ++steps_};
    for (const weight* one : {&w_qkv_, &w_o_, &w_up_, &w_down_, &b_qkv_, &b_up_, &b_down_,
                              &norm1_.gain, &norm1_.shift, &norm2_.gain, &norm2_.shift}) {
      step.parameters.push_back(one->value);
      step.gradients.push_back(one->gradient);
      step.first_moments.push_back(one->first);
      step.second_moments.push_back(one->second);
    }
    gpu_.ask(step).get();
  }

  any_tensor sent(const std::vector<float>& values, const troupe::shape& extents) {
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
  weight made_of(const std::vector<float>& values, const troupe::shape& extents) {
    const auto zeros = [&] { return gpu_.tensor<float>(extents, troupe::initial::zero).value(); };
    return {.value = sent(values, extents), .gradient = {}, .first = zeros(), .second = zeros()};
  }
  weight matrix(std::int64_t r, std::int64_t c) {
    return made_of(random(r * c, 1 / std::sqrt(static_cast<float>(r))), {r, c});
  }
  weight row(std::int64_t n) {
    return made_of(std::vector<float>(static_cast<std::size_t>(n), 0), {1, n});
  }
  norm_weights norm_of_width() {
    return {made_of(std::vector<float>(width, 1), {width}),
            made_of(std::vector<float>(width, 0), {width})};
  }

  /// [batch, heads, tokens, head_size] of the columns of one of q, k and v.
  static any_tensor head(const any_tensor& of, std::int64_t which) {
    const std::int64_t step = of.stride(0);
    return of.slice(1, which * width, (which + 1) * width)
        .value()
        .as_strided({batch, heads, tokens, head_size}, {tokens * step, head_size, step, 1})
        .value();
  }
  std::vector<any_tensor> compute(const computation& what, std::vector<any_tensor> from) {
    return gpu_
        .compute(dnn::graph{
            .inputs = std::move(from), .what = what, .intermediate = dnn::intermediate_type::f16})
        ->outputs;
  }
  void gradients_of(weight& w, weight& b, const any_tensor& x, const any_tensor& dy) {
    const auto made = compute(by_weights, {x, dy});
    w.gradient = made[0];
    b.gradient = made[1];
  }
  ew::layer_norm norm(const any_tensor& x, const norm_weights& by) {
    using ew::layer_norm;
    return *gpu_.compute(layer_norm{.x = x, .weight = by.gain.value, .bias = by.shift.value},
                         {&layer_norm::mean, &layer_norm::rstd});
  }
  any_tensor through(const ew::layer_norm& n, const any_tensor& dy, norm_weights& by) {
    using backward = ew::layer_norm_backward;
    const auto made = gpu_.compute(
        backward{.x = n.x, .dy = dy, .mean = n.mean, .rstd = n.rstd, .weight = n.weight},
        {&backward::dweight, &backward::dbias});
    by.gain.gradient = made->dweight;
    by.shift.gradient = made->dbias;
    return made->dx;
  }

  troupe::device gpu_;
  std::mt19937 generator_{2026};
  weight w_qkv_ = matrix(width, 3 * width), w_o_ = matrix(width, width);
  weight w_up_ = matrix(width, inner), w_down_ = matrix(inner, width);
  weight b_qkv_ = row(3 * width), b_up_ = row(inner), b_down_ = row(width);
  norm_weights norm1_ = norm_of_width(), norm2_ = norm_of_width();
  std::int64_t steps_ = 0;
  any_tensor dx_;
};

/// By how much the loss rises along the gradient of the input, measured, and as the gradient says.
std::pair<double, double> slopes(troupe::device& gpu, block& model, const std::vector<float>& x,
                                 const any_tensor& target) {
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
  const any_tensor input = model.sent(x, {rows, width});
  const any_tensor target = model.sent(wanted, {rows, width});

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
