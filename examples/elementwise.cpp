// A user's own function of elements, its derivative, a softmax over rows and its entropy: each one
// pass over memory, on a GPU or without one.

#include <troupe/elementwise.hpp>
#include <troupe/troupe.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <span>
#include <vector>

namespace ew = troupe::elementwise;

int main() try {
  constexpr std::int64_t m = 512;
  constexpr std::int64_t n = 1024;
  troupe::system system;
  troupe::device gpu = system.device(0);
  std::vector<float> values(m * n);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(static_cast<float>(i));
  auto x = gpu.tensor<float>({m, n}).value();
  gpu.copy(std::span(values), x).get();
  auto bias = gpu.tensor<float>({n}).value();
  gpu.copy(std::span(values).first(n), bias).get();

  // region: own
  // Built once, from operators; it has no types of its own.
  const auto gate = ew::function::of(2, [](auto in) { return ew::silu(in[0] + in[1]) * 0.5; });
  auto y = gpu.compute(ew::map{.inputs = {x, bias}, .what = gate});  // broadcast as in NumPy
  // endregion: own
  std::vector<float> gated(values.size());
  gpu.copy(y->outputs[0], std::span(gated)).get();

  // region: rows
  const auto softmax = ew::function::of(1, [](auto in) {
    const ew::value e = exp(in[0] - row_max(in[0]));
    return e / row_sum(e);
  });
  auto p = gpu.compute(ew::rows{.inputs = y->outputs, .what = softmax, .axes = {-1}});
  // endregion: rows
  std::vector<float> weights(values.size());
  gpu.copy(p->outputs[0], std::span(weights)).get();

  // region: reduce
  const auto surprise = ew::function::of(1, [](auto in) { return -in[0] * log(in[0]); });
  auto entropies = gpu.compute(ew::reduce{.inputs = p->outputs, .before = surprise, .axes = {-1}});
  // endregion: reduce
  std::vector<float> entropy(m);
  gpu.copy(entropies->outputs[0], std::span(entropy)).get();  // one for each row

  std::cout << "gate:       " << gate.to_string()
            << "\nderivative: " << gate.derivative(0).to_string() << '\n';
  double worst = 0;
  for (std::size_t i = 0; i < gated.size(); ++i) {
    const double sum = static_cast<double>(values[i]) + static_cast<double>(values[i % n]);
    worst =
        std::max(worst, std::abs(static_cast<double>(gated[i]) - 0.5 * sum / (1 + std::exp(-sum))));
  }
  double total = 0;
  double surprises = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto weight = static_cast<double>(weights[static_cast<std::size_t>(i)]);
    total += weight;
    surprises -= weight * std::log(weight);
  }
  std::cout << "largest error of the gate: " << worst << "\nweights of the first row sum to "
            << total << ", their entropy is " << entropy[0] << '\n';
  const double off = std::abs(static_cast<double>(entropy[0]) - surprises);
  return worst < 1e-6 && std::abs(total - 1) < 1e-4 && off < 1e-4 ? 0 : 1;
} catch (const troupe::failure& failed) {
  std::cerr << failed.what() << '\n';
  return 1;
}
