#include "plane_map.hpp"

#include <troupe/dnn/pooling.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace troupe::conformance {
namespace {

/// Windows over an image [n, c, in…], as a test draws them.
struct pooling_case {
  dtype type = dtype::f32;
  std::int64_t n = 2;
  std::int64_t c = 3;
  numbers in{6, 7};
  numbers window{3, 2};
  numbers stride{};
  numbers dilation{};
  numbers padding{};
  numbers post_padding{};
  bool ceil_mode = false;
  bool count_padding = false;
  std::int64_t divisor = 0;
  image_order order = image_order::channels_first;

  [[nodiscard]] std::size_t space() const { return in.size(); }
  [[nodiscard]] static std::int64_t at(const numbers& list, std::size_t d, std::int64_t otherwise) {
    return list.empty() ? otherwise : list.size() == 1 ? list[0] : list[d];
  }
  [[nodiscard]] std::int64_t width(std::size_t d) const { return at(window, d, 1); }
  [[nodiscard]] std::int64_t step(std::size_t d) const { return at(stride, d, width(d)); }
  [[nodiscard]] std::int64_t apart(std::size_t d) const { return at(dilation, d, 1); }
  [[nodiscard]] std::int64_t before(std::size_t d) const { return at(padding, d, 0); }
  [[nodiscard]] std::int64_t after(std::size_t d) const {
    return post_padding.empty() ? before(d) : at(post_padding, d, 0);
  }
  /// Counted one by one.
  [[nodiscard]] numbers out() const {
    numbers all;
    for (std::size_t d = 0; d < space(); ++d) {
      const std::int64_t reach = apart(d) * (width(d) - 1) + 1;
      const std::int64_t room = in[d] + before(d) + after(d) + (ceil_mode ? step(d) - 1 : 0);
      std::int64_t count = 0;
      while (count * step(d) + reach <= room && (!ceil_mode || count * step(d) < in[d] + before(d)))
        ++count;
      all.push_back(count);
    }
    return all;
  }
  [[nodiscard]] bool fits() const {
    return std::ranges::all_of(out(), [](std::int64_t e) { return e >= 1; });
  }
  [[nodiscard]] numbers windows() const {
    numbers all;
    for (std::size_t d = 0; d < space(); ++d)
      all.push_back(width(d));
    return all;
  }
  [[nodiscard]] std::string text() const {
    std::string text = std::string(to_string(type)) + " n " + std::to_string(n) + " c " +
                       std::to_string(c) + " order " + std::to_string(static_cast<int>(order));
    for (const auto& [name, list] : {std::pair("in", &in),
                                     {"window", &window},
                                     {"stride", &stride},
                                     {"dilation", &dilation},
                                     {"padding", &padding},
                                     {"post", &post_padding}})
      text += std::string(" ") + name + " " + text_of_numbers(*list);
    return text + (ceil_mode ? " ceil" : "") + (count_padding ? " count padding" : "") +
           " divisor " + std::to_string(divisor);
  }
};

template <class R>
void take_windows(R& r, const pooling_case& c) {
  r.window = c.window;
  r.stride = c.stride;
  r.padding = c.padding;
  r.post_padding = c.post_padding;
  r.ceil_mode = c.ceil_mode;
  r.dilation = c.dilation;
  if constexpr (requires { r.count_padding; }) {
    r.count_padding = c.count_padding;
    r.divisor = c.divisor;
  }
}

pooling_case random_case(std::mt19937_64& random, dtype type) {
  const auto from = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  pooling_case c;
  do {
    c = {.type = type};
    const auto space = static_cast<std::size_t>(from(1, 3));
    c.n = from(0, 9) == 0 ? 0 : from(1, 3);
    constexpr std::int64_t channels[] = {1, 2, 3, 8, 16, 19};
    c.c = channels[from(0, 5)];
    c.in.clear();
    for (std::size_t d = 0; d < space; ++d)
      c.in.push_back(from(1, space == 3 ? 5 : space == 2 ? 9 : 40));
    const auto list = [&](std::int64_t least, std::int64_t most, bool may_be_empty) {
      const std::int64_t kind = from(may_be_empty ? 0 : 1, 3);
      numbers all(kind == 0 ? 0 : kind == 1 ? 1 : space);
      for (std::int64_t& one : all)
        one = from(least, most);
      return all;
    };
    c.window = list(1, from(0, 5) == 0 ? 9 : 3, false);
    c.stride = list(1, 4, true);
    c.dilation = list(1, 3, true);
    c.padding = list(0, from(0, 5) == 0 ? 11 : 2, true);
    if (from(0, 1) == 0) c.post_padding = list(0, 3, true);
    c.ceil_mode = from(0, 2) == 0;
    c.count_padding = from(0, 1) == 0;
    if (from(0, 3) == 0) c.divisor = from(1, 11);
    c.order = image_orders[from(0, 2)];
  } while (!c.fits());
  return c;
}

/// The maximum of each window, and its place in the window or −1.
struct maxima {
  std::vector<double> values;
  std::vector<std::int64_t> places;
  std::vector<std::int64_t> elements;  ///< the image's; −1 for none
};
maxima maxima_of(const pooling_case& c, const std::vector<number>& x) {
  maxima made;
  const numbers out = c.out();
  const numbers windows = c.windows();
  for (std::int64_t image = 0; image < c.n * c.c; ++image) {
    for_each_place(out, [&](const numbers& o) {
      double best = -std::numeric_limits<double>::infinity();
      std::int64_t place = -1;
      std::int64_t element = -1;
      for_each_place(windows, [&](const numbers& tap) {
        numbers i(c.space());
        for (std::size_t d = 0; d < c.space(); ++d) {
          i[d] = o[d] * c.step(d) - c.before(d) + tap[d] * c.apart(d);
          if (i[d] < 0 || i[d] >= c.in[d]) return;
        }
        const auto at = static_cast<std::size_t>(image * product_of(c.in)) + flat_place(i, c.in);
        const double value = x[at].real();
        if (place >= 0 && (std::isnan(best) || !(value > best || std::isnan(value)))) return;
        best = value;
        place = static_cast<std::int64_t>(flat_place(tap, windows));
        element = static_cast<std::int64_t>(at);
      });
      made.values.push_back(best);
      made.places.push_back(place);
      made.elements.push_back(element);
    });
  }
  return made;
}

/// Few different numbers, so that several are the largest, and some that are none.
std::vector<number> with_ties(scene& s, const std::vector<number>& values) {
  std::uniform_int_distribution<int> kind(0, 23);
  std::vector<number> made;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int k = kind(s.generator());
    made.emplace_back(k == 0   ? std::numeric_limits<double>::quiet_NaN()
                      : k < 4  ? -std::numeric_limits<double>::infinity()
                      : k < 12 ? values[i].real()
                               : k % 3 - 1);
  }
  return made;
}

