// Attention in two contractions, over dimensions that have names, and the same scores as a bilinear
// form of three tensors.

#include <troupe/device.hpp>
#include <troupe/elementwise.hpp>
#include <troupe/tensors.hpp>

#include <cmath>
#include <cstdint>
#include <iostream>
#include <span>
#include <vector>

namespace {

std::vector<float> numbers(std::int64_t count, double step) {
  std::vector<float> all;
  all.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    all.push_back(static_cast<float>(std::sin(step * static_cast<double>(i))));
  return all;
}

}  // namespace

int main() {
  namespace tn = troupe::tensors;
  troupe::system system;
  troupe::device gpu = system.device(0);

  constexpr std::int64_t batch = 2, length = 16, heads = 4, width = 8;
  const auto make = [&] { return gpu.tensor<float>({batch, length, heads, width}).value(); };
  auto query = make(), key = make(), value = make();
  gpu.copy(std::span<const float>(numbers(query.count(), 0.7)), query).get();
  gpu.copy(std::span<const float>(numbers(key.count(), 1.3)), key).get();
  gpu.copy(
         std::span<const float>(std::vector<float>(static_cast<std::size_t>(value.count()), 3.0F)),
         value)
      .get();

  // region: attention
  // b: sequence, q and k: position, h: head, d: within a head. Heads lie beside each other.
  const double scale = 1 / std::sqrt(static_cast<double>(width));
  auto scores =
      gpu.compute(tn::contract{.modes = "bqhd,bkhd->bhqk", .a = query, .b = key, .alpha = scale});
  auto weights = gpu.compute(troupe::elementwise::softmax{.x = scores->d});
  auto out =
      gpu.compute(tn::contract{.modes = "bhqk,bkhd->bqhd", .a = weights->y, .b = value}).get().d;
  // endregion: attention
  std::vector<float> result(static_cast<std::size_t>(out.count()));
  gpu.copy(out, std::span(result)).get();
  // Means of threes are threes.
  double worst = 0;
  for (const float one : result)
    worst = std::max(worst, std::abs(one - 3.0));
  std::cout << "off by " << worst << '\n';

  // The metric of each head is the identity: the scores are those of before, without softmax.
  std::vector<float> identity(static_cast<std::size_t>(heads * width * width));
  for (std::size_t i = 0; i < identity.size(); ++i)
    identity[i] = i / width % width == i % width ? 1.0F : 0.0F;
  auto metric = gpu.tensor<float>({heads, width, width}).value();
  gpu.copy(std::span<const float>(identity), metric).get();
  auto all_scores = gpu.tensor<float>({batch, heads, length, length}).value();
  // region: einsum
  // Three tensors in one request, in the order that takes the fewest operations.
  auto contracted = gpu.ask(tn::einsum{
      .modes = "bqhd,hde,bkhe->bhqk", .operands = {query, metric, key}, .d = all_scores});
  // endregion: einsum
  contracted.get();
  auto plain = gpu.compute(tn::contract{.modes = "bqhd,bkhd->bhqk", .a = query, .b = key});
  std::vector<float> direct(static_cast<std::size_t>(plain->d.count()));
  std::vector<float> through(direct.size());
  gpu.copy(plain->d, std::span(direct)).get();
  gpu.copy(all_scores, std::span(through)).get();
  double difference = 0;
  for (std::size_t i = 0; i < direct.size(); ++i)
    difference = std::max(difference, std::abs(static_cast<double>(direct[i]) - through[i]));
  std::cout << "differs by " << difference << '\n';
  return worst < 1e-5 && difference < 1e-5 ? 0 : 1;
}
