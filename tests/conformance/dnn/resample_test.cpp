#include "plane_map.hpp"

#include <troupe/dnn/resample.hpp>

#include <cmath>
#include <limits>
#include <utility>

namespace troupe::conformance {
namespace {

constexpr int random_resamplings = 80;  // for each type

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
      for (int i = 0; i < random_resamplings / 2; ++i) {
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

/// Images of two channels, whose rows or lines are interpolated.
test_tensor& image(scene& s, dtype type, std::int64_t length, bool lines, bool channels_inside) {
  const std::int64_t h = lines ? length : 2;
  const std::int64_t w = lines ? 2 : length;
  constexpr std::int64_t c = 16;
  return s.tensor(type, {1, c, h, w},
                  channels_inside ? scene::extents{c * h * w, 1, c * w, c}
                                  : scene::extents{c * h * w, h * w, w, 1});
}

TEST(DnnResample, ReadsNothingWhoseFactorIsZero) {
  using enum dnn::interpolation;
  for (const dtype type : image_types) {
    for (const dnn::interpolation how : {linear, linear_corners}) {
      for (const auto& [in, out] : {std::pair{4, 4}, {3, 5}, {5, 3}, {3, 9}, {6, 2}, {2, 1}}) {
        const auto factors = interpolation_factors(in, out, how);
        for (const bool lines : {false, true}) {
          for (const bool inside : {false, true}) {
            for (const bool forward : {false, true}) {
              scene s;
              s.name(std::string(to_string(type)) + " how " +
                     std::to_string(static_cast<int>(how)) + " " + std::to_string(in) + " to " +
                     std::to_string(out));
              auto& x = image(s, type, in, lines, inside);
              auto& y = image(s, type, out, lines, inside);
              auto& read = forward ? x : y;
              auto& written = forward ? y : x;
              const std::int64_t bad = (forward ? in : out) / 2;
              const auto place = [&](std::size_t i, std::int64_t length) {
                const auto at = static_cast<std::int64_t>(i);
                return lines ? at / 2 % length : at % length;
              };
              std::vector<number> values = read.values;
              for (std::size_t i = 0; i < values.size(); ++i) {
                if (place(i, forward ? in : out) == bad)
                  values[i] = std::numeric_limits<double>::infinity();
              }
              s.fill(read, values);
              if (forward) {
                s.run(dnn::resample_forward{.x = x.view, .y = y.view, .interpolation = how});
              } else {
                s.run(dnn::resample_backward{.dy = y.view, .dx = x.view, .interpolation = how});
              }
              const std::vector<number> found = s.elements_now(written);
              for (std::size_t i = 0; i < found.size(); ++i) {
                const auto at = static_cast<std::size_t>(place(i, forward ? out : in));
                const auto from = static_cast<std::size_t>(bad);
                const double factor = forward ? factors[at][from] : factors[from][at];
                ASSERT_EQ(std::isfinite(found[i].real()), std::abs(factor) < 1e-9)
                    << at << " of " << i << s.note();
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace troupe::conformance
