// Finds out which numbers there are, and how often the most frequent one occurs. How many results
// there are is known only once a request has run.

#include <troupe/device.hpp>
#include <troupe/primitives.hpp>

#include <cstdint>
#include <iostream>
#include <span>
#include <vector>

int main() {
  troupe::system system;
  troupe::device gpu = system.device(0);
  const std::vector<float> numbers{3, 1, 3, 2, 1, 3};

  // region: runs
  auto x = gpu.tensor<float>({6}).value();
  auto sent = gpu.copy(std::span(numbers), x);
  auto sorted = gpu.compute(troupe::primitives::sort{.x = x});
  // The data decide how many runs of equal numbers there are, so their tensors are given: they may
  // have room for more. The number is the reply.
  auto values = gpu.tensor<float>({6}).value();
  auto lengths = gpu.tensor<std::int64_t>({6}).value();
  const std::int64_t runs =
      gpu.ask(troupe::primitives::run_length{.x = sorted->y, .values = values, .lengths = lengths})
          .get();
  // Does not wait: the result stays on the device.
  const auto most = lengths.slice(0, 0, runs).value();
  auto longest = gpu.tensor<std::int64_t>({1}).value();
  auto found = gpu.ask(troupe::primitives::argmax{.x = most, .result = longest});
  // endregion: runs
  sent.get();
  (void)found.get();
  std::vector<std::int64_t> index(1);
  gpu.copy(longest, std::span(index)).get();
  std::vector<float> distinct(6);
  gpu.copy(values, std::span(distinct)).get();
  std::cout << runs << " different numbers, the most frequent is "
            << distinct[static_cast<std::size_t>(index[0])] << '\n';
  return runs == 3 && index[0] == 2 ? 0 : 1;
}
