// An LSTM learns to add up the two numbers of a sequence that are marked, from requests alone.

#include <troupe/blas.hpp>
#include <troupe/device.hpp>
#include <troupe/dnn.hpp>
#include <troupe/elementwise.hpp>

#include <cmath>
#include <cstdint>
#include <iostream>
#include <random>
#include <span>
#include <vector>

namespace {

namespace ew = troupe::elementwise;

constexpr std::int64_t steps = 10;
constexpr std::int64_t batch = 64;
constexpr std::int64_t hidden = 24;
constexpr int rounds = 400;

/// Sequences of numbers and marks, [steps, batch, 2], and the sums of the marked numbers.
struct sequences {
  std::vector<float> numbers;
  std::vector<float> sums;

  explicit sequences(std::mt19937& random) : numbers(steps * batch * 2), sums(batch) {
    std::uniform_real_distribution<float> any(-1, 1);
    for (std::size_t n = 0; n < batch; ++n) {
      const auto half = static_cast<std::size_t>(steps / 2);
      const std::size_t first = random() % half;
      const std::size_t second = half + random() % half;
      for (std::size_t t = 0; t < steps; ++t) {
        float* const row = &numbers[(t * batch + n) * 2];
        row[0] = any(random);
        row[1] = t == first || t == second ? 1.0F : 0.0F;
        if (row[1] > 0) sums[n] += row[0];
      }
    }
  }
};

/// Values that a training step updates, and the moments of their gradient.
struct parameter {
  troupe::any_tensor value, first_moment, second_moment;
};

}  // namespace

int main() {
  troupe::system system;
  troupe::device gpu = system.device(0);
  std::mt19937 random(1);
  const auto filled = [&](const troupe::shape& extents, auto number) {
    auto t = gpu.tensor<float>(extents).value();
    std::vector<float> values(static_cast<std::size_t>(t.count()));
    for (float& one : values)
      one = number();
    gpu.copy(std::span<const float>(values), t).get();
    return t;
  };
  const auto zeros = [&](const troupe::shape& extents) {
    return filled(extents, [] { return 0.0F; });
  };
  const auto parameters_of = [&](const troupe::shape& extents) {
    std::uniform_real_distribution<float> small(-0.2F, 0.2F);
    return parameter{filled(extents, [&] { return small(random); }), zeros(extents),
                     zeros(extents)};
  };

  // region: sizes
  const troupe::dnn::rnn_network network{.cell = troupe::dnn::rnn_cell::lstm, .hidden = hidden};
  const auto sizes = gpu.ask(troupe::dnn::rnn_sizes{
                                 .network = network, .steps = steps, .batch = batch, .input = 2})
                         .get();
  auto reserve = gpu.tensor<std::uint8_t>({sizes.reserve}).value();
  // endregion: sizes
  const parameter lstm = parameters_of({sizes.weights});
  const parameter head = parameters_of({hidden, 1});
  auto x = zeros({steps, batch, 2});
  auto last = zeros({1, batch, hidden});
  auto target = zeros({batch, 1});
  auto dy = zeros({steps, batch, hidden});  // nothing depends on the states before the last one
  auto dx = zeros({steps, batch, 2});
  const auto rows = last.reshape({batch, hidden}).value();
  const auto error_of =
      ew::function::of(2, [](auto in) { return (in[0] - in[1]) * (2.0 / batch); });

  double loss = 0;
  for (int round = 1; round <= rounds; ++round) {
    const sequences now(random);
    auto copied = gpu.copy(std::span(now.numbers), x);
    auto copied_too = gpu.copy(std::span(now.sums), target.reshape({batch}).value());
    // region: step
    const auto states = gpu.compute(troupe::dnn::rnn_forward{
        .x = x, .weights = lstm.value, .h_n = last, .reserve = reserve, .network = network});
    const auto guess = gpu.compute(troupe::blas::gemm{.a = rows, .b = head.value});
    const auto error = gpu.compute(ew::map{.inputs = {guess->c, target}, .what = error_of});
    const auto by_head =
        gpu.compute(troupe::blas::gemm{.a = rows.transpose(), .b = error->outputs[0]});
    const auto by_last =
        gpu.compute(troupe::blas::gemm{.a = error->outputs[0], .b = head.value.transpose()});
    (void)gpu.compute(
        troupe::dnn::rnn_backward_data{.weights = lstm.value,
                                       .y = states->y,
                                       .dy = dy,
                                       .dh_n = by_last->c.reshape({1, batch, hidden}).value(),
                                       .dx = dx,
                                       .reserve = reserve,
                                       .network = network});
    const auto by_weights = gpu.compute(troupe::dnn::rnn_backward_weights{
        .x = x, .y = states->y, .reserve = reserve, .network = network});
    auto learned = gpu.ask(ew::adamw{.parameters = {lstm.value, head.value},
                                     .gradients = {by_weights->dweights, by_head->c},
                                     .first_moments = {lstm.first_moment, head.first_moment},
                                     .second_moments = {lstm.second_moment, head.second_moment},
                                     .learning_rate = 0.01,
                                     .weight_decay = 0,
                                     .step = round});
    // endregion: step
    std::vector<float> predicted(batch);
    auto back = gpu.copy(guess->c.reshape({batch}).value(), std::span(predicted));
    for (troupe::future<void>* one : {&learned, &copied, &copied_too, &back})
      one->get();
    loss = 0;
    for (std::size_t n = 0; n < batch; ++n)
      loss += std::pow(predicted[n] - now.sums[n], 2) / static_cast<double>(batch);
    if (round == 1 || round % 100 == 0) std::cout << "round " << round << ": " << loss << '\n';
  }
  return loss < 0.1 ? 0 : 1;  // guessing the mean gives 0.67
}