dtype places_type(scene& s, const pooling_case& c) {
  return product_of(c.windows()) > 255 || s.generator()() % 2 == 0 ? dtype::i32 : dtype::u8;
}

void run_max_forward(const pooling_case& c, bool ties, bool with_places) {
  scene s;
  s.name("max " + c.text() + (ties ? " ties" : "") + (with_places ? " places" : ""));
  auto& x = image_tensor(s, c.type, image_extents(c.n, c.c, c.in), c.order);
  if (ties) s.fill(x, with_ties(s, x.values));
  auto& y = image_tensor(s, c.type, image_extents(c.n, c.c, c.out()), c.order);
  dnn::max_pool_forward r{.x = x.view, .y = y.view};
  test_tensor* places = nullptr;
  if (with_places) {
    places = &image_tensor(s, places_type(s, c), image_extents(c.n, c.c, c.out()), c.order);
    r.places = places->view;
  }
  take_windows(r, c);
  s.run(r);
  const maxima expected = maxima_of(c, x.values);
  const auto now = s.elements_now(y);
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (std::isnan(expected.values[i])) {
      ASSERT_TRUE(std::isnan(now[i].real())) << "element " << i << s.note();
    } else {
      ASSERT_EQ(now[i].real(), expected.values[i]) << "element " << i << s.note();
    }
  }
  if (places == nullptr) return;
  const auto where = s.elements_now(*places);
  for (std::size_t i = 0; i < where.size(); ++i) {
    const std::int64_t none = places->view.type() == dtype::u8 ? 255 : -1;
    ASSERT_EQ(static_cast<std::int64_t>(where[i].real()),
              expected.places[i] < 0 ? none : expected.places[i])
        << "place " << i << s.note();
  }
}

void run_max_backward(const pooling_case& c) {
  scene s;
  s.name("max backward " + c.text());
  auto& x = image_tensor(s, c.type, image_extents(c.n, c.c, c.in), c.order);
  const maxima at = maxima_of(c, with_ties(s, x.values));
  auto& dy = image_tensor(s, c.type, image_extents(c.n, c.c, c.out()), c.order);
  auto& places = image_tensor(s, places_type(s, c), image_extents(c.n, c.c, c.out()), c.order);
  std::vector<number> numbers_of_places;
  for (const std::int64_t place : at.places) {
    numbers_of_places.emplace_back(static_cast<double>(place >= 0                        ? place
                                                       : places.view.type() == dtype::u8 ? 255
                                                                                         : -1));
  }
  s.fill(places, numbers_of_places);
  auto& dx = image_tensor(s, c.type, image_extents(c.n, c.c, c.in), c.order);
  dnn::max_pool_backward r{.dy = dy.view, .places = places.view, .dx = dx.view};
  take_windows(r, c);
  s.run(r);
  std::vector<double> expected(dx.values.size());
  std::vector<double> bound(dx.values.size());
  for (std::size_t o = 0; o < at.elements.size(); ++o) {
    if (at.elements[o] < 0) continue;
    expected[static_cast<std::size_t>(at.elements[o])] += dy.values[o].real();
    bound[static_cast<std::size_t>(at.elements[o])] += std::abs(dy.values[o].real());
  }
  const auto now = s.elements_now(dx);
  for (std::size_t i = 0; i < now.size(); ++i) {
    s.expect_near(c.type, now[i], expected[i], bound[i], product_of(c.out()),
                  c.type == dtype::f64 ? dtype::f64 : dtype::f32, "element " + std::to_string(i));
    if (testing::Test::HasFailure()) return;
  }
}

