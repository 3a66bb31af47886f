// Fits a parabola to measurements, and shows the error for a matrix without a solution.

#include <troupe/device.hpp>
#include <troupe/solver.hpp>

#include <cmath>
#include <cstdint>
#include <iostream>
#include <span>
#include <vector>

int main() {
  troupe::system system;
  troupe::device gpu = system.device(0);

  // y = 1 − 2 t + 3 t², measured at 50 places with an error of up to 0.01.
  constexpr std::int64_t count = 50;
  std::vector<double> powers;
  std::vector<double> measured;
  for (int i = 0; i < count; ++i) {
    const double t = i / 50.0;
    powers.insert(powers.end(), {1, t, t * t});
    measured.push_back(1 - 2 * t + 3 * t * t + 0.01 * std::sin(37.0 * i));
  }

  // region: fit
  auto a = gpu.tensor<double>({count, 3}).value();  // row-major; any strides will do
  auto y = gpu.tensor<double>({count, 1}).value();
  std::vector<double> coefficients(3);

  auto sent = gpu.copy(std::span(powers), a);
  auto sent_too = gpu.copy(std::span(measured), y);
  auto fit = gpu.compute(troupe::solver::gels{.a = a, .b = y});
  auto back = gpu.copy(fit->x, std::span(coefficients));
  // endregion: fit
  sent.get();
  sent_too.get();
  fit.get();
  back.get();
  std::cout << "y = " << coefficients[0] << " + " << coefficients[1] << " t + " << coefficients[2]
            << " t²\n";

  // region: outcome
  // Three unknowns, of which the second and the third are not told apart.
  auto square = gpu.tensor<double>({3, 3}).value();
  const std::vector<double> singular{1, 0, 0, 0, 1, 1, 0, 1, 1};
  auto sides = gpu.tensor<double>({3, 1}).value();
  auto copied = gpu.copy(std::span(singular), square);
  auto filled = gpu.copy(std::span<const double>(coefficients), sides);
  const auto answer = gpu.compute(troupe::solver::gesv{.a = square, .b = sides}).get_result();
  if (!answer) std::cout << answer.error().message << '\n';  // singular: pivot 3 is zero
  // endregion: outcome
  copied.get();
  filled.get();
  const bool fits = std::abs(coefficients[0] - 1) < 0.05 && std::abs(coefficients[2] - 3) < 0.1;
  return fits && !answer && answer.error().code == troupe::errc::numerical ? 0 : 1;
}
