#include "plane_map.hpp"

#include <troupe/dnn/lrn.hpp>

#include <cmath>

namespace troupe::conformance {
namespace {

using reals = std::vector<double>;

constexpr int random_lrns = 80;  // for each type

struct image_case {
  dtype type = dtype::f32;
  std::int64_t n = 2;
  std::int64_t c = 3;
  numbers space{};
  image_order order = image_order::channels_first;

  [[nodiscard]] dtype computed() const { return type == dtype::f64 ? dtype::f64 : dtype::f32; }
  [[nodiscard]] numbers extents() const { return image_extents(n, c, space); }
  [[nodiscard]] std::string text() const {
    return std::string(to_string(type)) + " " + text_of_numbers(extents()) + " order " +
           std::to_string(static_cast<int>(order));
  }
};

/// Neighbours of channel k as the definition has them.
double response_sum(const dnn::lrn_forward& r, const reals& x, std::int64_t channels,
                    std::int64_t space, std::int64_t image, std::int64_t k, std::int64_t place) {
  double sum = 0;
  for (std::int64_t i = k - r.size / 2; i <= k + (r.size - 1) / 2; ++i) {
    if (i < 0 || i >= channels) continue;
    const double one = x[static_cast<std::size_t>((image * channels + i) * space + place)];
    sum += one * one;
  }
  return r.k + r.alpha / static_cast<double>(r.size) * sum;
}
reals responses(const dnn::lrn_forward& r, const image_case& c, const reals& x) {
  reals y(x.size());
  const std::int64_t space = product_of(c.space);
  for (std::int64_t image = 0; image < c.n; ++image) {
    for (std::int64_t k = 0; k < c.c; ++k) {
      for (std::int64_t p = 0; p < space; ++p) {
        const auto at = static_cast<std::size_t>((image * c.c + k) * space + p);
        y[at] = x[at] * std::pow(response_sum(r, x, c.c, space, image, k, p), -r.beta);
      }
    }
  }
  return y;
}

TEST(DnnLrn, AgreesWithTheDefinitionAndItsDifferences) {
  std::mt19937_64 random(test_seed());
  for (const dtype type : image_types) {
    for (int i = 0; i < random_lrns / 2; ++i) {
      image_case c{.type = type,
                   .n = static_cast<std::int64_t>(random() % 3),
                   .c = 1 + static_cast<std::int64_t>(random() % 8),
                   .order = image_orders[random() % 3]};
      for (std::size_t space = random() % 4; c.space.size() < space;)
        c.space.push_back(1 + static_cast<std::int64_t>(random() % (space == 1 ? 20 : 4)));
      if (c.space.empty()) c.order = image_order::channels_first;
      dnn::lrn_forward r{.size = std::int64_t{1} + static_cast<std::int64_t>(random() % 9),
                         .alpha = 0.5,
                         .beta = i % 2 == 0 ? 0.75 : 1.5,
                         .k = 1.25};
      scene s;
      s.name("lrn " + c.text() + " size " + std::to_string(r.size));
      auto& x = image_tensor(s, type, c.extents(), c.order);
      auto& y = image_tensor(s, type, c.extents(), c.order);
      r.x = x.view;
      r.y = y.view;
      s.run(r);
      const reals elements = reals_of(x.values);
      const reals expected = responses(r, c, elements);
      const auto now = s.elements_now(y);
      for (std::size_t k = 0; k < now.size(); ++k)
        s.expect_near(type, now[k], expected[k], std::abs(expected[k]), r.size + 8, c.computed(),
                      "element " + std::to_string(k));
      if (HasFailure()) return;

      scene back;
      back.name("lrn backward " + c.text() + " size " + std::to_string(r.size));
      auto& x_again = image_tensor(back, type, c.extents(), c.order);
      auto& dy = image_tensor(back, type, c.extents(), c.order);
      auto& dx = image_tensor(back, type, c.extents(), c.order);
      back.run(dnn::lrn_backward{.x = x_again.view,
                                 .dy = dy.view,
                                 .dx = dx.view,
                                 .size = r.size,
                                 .alpha = r.alpha,
                                 .beta = r.beta,
                                 .k = r.k});
      const reals gradient =
          gradient_by_differences([&](const reals& at) { return responses(r, c, at); },
                                  reals_of(x_again.values), reals_of(dy.values));
      const auto dx_now = back.elements_now(dx);
      const double off = type == dtype::f64 ? 1e-8 : type == dtype::f32 ? 1e-5 : 2e-2;
      for (std::size_t k = 0; k < dx_now.size(); ++k)
        ASSERT_NEAR(dx_now[k].real(), gradient[k], off) << "element " << k << back.note();
    }
  }
}

}  // namespace
}  // namespace troupe::conformance