plane_map averages_of(const pooling_case& c) {
  const numbers out = c.out();
  const numbers windows = c.windows();
  // Not by dimension, so that it is another way than that of the backends.
  plane_map map{.in = c.in, .out = out, .factors = {}};
  for_each_place(out, [&](const numbers& o) {
    std::vector<double> row(static_cast<std::size_t>(product_of(c.in)));
    double count = 0;
    double padded = 0;
    for_each_place(windows, [&](const numbers& tap) {
      bool inside = true;
      bool in_padded = true;
      numbers i(c.space());
      for (std::size_t d = 0; d < c.space(); ++d) {
        i[d] = o[d] * c.step(d) - c.before(d) + tap[d] * c.apart(d);
        inside = inside && i[d] >= 0 && i[d] < c.in[d];
        in_padded = in_padded && i[d] < c.in[d] + c.after(d);
      }
      padded += in_padded ? 1 : 0;
      if (!inside) return;
      count += 1;
      row[flat_place(i, c.in)] = 1;
    });
    for (double& one : row)
      one /= count == 0        ? 1
             : c.divisor > 0   ? static_cast<double>(c.divisor)
             : c.count_padding ? padded
                               : count;
    map.factors.push_back(row);
  });
  return map;
}

void run_average(const pooling_case& c) {
  const plane_map map = averages_of(c);
  dnn::average_pool_forward forward;
  take_windows(forward, c);
  run_linear_forward(map, c.type, c.n, c.c, c.order, "average " + c.text(), forward);
  dnn::average_pool_backward backward;
  take_windows(backward, c);
  run_linear_backward(map, c.type, c.n, c.c, c.order, "average backward " + c.text(), backward);
}

constexpr int random_poolings = 80;  // for each type

TEST(DnnPooling, TakesTheFirstMaximumOfEachWindow) {
  std::mt19937_64 random(test_seed());
  for (const dtype type : image_types) {
    for (int i = 0; i < random_poolings; ++i) {
      const pooling_case c = random_case(random, type);
      run_max_forward(c, i % 2 == 0, i % 3 != 0);
      if (HasFailure()) return;
    }
  }
}

TEST(DnnPooling, GivesGradientsToTheMaxima) {
  std::mt19937_64 random(test_seed());
  for (const dtype type : image_types) {
    for (int i = 0; i < random_poolings; ++i) {
      run_max_backward(random_case(random, type));
      if (HasFailure()) return;
    }
  }
}

TEST(DnnPooling, AveragesWithAndWithoutPaddingOrByADivisor) {
  std::mt19937_64 random(test_seed());
  for (const dtype type : image_types) {
    for (int i = 0; i < random_poolings; ++i) {
      run_average(random_case(random, type));
      if (HasFailure()) return;
    }
  }
}

// Sizes of real networks, and more than one block of threads.
TEST(DnnPooling, WorksOnLargerImages) {
  for (const dtype type : image_types) {
    for (const image_order order : {image_order::channels_first, image_order::channels_last}) {
      for (const std::int64_t channels : {24, 64}) {
        // More channels reach other kernels of a GPU only.
        if (channels == 64 && type != dtype::f32 && !scene().on_gpu()) continue;
        pooling_case c{.type = type,
                       .c = channels,
                       .in = {33, 30},
                       .window = {3},
                       .stride = {2},
                       .padding = {1},
                       .order = order};
        run_max_forward(c, false, true);
        run_max_forward(c, false, false);
        run_max_backward(c);
        run_average(c);
        c.window = {2};
        c.padding = {};
        c.stride = {};
        run_max_forward(c, true, true);
        run_max_backward(c);
        run_average(c);
        c.window = {33, 30};
        c.stride = {1};
        run_average(c);
        run_max_forward(c, false, true);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(DnnPooling, IgnoresPlacesThatWindowsDoNotHave) {
  for (const dtype places_are : {dtype::u8, dtype::i32}) {
    scene s;
    auto& dy = s.tensor(dtype::f32, {1, 1, 4}, {4, 4, 1});
    auto& places = s.tensor(places_are, {1, 1, 4}, {4, 4, 1});
    s.fill(places, {number(2), number(0), number(200),
                    number(places_are == dtype::i32 ? -2147483648.0 : 255.0)});
    auto& dx = s.tensor(dtype::f32, {1, 1, 8}, {8, 8, 1});
    s.run(
        dnn::max_pool_backward{.dy = dy.view, .places = places.view, .dx = dx.view, .window = {2}});
    std::vector<number> expected(8);
    expected[2] = dy.values[1];
    EXPECT_EQ(s.elements_now(dx), expected) << s.note();
  }
}

}  // namespace
}  // namespace troupe::conformance
