#include "plane_map.hpp"

#include <troupe/dnn/resample.hpp>

#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace troupe::conformance {
namespace {

constexpr int random_resamplings = 12;  // for each type and kind

/// How one dimension is interpolated, as a request says it; without `scale` 0.
struct sampling {
  dnn::interpolation how = dnn::interpolation::nearest;
  double scale = 0;
  bool antialias = false;
};

double keys_kernel(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  return x < 2 ? a * (x * x * x - 5 * x * x + 8 * x - 4) : 0;
}

/// The factors of interpolation in one dimension, by PyTorch's documented formulas.
std::vector<std::vector<double>> interpolation_factors(std::int64_t in, std::int64_t out,
                                                       const sampling& as) {
  using enum dnn::interpolation;
  const bool cubics = as.how == cubic || as.how == cubic_corners;
  const double apart =
      as.scale > 0 ? 1 / as.scale : static_cast<double>(in) / static_cast<double>(out);
  const double most = static_cast<double>(in - 1);
  std::vector<std::vector<double>> made;
  for (std::int64_t o = 0; o < out; ++o) {
    std::vector<double>& row = made.emplace_back(static_cast<std::size_t>(in));
    const auto at = static_cast<double>(o);
    const auto add = [&](double place, double factor) {
      row[static_cast<std::size_t>(std::clamp(place, 0.0, most))] += factor;
    };
    if (as.how == nearest || as.how == nearest_floor) {
      add(std::floor((as.how == nearest ? at + 0.5 : at) * apart + 1e-9), 1);
      continue;
    }
    if (as.how == area) {
      const double first = std::floor(at * apart + 1e-9);
      const double end = std::ceil((at + 1) * apart - 1e-9);
      for (double i = first; i < end; ++i)
        add(i, 1 / (end - first));
      continue;
    }
    const double moved = std::clamp((at + 0.5) * apart, 0.0, static_cast<double>(in));
    const double centre = as.antialias ? moved : (at + 0.5) * apart;
    const double wide = std::max(apart, 1.0);
    if (as.antialias) {
      std::vector<double> weights(row.size());
      for (std::size_t i = 0; i < row.size(); ++i) {
        const double x = (static_cast<double>(i) + 0.5 - centre) / wide;
        weights[i] = cubics ? keys_kernel(x, -0.5) : std::max(0.0, 1 - std::abs(x));
      }
      for (std::size_t i = 0; i < row.size(); ++i)
        row[i] = weights[i] / std::accumulate(weights.begin(), weights.end(), 0.0);
      continue;
    }
    const bool corners = as.how == linear_corners || as.how == cubic_corners;
    const double corner = out == 1 ? 0 : at * most / static_cast<double>(out - 1);
    const double place = corners ? corner : centre - 0.5;
    const double whole = std::floor(place + 1e-9);
    for (double i = whole - 1; i <= whole + 2; ++i) {
      const double x = place - i;
      add(i, cubics ? keys_kernel(x, -0.75) : std::max(0.0, 1 - std::abs(x)));
    }
  }
  return made;
}

template <class R>
R request_of(const sampling& as) {
  R r{.interpolation = as.how, .antialias = as.antialias};
  if (as.scale > 0) r.scale = {as.scale};
  return r;
}

constexpr sampling samplings[] = {
    {dnn::interpolation::nearest},
    {dnn::interpolation::linear},
    {dnn::interpolation::linear_corners},
    {dnn::interpolation::nearest_floor},
    {dnn::interpolation::cubic},
    {dnn::interpolation::cubic_corners},
    {dnn::interpolation::area},
    {dnn::interpolation::linear, 0, true},
    {dnn::interpolation::cubic, 0, true},
    {dnn::interpolation::nearest, 1.7},
    {dnn::interpolation::nearest_floor, 0.55},
    {dnn::interpolation::linear, 2.3},
    {dnn::interpolation::cubic, 1.3},
    {dnn::interpolation::cubic, 0.3},
    {dnn::interpolation::linear, 0.4, true},
    {dnn::interpolation::cubic, 2.5, true},
};

TEST(DnnResample, InterpolatesForwardAndBackward) {
  std::mt19937_64 random(test_seed());
  const auto from = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  for (const dtype type : image_types) {
    for (const sampling& as : samplings) {
      for (int i = 0; i < random_resamplings; ++i) {
        std::vector<std::vector<std::vector<double>>> along;
        const std::int64_t space = from(1, 3);
        for (std::int64_t d = 0; d < space; ++d) {
          const std::int64_t most = space == 3 ? 5 : 12;
          const std::int64_t in = from(1, most);
          // With a scale, as PyTorch has it, or another extent.
          const auto scaled = static_cast<std::int64_t>(static_cast<double>(in) * as.scale);
          const std::int64_t out = scaled > 0 && from(0, 1) == 0 ? scaled : from(1, most);
          along.push_back(interpolation_factors(in, out, as));
        }
        const plane_map map = plane_map::of(along);
        const std::int64_t n = from(0, 2);
        const std::int64_t c = from(0, 1) == 0 ? 16 : from(1, 9);
        const image_order order = image_orders[from(0, 2)];
        const std::string text =
            std::string(to_string(type)) + " how " + std::to_string(static_cast<int>(as.how)) +
            " scale " + std::to_string(as.scale) + (as.antialias ? " antialias " : " ") +
            text_of_numbers(map.in) + " to " + text_of_numbers(map.out) + " c " + std::to_string(c);
        run_linear_forward(map, type, n, c, order, "resample " + text,
                           request_of<dnn::resample_forward>(as));
        run_linear_backward(map, type, n, c, order, "resample backward " + text,
                            request_of<dnn::resample_backward>(as));
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
    for (const sampling as : {sampling{linear}, {linear_corners}, {cubic}, {cubic_corners}}) {
      for (const auto& [in, out] : {std::pair{4, 4}, {3, 5}, {5, 3}, {3, 9}, {6, 2}, {2, 1}}) {
        const auto factors = interpolation_factors(in, out, as);
        for (const bool lines : {false, true}) {
          for (const bool inside : {false, true}) {
            for (const bool forward : {false, true}) {
              scene s;
              s.name(std::string(to_string(type)) + " how " +
                     std::to_string(static_cast<int>(as.how)) + " " + std::to_string(in) + " to " +
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
                s.run(dnn::resample_forward{.x = x.view, .y = y.view, .interpolation = as.how});
              } else {
                s.run(dnn::resample_backward{.dy = y.view, .dx = x.view, .interpolation = as.how});
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
