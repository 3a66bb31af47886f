// A layer of a neural network, forward and backward, with all that follows the products in one
// pass.

#include <troupe/blaslt.hpp>
#include <troupe/troupe.hpp>

#include <cmath>
#include <iostream>
#include <span>
#include <vector>

namespace {

namespace blaslt = troupe::blaslt;

constexpr std::int64_t samples = 32, inputs = 20, units = 128, outputs = 10;

std::vector<float> numbers(std::int64_t count, double step) {
  std::vector<float> made(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < made.size(); ++i)
    made[i] = static_cast<float>(std::sin(step * static_cast<double>(i)));
  return made;
}

}  // namespace

int main() try {
  troupe::system system;
  troupe::device gpu = system.device(0);
  const auto tensor = [&](troupe::shape size, std::span<const float> content) {
    auto made = gpu.tensor<float>(size).value();
    gpu.copy(content, made).get();
    return made;
  };
  const auto x = tensor({samples, inputs}, numbers(samples * inputs, 0.3));
  const auto weights = tensor({inputs, units}, numbers(inputs * units, 0.11));
  const auto bias = tensor({units}, numbers(units, 0.7));
  const auto next_weights = tensor({units, outputs}, numbers(units * outputs, 0.19));
  const auto error = tensor({samples, outputs}, numbers(samples * outputs, 0.5));

  // region: layer
  // hidden = relu(x · weights + bias), and which of it is positive: a bit for each unit.
  auto signs = gpu.tensor<std::uint8_t>({samples, units / 8}).value();
  auto hidden = gpu.compute(blaslt::matmul{.a = x,
                                           .b = weights,
                                           .epilogue = blaslt::epilogue::relu_aux_bias,
                                           .bias = bias,
                                           .aux = signs});
  // gradient = error · next_weightsᵀ where that was positive, and its sum over the samples.
  auto gradient = gpu.compute(blaslt::matmul{.a = error,
                                             .b = next_weights.transpose(),
                                             .epilogue = blaslt::epilogue::drelu_bgrad,
                                             .aux = signs});
  // endregion: layer
  hidden.get();
  std::vector<float> slopes(static_cast<std::size_t>(samples * units));
  std::vector<float> sums(static_cast<std::size_t>(units));
  gpu.copy(gradient->d, std::span(slopes)).get();
  gpu.copy(gradient->bgrad, std::span(sums)).get();
  for (std::size_t i = 0; i < slopes.size(); ++i)
    sums[i % sums.size()] -= slopes[i];
  float worst = 0;
  for (const float rest : sums)
    worst = std::fmax(worst, std::abs(rest));
  std::cout << "the gradient of the bias is off by " << worst << " at most\n";
  return worst < 1e-4F ? 0 : 1;
} catch (const troupe::failure& failure) {
  std::cerr << failure.what() << '\n';
  return 1;
}
