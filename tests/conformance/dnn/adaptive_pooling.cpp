#include "plane_map.hpp"

#include <troupe/dnn/pooling.hpp>

#include <cmath>
#include <limits>

namespace troupe::conformance {
namespace {

constexpr int adaptive_poolings = 80;  // for each type

/// Extents of images and responses, and windows by their definition.
struct adaptive_case {
  dtype type = dtype::f32;
  std::int64_t n = 2;
  std::int64_t c = 3;
  numbers in{};
  numbers out{};
  image_order order = image_order::channels_first;

  struct range {
    std::int64_t first;
    std::int64_t end;
  };
  [[nodiscard]] range window(std::size_t d, std::int64_t o) const {
    const double width = static_cast<double>(in[d]) / static_cast<double>(out[d]);
    // Rounded away from neighbours that are the same in exact numbers.
    return {static_cast<std::int64_t>(std::floor(static_cast<double>(o) * width + 1e-9)),
            static_cast<std::int64_t>(std::ceil(static_cast<double>(o + 1) * width - 1e-9))};
  }
  [[nodiscard]] std::string text() const {
    return std::string(to_string(type)) + " " + text_of_numbers(in) + " to " +
           text_of_numbers(out) + " n " + std::to_string(n) + " c " + std::to_string(c) +
           " order " + std::to_string(static_cast<int>(order));
  }
};

adaptive_case random_adaptive_case(std::mt19937_64& random, dtype type) {
  const auto from = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  adaptive_case c{.type = type, .n = from(0, 2), .c = from(0, 1) == 0 ? 16 : from(1, 9)};
  const std::int64_t space = from(1, 3);
  for (std::int64_t d = 0; d < space; ++d) {
    const std::int64_t most = space == 3 ? 5 : 11;
    c.in.push_back(from(1, most));
    c.out.push_back(from(0, 3) == 0 ? 1 : from(1, most));
  }
  c.order = image_orders[from(0, 2)];
  return c;
}

TEST(DnnPooling, AveragesAdaptively) {
  std::mt19937_64 random(test_seed());
  for (const dtype type : image_types) {
    for (int i = 0; i < adaptive_poolings; ++i) {
      const adaptive_case c = random_adaptive_case(random, type);
      std::vector<std::vector<std::vector<double>>> along(c.in.size());
      for (std::size_t d = 0; d < c.in.size(); ++d) {
        for (std::int64_t o = 0; o < c.out[d]; ++o) {
          std::vector<double>& row = along[d].emplace_back(static_cast<std::size_t>(c.in[d]));
          const auto [first, end] = c.window(d, o);
          for (std::int64_t place = first; place < end; ++place)
            row[static_cast<std::size_t>(place)] = 1.0 / static_cast<double>(end - first);
        }
      }
      const plane_map map = plane_map::of(along);
      run_linear_forward(map, type, c.n, c.c, c.order, "adaptive " + c.text(),
                         dnn::adaptive_average_pool_forward{});
      run_linear_backward(map, type, c.n, c.c, c.order, "adaptive backward " + c.text(),
                          dnn::adaptive_average_pool_backward{});
      if (HasFailure()) return;
    }
  }
}

/// The place in the image of each maximum, the first of several, or the first NaN.
std::vector<std::int64_t> places_of_maxima(const adaptive_case& c, const std::vector<number>& x) {
  std::vector<std::int64_t> made;
  for (std::int64_t image = 0; image < c.n * c.c; ++image) {
    for_each_place(c.out, [&](const numbers& o) {
      std::int64_t best = -1;
      for_each_place(c.in, [&](const numbers& i) {
        for (std::size_t d = 0; d < i.size(); ++d) {
          const auto [first, end] = c.window(d, o[d]);
          if (i[d] < first || i[d] >= end) return;
        }
        const auto value_at = [&](std::int64_t place) {
          return x[static_cast<std::size_t>(image * product_of(c.in) + place)].real();
        };
        const auto place = static_cast<std::int64_t>(flat_place(i, c.in));
        if (best < 0 || (!std::isnan(value_at(best)) && !(value_at(place) <= value_at(best))))
          best = place;
      });
      made.push_back(best);
    });
  }
  return made;
}

/// Few different numbers, so that several are the largest, and some that are none.
void fill_with_ties(scene& s, test_tensor& x) {
  std::uniform_int_distribution<int> kind(0, 23);
  std::vector<number> made;
  for (const number& one : x.values) {
    const int k = kind(s.generator());
    made.emplace_back(k == 0   ? std::numeric_limits<double>::quiet_NaN()
                      : k < 4  ? -std::numeric_limits<double>::infinity()
                      : k < 12 ? one.real()
                               : k % 3 - 1);
  }
  s.fill(x, made);
}

void run_adaptive_maxima(const adaptive_case& c, bool with_places) {
  scene s;
  s.name("adaptive maxima " + c.text());
  const numbers out = image_extents(c.n, c.c, c.out);
  auto& x = image_tensor(s, c.type, image_extents(c.n, c.c, c.in), c.order);
  fill_with_ties(s, x);
  auto& y = image_tensor(s, c.type, out, c.order);
  auto& places = image_tensor(s, dtype::i32, out, c.order);
  dnn::adaptive_max_pool_forward r{.x = x.view, .y = y.view};
  if (with_places) r.places = places.view;
  s.run(r);
  const std::vector<std::int64_t> expected = places_of_maxima(c, x.values);
  const auto all = static_cast<std::size_t>(product_of(c.in));
  const auto each = static_cast<std::size_t>(product_of(c.out));
  const auto element_of = [&](std::size_t i) {
    return i / each * all + static_cast<std::size_t>(expected[i]);
  };
  const std::vector<number> now = s.elements_now(y);
  for (std::size_t i = 0; i < now.size(); ++i) {
    const double wanted = x.values[element_of(i)].real();
    ASSERT_TRUE(std::isnan(wanted) ? std::isnan(now[i].real()) : now[i].real() == wanted)
        << "element " << i << s.note();
  }
  if (!with_places) return;
  const std::vector<number> where = s.elements_now(places);
  for (std::size_t i = 0; i < where.size(); ++i)
    ASSERT_EQ(where[i].real(), static_cast<double>(expected[i])) << "place " << i << s.note();
  // Backward, with places outside of their windows.
  std::vector<number> given = where;
  std::vector<bool> outside(given.size());
  std::uniform_int_distribution<int> kind(0, 9);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const int k = kind(s.generator());
    outside[i] = k < 2;
    if (k < 2) given[i] = k == 0 ? -2147483648.0 : static_cast<double>(all + i);
  }
  s.fill(places, given);
  auto& dy = image_tensor(s, c.type, out, c.order);
  auto& dx = image_tensor(s, c.type, image_extents(c.n, c.c, c.in), c.order);
  s.run(dnn::adaptive_max_pool_backward{.dy = dy.view, .places = places.view, .dx = dx.view});
  std::vector<double> sums(dx.values.size());
  std::vector<double> bounds(dx.values.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (outside[i]) continue;
    sums[element_of(i)] += dy.values[i].real();
    bounds[element_of(i)] += std::abs(dy.values[i].real());
  }
  const std::vector<number> gradient = s.elements_now(dx);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    s.expect_near(c.type, gradient[i], sums[i], bounds[i], product_of(c.out),
                  c.type == dtype::f64 ? dtype::f64 : dtype::f32, "element " + std::to_string(i));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(DnnPooling, TakesMaximaAdaptively) {
  std::mt19937_64 random(test_seed());
  for (const dtype type : image_types) {
    for (int i = 0; i < adaptive_poolings; ++i) {
      run_adaptive_maxima(random_adaptive_case(random, type), i % 3 != 0);
      if (HasFailure()) return;
    }
    // Windows so long that a GPU shares one out, and more than one block of threads.
    for (const image_order order : {image_order::channels_first, image_order::channels_last}) {
      run_adaptive_maxima({.type = type, .in = {33, 30}, .out = {3, 2}, .order = order}, true);
      run_adaptive_maxima({.type = type, .c = 19, .in = {33, 30}, .out = {20, 30}, .order = order},
                          true);
      if (HasFailure()) return;
    }
  }
}

// Beside the window, but within the image.
TEST(DnnPooling, GivesNothingToPlacesBesideAnAdaptiveWindow) {
  for (const image_order order : {image_order::channels_first, image_order::channels_last}) {
    scene s;
    auto& dy = image_tensor(s, dtype::f32, {1, 2, 2}, order);
    auto& places = image_tensor(s, dtype::i32, {1, 2, 2}, order);
    s.fill(places, {number(3), number(3), number(1), number(0)});
    auto& dx = image_tensor(s, dtype::f32, {1, 2, 4}, order);
    s.run(dnn::adaptive_max_pool_backward{.dy = dy.view, .places = places.view, .dx = dx.view});
    std::vector<number> expected(8);
    expected[3] = dy.values[1];
    expected[5] = dy.values[2];
    EXPECT_EQ(s.elements_now(dx), expected) << s.note();
  }
}

}  // namespace
}  // namespace troupe::conformance
