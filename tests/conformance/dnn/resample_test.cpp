#include "plane_map.hpp"

#include <troupe/dnn/resample.hpp>

#include <cmath>

namespace troupe::conformance {
namespace {

constexpr int random_cases = 80;  // for each type

/// The factors of interpolation in one dimension.
std::vector<std::vector<double>> interpolation_factors(std::int64_t in, std::int64_t out,
                                                       dnn::interpolation how) {
  std::vector<std::vector<double>> made;
  for (std::int64_t o = 0; o < out; ++o) {
    std::vector<double>& row = made.emplace_back(static_cast<std::size_t>(in));
    const double scale = static_cast<double>(in) / static_cast<double>(out);
    const double centre = (static_cast<double>(o) + 0.5) * scale;
    const auto add = [&](double at, double factor) {
      const double most = static_cast<double>(in - 1);
      row[static_cast<std::size_t>(std::clamp(at, 0.0, most))] += factor;
    };
    if (how == dnn::interpolation::nearest) {
      add(std::floor(centre + 1e-9), 1);
      continue;
    }
    const double corner = out == 1 ? 0
                                   : static_cast<double>(o) * static_cast<double>(in - 1) /
                                         static_cast<double>(out - 1);
    const double place =
        how == dnn::interpolation::linear_corners ? corner : std::max(0.0, centre - 0.5);
    const double whole = std::floor(place + 1e-9);
    add(whole, 1 - (place - whole));
    add(whole + 1, place - whole);
  }
  return made;
}

TEST(DnnResample, InterpolatesForwardAndBackward) {
  std::mt19937_64 random(test_seed());
  const auto from = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  using enum dnn::interpolation;
  for (const dtype type : image_types) {
    for (const dnn::interpolation how : {nearest, linear, linear_corners}) {
      for (int i = 0; i < random_cases / 2; ++i) {
        std::vector<std::vector<std::vector<double>>> along;
        const std::int64_t space = from(1, 3);
        for (std::int64_t d = 0; d < space; ++d) {
          const std::int64_t most = space == 3 ? 5 : 12;
          along.push_back(interpolation_factors(from(1, most), from(1, most), how));
        }
        const plane_map map = plane_map::of(along);
        const std::int64_t n = from(0, 2);
        const std::int64_t c = from(0, 1) == 0 ? 16 : from(1, 9);
        const image_order order = image_orders[from(0, 2)];
        const std::string text =
            std::string(to_string(type)) + " how " + std::to_string(static_cast<int>(how)) + " " +
            text_of_numbers(map.in) + " to " + text_of_numbers(map.out) + " c " + std::to_string(c);
        run_linear_forward(map, type, n, c, order, "resample " + text,
                           dnn::resample_forward{.interpolation = how});
        run_linear_backward(map, type, n, c, order, "resample backward " + text,
                            dnn::resample_backward{.interpolation = how});
        if (HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace troupe::conformance
