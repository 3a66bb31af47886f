// The principal components of the digits: how few numbers describe an image of 64 pixels.

#include "dataset.hpp"

#include <troupe/blas.hpp>
#include <troupe/device.hpp>
#include <troupe/solver.hpp>

#include <cstdint>
#include <iostream>
#include <span>
#include <vector>

int main(int argc, char** argv) {
  const auto digits = digits::read_dataset(argc > 1 ? argv[1] : DIGITS_FILE);
  if (!digits) {
    std::cerr << digits.error().to_string() << '\n';
    return 1;
  }
  const auto count = static_cast<std::int64_t>(digits->size());
  constexpr std::int64_t pixels = digits::pixels;
  std::vector<float> centred = digits->images;
  for (std::size_t p = 0; p < digits::pixels; ++p) {
    double sum = 0;
    for (std::size_t i = p; i < centred.size(); i += digits::pixels)
      sum += centred[i];
    for (std::size_t i = p; i < centred.size(); i += digits::pixels)
      centred[i] -= static_cast<float>(sum / static_cast<double>(count));
  }

  troupe::system system;
  troupe::device gpu = system.device(0);
  // region: components
  auto images = gpu.tensor<float>({count, pixels}).value();
  auto values = gpu.tensor<float>({pixels}).value();
  auto components = gpu.tensor<float>({pixels, pixels}).value();  // in rows
  auto coordinates = gpu.tensor<float>({count, pixels}).value();
  std::vector<float> spread(digits::pixels);

  auto sent = gpu.copy(std::span<const float>(centred), images);
  auto done =
      gpu.ask(troupe::solver::svd{.a = images, .s = values, .u = coordinates, .vh = components});
  auto back = gpu.copy(values, std::span(spread));
  // endregion: components
  sent.get();
  done.get();
  back.get();

  double all = 0;
  for (const float value : spread)
    all += static_cast<double>(value) * value;
  double kept = 0;
  std::size_t needed = 0;
  while (kept < 0.9 * all) {
    kept += static_cast<double>(spread[needed]) * spread[needed];
    ++needed;
  }
  std::cout << needed << " of " << pixels << " components hold 90 % of the variance\n";
  return needed == 21 ? 0 : 1;
}
